// Package memory is an index of the records of agents' work: memories, the links between them,
// agents, and the chapters and wisdom that summarize memories (spec/rum-retrieval-api.md, with
// the decisions of reference/memory.md).
//
// An Index is immutable; With returns the next one. The package is pure: times, ids and values
// are part of the commits. The index contains a Card of each memory, for lookups and short
// answers; the whole value of a memory stays in the log.
//
// # Structure
//
// An Index has a map for each kind of item, sorted by id, and one sorted set of entries for all
// lookups of memories. The name of an entry consists of a kind and a text, such as a tag or a
// path; entries with the same name are sorted by importance or by age, so that a lookup yields
// its results in order. All of these are copy-on-write B-trees: With copies only the nodes that
// change.
//
// Chapters and wisdom are derived from memories and chapters, by clusters of tags (see Clusters,
// NewChapter and NewWisdom), and stored as items of their own.
package memory

// The kinds of items of a log that this package indexes.
const (
	KindMemory  = "memory"  // its ID is that of the memory
	KindLinks   = "links"   // outgoing links of a memory; its ID is that of the memory
	KindAgent   = "agent"   // its ID is that of the agent
	KindChapter = "chapter" // its ID is that of the chapter
	KindWisdom  = "wisdom"  // its ID is that of the wisdom
)

// The prefixes of the ids of each kind.
const (
	PrefixMemory  = "mem_"
	PrefixLink    = "link_"
	PrefixAgent   = "agent_"
	PrefixChapter = "chapter_"
	PrefixWisdom  = "wisdom_"
)

// Format is the version of the values of items, which is their member v.
const Format = 1

// Limits of a memory (reference/memory-build.md §2.15).
const (
	MaxValue = 1 << 20 // size of a memory as JSON, in bytes
	MaxLinks = 1000    // number of outgoing links
)

// DefaultImportance is the importance of a memory that is stored without one.
const DefaultImportance = 0.5

// NoSession is the session of a call that does not name one.
const NoSession = "default"

// A Memory is the value of an item of KindMemory: a record of one piece of work of an agent.
// Intent and Outcome are required; the other parts are optional. Key identifies the memory among
// those of its principal: storing under the same key updates it. Imported reports that an import
// created it.
type Memory struct {
	V         int    `json:"v"`
	Agent     string `json:"agent"`        // the owner
	By        string `json:"by,omitempty"` // the agent that stored it, if it is not the owner
	Principal string `json:"principal"`    // the principal that stored it
	Session   string `json:"session"`
	Created   int64  `json:"created"`           // Unix milliseconds
	Updated   int64  `json:"updated,omitempty"` // likewise; 0: never

	Intent     Intent      `json:"intent"`
	Perception *Perception `json:"perception,omitempty"`
	Reasoning  *Reasoning  `json:"reasoning,omitempty"`
	Actions    []Action    `json:"actions,omitempty"`
	Outcome    Outcome     `json:"outcome"`

	Tags       []string `json:"tags,omitempty"`
	Importance float64  `json:"importance"`
	Key        string   `json:"key,omitempty"`
	Times      int      `json:"times,omitempty"` // how often it was stored under its key; 0: once
	Imported   bool     `json:"imported,omitempty"`
}

// An Intent is the goal of the work.
type Intent struct {
	Goal        string   `json:"goal" size:"passage" jsonschema:"the goal"`
	TaskType    string   `json:"task_type" enum:"bug_fix,feature_add,refactor,investigation,test_write,documentation,optimization,security_fix,dependency_update,configuration,other" jsonschema:"kind of work"`
	Context     string   `json:"context,omitempty" size:"passage" jsonschema:"background of the goal"`
	Constraints []string `json:"constraints,omitempty" size:"passage" jsonschema:"conditions that the work had to meet"`
}

// A Perception contains the observations made during the work.
type Perception struct {
	Observations    []Observation  `json:"observations,omitempty" jsonschema:"observations with their places"`
	RelevantFiles   []RelevantFile `json:"relevant_files,omitempty" jsonschema:"relevant files; recall finds the memory by them"`
	PatternsNoticed []string       `json:"patterns_noticed,omitempty" size:"passage" jsonschema:"recurring patterns"`
	Anomalies       []string       `json:"anomalies,omitempty" size:"passage" jsonschema:"unexpected findings"`
}

// An Observation is one observation.
type Observation struct {
	What         string `json:"what" size:"passage" jsonschema:"the observation"`
	Where        string `json:"where" size:"id" jsonschema:"a file, a function, a place"`
	Significance string `json:"significance" size:"passage" jsonschema:"the conclusion"`
}

// A RelevantFile is a file that is relevant to the work.
type RelevantFile struct {
	Path         string `json:"path" size:"id" jsonschema:"path of the file"`
	Relevance    string `json:"relevance" size:"passage" jsonschema:"why it is relevant"`
	StateSummary string `json:"state_summary,omitempty" size:"passage" jsonschema:"its state"`
}

// A Reasoning contains the decision for an approach, and its reasons.
type Reasoning struct {
	ApproachChosen         string        `json:"approach_chosen" size:"passage" jsonschema:"the decision"`
	WhyChosen              string        `json:"why_chosen" size:"passage" jsonschema:"why"`
	AlternativesConsidered []Alternative `json:"alternatives_considered,omitempty" jsonschema:"other approaches"`
	Assumptions            []string      `json:"assumptions,omitempty" size:"passage" jsonschema:"assumptions"`
	RisksIdentified        []string      `json:"risks_identified,omitempty" size:"passage" jsonschema:"risks"`
}

// An Alternative is an approach that was considered and rejected.
type Alternative struct {
	Approach    string `json:"approach" size:"passage" jsonschema:"the other approach"`
	WhyRejected string `json:"why_rejected" size:"passage" jsonschema:"why it was rejected"`
}

// An Action is one step of the work.
type Action struct {
	Type             string  `json:"type" enum:"file_read,file_edit,file_create,file_delete,command_run,search,external_query" jsonschema:"kind of step"`
	Timestamp        *int64  `json:"timestamp,omitempty" jsonschema:"time of the step, in Unix milliseconds"`
	FilePath         string  `json:"file_path,omitempty" size:"id" jsonschema:"the file; recall finds the memory by it"`
	LinesAffected    string  `json:"lines_affected,omitempty" jsonschema:"such as 45-89"`
	DiffHash         string  `json:"diff_hash,omitempty" jsonschema:"id of the change"`
	DiffSummary      string  `json:"diff_summary,omitempty" size:"passage" jsonschema:"the changes"`
	Command          string  `json:"command,omitempty" size:"passage" jsonschema:"the command"`
	WorkingDirectory string  `json:"working_directory,omitempty" size:"id" jsonschema:"the working directory"`
	Query            string  `json:"query,omitempty" size:"passage" jsonschema:"the search query"`
	Scope            string  `json:"scope,omitempty" size:"passage" jsonschema:"the scope of the search"`
	Result           *Result `json:"result,omitempty" jsonschema:"the result"`
}

// A Result is the result of an Action.
type Result struct {
	Success       bool   `json:"success" jsonschema:"whether it succeeded"`
	OutputSummary string `json:"output_summary,omitempty" size:"output" jsonschema:"the output"`
	Error         string `json:"error,omitempty" size:"output" jsonschema:"the error"`
	DurationMS    *int64 `json:"duration_ms,omitempty" jsonschema:"duration in milliseconds"`
}

// An Outcome is the result of the work.
type Outcome struct {
	Success         bool          `json:"success" jsonschema:"whether the goal was reached"`
	Summary         string        `json:"summary" size:"passage" jsonschema:"the result"`
	Learnings       []string      `json:"learnings,omitempty" size:"passage" jsonschema:"lessons for later work"`
	FailureReason   string        `json:"failure_reason,omitempty" size:"passage" jsonschema:"reason of the failure"`
	FailureCategory string        `json:"failure_category,omitempty" enum:"incorrect_assumption,unexpected_side_effect,missing_dependency,race_condition,type_error,test_failure,build_failure,runtime_error,logic_error,other" jsonschema:"kind of failure"`
	VerifiedBy      *Verification `json:"verified_by,omitempty" jsonschema:"how it was verified"`
	FollowUpNeeded  []string      `json:"follow_up_needed,omitempty" size:"passage" jsonschema:"remaining work"`
}

// Verification reports how an outcome was verified.
type Verification struct {
	Type    string `json:"type" enum:"test,build,manual,lint,typecheck" jsonschema:"kind of check"`
	Command string `json:"command,omitempty" size:"passage" jsonschema:"the command"`
	Result  string `json:"result" size:"output" jsonschema:"the output"`
}

// Links is the value of an item of KindLinks: the outgoing links of a memory as they were stored,
// as ids of their targets. "A caused_by B" is the inverse of "B led_to A", and related_to is
// symmetric. "A supersedes B" means that B is outdated.
type Links struct {
	V          int      `json:"v"`
	CausedBy   []string `json:"caused_by,omitempty"`
	LedTo      []string `json:"led_to,omitempty"`
	RelatedTo  []string `json:"related_to,omitempty"`
	BlockedBy  []string `json:"blocked_by,omitempty"`
	Supersedes []string `json:"supersedes,omitempty"`
}

// An Agent is the value of an item of KindAgent: the registration of an agent. Times are in Unix
// milliseconds.
type Agent struct {
	V              int      `json:"v"`
	Type           string   `json:"type"` // main or subagent
	Parent         string   `json:"parent,omitempty"`
	Principal      string   `json:"principal"`
	Created        int64    `json:"created"`
	Sessions       int      `json:"sessions,omitempty"` // how often it was registered or resumed
	Active         int64    `json:"active"`             // when it was last registered or resumed
	Specialization string   `json:"specialization,omitempty"`
	Capabilities   []string `json:"capabilities,omitempty"`
}

// The types of agents.
const (
	AgentMain = "main"
	AgentSub  = "subagent"
)

// A Chapter is the value of an item of KindChapter: a summary of related memories. Start and End
// are the times of the first and the last of them; Learnings are those of all of them. Times are
// in Unix milliseconds.
type Chapter struct {
	V         int      `json:"v"`
	Agent     string   `json:"agent"` // the agent that created it
	Principal string   `json:"principal"`
	Created   int64    `json:"created"`
	Title     string   `json:"title,omitempty"`
	Summary   string   `json:"summary"`
	Learnings []string `json:"learnings"`
	Start     int64    `json:"start"`
	End       int64    `json:"end"`
	Memories  []string `json:"memories"` // ids, sorted by creation
	Tags      []string `json:"tags,omitempty"`
	Topics    []string `json:"topics,omitempty"`
	Origin    string   `json:"origin"` // manual or auto

	// Cluster and Digest identify the cluster of an automatic chapter, so that the same chapter
	// is not created twice.
	Cluster string `json:"cluster,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// The origins of chapters.
const (
	OriginManual = "manual"
	OriginAuto   = "auto"
)

// Wisdom is the value of an item of KindWisdom: common insights of several chapters. Insights are
// the learnings of the chapters, and BestPractices those that are advice. Patterns and Tags are
// the tags and topics that several of the chapters have. Start and End cover all chapters. Times
// are in Unix milliseconds.
type Wisdom struct {
	V             int      `json:"v"`
	Agent         string   `json:"agent"`
	Principal     string   `json:"principal"`
	Created       int64    `json:"created"`
	Summary       string   `json:"summary"`
	Insights      []string `json:"insights"`
	Patterns      []string `json:"patterns"`
	BestPractices []string `json:"best_practices"`
	Tags          []string `json:"tags,omitempty"`
	Start         int64    `json:"start"`
	End           int64    `json:"end"`
	Chapters      []string `json:"chapters"` // ids, sorted by start
}

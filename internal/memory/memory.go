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
	// the goal
	Goal string `json:"goal" size:"passage"`
	// kind of work
	TaskType TaskType `json:"task_type"`
	// background of the goal
	Context string `json:"context,omitempty" size:"passage"`
	// conditions that the work had to meet
	Constraints []string `json:"constraints,omitempty" size:"passage"`
}

// A Perception contains the observations made during the work.
type Perception struct {
	// observations with their places
	Observations []Observation `json:"observations,omitempty"`
	// relevant files; recall finds the memory by them
	RelevantFiles []RelevantFile `json:"relevant_files,omitempty"`
	// recurring patterns
	PatternsNoticed []string `json:"patterns_noticed,omitempty" size:"passage"`
	// unexpected findings
	Anomalies []string `json:"anomalies,omitempty" size:"passage"`
}

// An Observation is one observation.
type Observation struct {
	// the observation
	What string `json:"what" size:"passage"`
	// a file, a function, a place
	Where string `json:"where" size:"id"`
	// the conclusion
	Significance string `json:"significance" size:"passage"`
}

// A RelevantFile is a file that is relevant to the work.
type RelevantFile struct {
	// path of the file
	Path string `json:"path" size:"id"`
	// why it is relevant
	Relevance string `json:"relevance" size:"passage"`
	// its state
	StateSummary string `json:"state_summary,omitempty" size:"passage"`
}

// A Reasoning contains the decision for an approach, and its reasons.
type Reasoning struct {
	// the decision
	ApproachChosen string `json:"approach_chosen" size:"passage"`
	// why
	WhyChosen string `json:"why_chosen" size:"passage"`
	// other approaches
	AlternativesConsidered []Alternative `json:"alternatives_considered,omitempty"`
	// assumptions
	Assumptions []string `json:"assumptions,omitempty" size:"passage"`
	// risks
	RisksIdentified []string `json:"risks_identified,omitempty" size:"passage"`
}

// An Alternative is an approach that was considered and rejected.
type Alternative struct {
	// the other approach
	Approach string `json:"approach" size:"passage"`
	// why it was rejected
	WhyRejected string `json:"why_rejected" size:"passage"`
}

// An Action is one step of the work.
type Action struct {
	// kind of step
	Type string `json:"type" enum:"file_read,file_edit,file_create,file_delete,command_run,search,external_query"`
	// time of the step, in Unix milliseconds
	Timestamp *int64 `json:"timestamp,omitempty"`
	// the file; recall finds the memory by it
	FilePath string `json:"file_path,omitempty" size:"id"`
	// such as 45-89
	LinesAffected string `json:"lines_affected,omitempty"`
	// id of the change
	DiffHash string `json:"diff_hash,omitempty"`
	// the changes
	DiffSummary string `json:"diff_summary,omitempty" size:"passage"`
	// the command
	Command string `json:"command,omitempty" size:"passage"`
	// the working directory
	WorkingDirectory string `json:"working_directory,omitempty" size:"id"`
	// the search query
	Query string `json:"query,omitempty" size:"passage"`
	// the scope of the search
	Scope string `json:"scope,omitempty" size:"passage"`
	// the result
	Result *Result `json:"result,omitempty"`
}

// A Result is the result of an Action.
type Result struct {
	// whether it succeeded
	Success bool `json:"success"`
	// the output
	OutputSummary string `json:"output_summary,omitempty" size:"output"`
	// the error
	Error string `json:"error,omitempty" size:"output"`
	// duration in milliseconds
	DurationMS *int64 `json:"duration_ms,omitempty"`
}

// An Outcome is the result of the work.
type Outcome struct {
	// whether the goal was reached
	Success bool `json:"success"`
	// the result
	Summary string `json:"summary" size:"passage"`
	// lessons for later work
	Learnings []string `json:"learnings,omitempty" size:"passage"`
	// reason of the failure
	FailureReason string `json:"failure_reason,omitempty" size:"passage"`
	// kind of failure
	FailureCategory FailureCategory `json:"failure_category,omitempty"`
	// how it was verified
	VerifiedBy *Verification `json:"verified_by,omitempty"`
	// remaining work
	FollowUpNeeded []string `json:"follow_up_needed,omitempty" size:"passage"`
}

// Verification reports how an outcome was verified.
type Verification struct {
	// kind of check
	Type string `json:"type" enum:"test,build,manual,lint,typecheck"`
	// the command
	Command string `json:"command,omitempty" size:"passage"`
	// the output
	Result string `json:"result" size:"output"`
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
// in Unix milliseconds. Cluster and Digest identify the cluster of an automatic chapter, so that the
// same chapter is not created twice.
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
	Cluster   string   `json:"cluster,omitempty"`
	Digest    string   `json:"digest,omitempty"`
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

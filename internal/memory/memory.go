// Package memory indexes the records of agents' work: memories, the links between them, agents, and the chapters and
// wisdom that summarise memories (spec/rum-retrieval-api.md, settled in reference/memory.md).
//
// An Index never changes; With returns the next one. The package is pure: times, ids and values come with the
// commits. The index holds a Card of each memory, by which it is found and which short answers show; its whole value
// stays in the log.
package memory

// The kinds of items of a log that this package knows.
const (
	KindMemory  = "memory"  // by the id of the memory
	KindLinks   = "links"   // that go out from a memory, by its id
	KindAgent   = "agent"   // by the id of the agent
	KindChapter = "chapter" // by its id
	KindWisdom  = "wisdom"  // by its id
)

// The prefixes of ids.
const (
	PrefixMemory  = "mem_"
	PrefixLink    = "link_"
	PrefixAgent   = "agent_"
	PrefixChapter = "chapter_"
	PrefixWisdom  = "wisdom_"
)

// Format is the version of the values of items: their member `v`.
const Format = 1

// The limits of one memory (reference/memory-build.md §2.15).
const (
	MaxValue = 1 << 20 // bytes of a memory as JSON
	MaxLinks = 1000
)

// DefaultImportance is the importance of a memory that gives none.
const DefaultImportance = 0.5

// NoSession is the session of a call that names none.
const NoSession = "default"

// A Memory is the value of an item of KindMemory.
type Memory struct {
	V         int    `json:"v"`
	Agent     string `json:"agent"`        // the owner
	By        string `json:"by,omitempty"` // the agent that wrote it, where that is another
	Principal string `json:"principal"`    // under which it was stored
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

// An Intent is what was to be done.
type Intent struct {
	Goal        string   `json:"goal" size:"passage" jsonschema:"the goal"`
	TaskType    string   `json:"task_type" enum:"bug_fix,feature_add,refactor,investigation,test_write,documentation,optimization,security_fix,dependency_update,configuration,other" jsonschema:"kind of work"`
	Context     string   `json:"context,omitempty" size:"passage" jsonschema:"background of the goal"`
	Constraints []string `json:"constraints,omitempty" size:"passage" jsonschema:"conditions that the work had to meet"`
}

// A Perception is what was seen.
type Perception struct {
	Observations    []Observation  `json:"observations,omitempty" jsonschema:"observations with their places"`
	RelevantFiles   []RelevantFile `json:"relevant_files,omitempty" jsonschema:"relevant files; recall finds the memory by them"`
	PatternsNoticed []string       `json:"patterns_noticed,omitempty" size:"passage" jsonschema:"recurring patterns"`
	Anomalies       []string       `json:"anomalies,omitempty" size:"passage" jsonschema:"unexpected findings"`
}

// An Observation is one thing that was seen.
type Observation struct {
	What         string `json:"what" size:"passage" jsonschema:"the observation"`
	Where        string `json:"where" size:"id" jsonschema:"a file, a function, a place"`
	Significance string `json:"significance" size:"passage" jsonschema:"the conclusion"`
}

// A RelevantFile is a file that matters to the work.
type RelevantFile struct {
	Path         string `json:"path" size:"id" jsonschema:"path of the file"`
	Relevance    string `json:"relevance" size:"passage" jsonschema:"why it is relevant"`
	StateSummary string `json:"state_summary,omitempty" size:"passage" jsonschema:"its state"`
}

// A Reasoning is why it was done so.
type Reasoning struct {
	ApproachChosen         string        `json:"approach_chosen" size:"passage" jsonschema:"the decision"`
	WhyChosen              string        `json:"why_chosen" size:"passage" jsonschema:"why"`
	AlternativesConsidered []Alternative `json:"alternatives_considered,omitempty" jsonschema:"other approaches"`
	Assumptions            []string      `json:"assumptions,omitempty" size:"passage" jsonschema:"assumptions"`
	RisksIdentified        []string      `json:"risks_identified,omitempty" size:"passage" jsonschema:"risks"`
}

// An Alternative is an approach that was not chosen.
type Alternative struct {
	Approach    string `json:"approach" size:"passage" jsonschema:"the other approach"`
	WhyRejected string `json:"why_rejected" size:"passage" jsonschema:"why it was rejected"`
}

// An Action is one step that was taken.
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

// A Result is what came of an Action.
type Result struct {
	Success       bool   `json:"success" jsonschema:"whether it succeeded"`
	OutputSummary string `json:"output_summary,omitempty" size:"output" jsonschema:"the output"`
	Error         string `json:"error,omitempty" size:"output" jsonschema:"the error"`
	DurationMS    *int64 `json:"duration_ms,omitempty" jsonschema:"duration in milliseconds"`
}

// An Outcome is what came of the work.
type Outcome struct {
	Success         bool      `json:"success" jsonschema:"whether the goal was reached"`
	Summary         string    `json:"summary" size:"passage" jsonschema:"the result"`
	Learnings       []string  `json:"learnings,omitempty" size:"passage" jsonschema:"lessons for later work"`
	FailureReason   string    `json:"failure_reason,omitempty" size:"passage" jsonschema:"reason of the failure"`
	FailureCategory string    `json:"failure_category,omitempty" enum:"incorrect_assumption,unexpected_side_effect,missing_dependency,race_condition,type_error,test_failure,build_failure,runtime_error,logic_error,other" jsonschema:"kind of failure"`
	VerifiedBy      *Verified `json:"verified_by,omitempty" jsonschema:"how it was verified"`
	FollowUpNeeded  []string  `json:"follow_up_needed,omitempty" size:"passage" jsonschema:"remaining work"`
}

// Verified is how an outcome was verified.
type Verified struct {
	Type    string `json:"type" enum:"test,build,manual,lint,typecheck" jsonschema:"kind of check"`
	Command string `json:"command,omitempty" size:"passage" jsonschema:"the command"`
	Result  string `json:"result" size:"output" jsonschema:"the output"`
}

// Links are the value of an item of KindLinks: the edges that go out from a memory, as they were given, by the
// ids of the memories that they lead to.
type Links struct {
	V          int      `json:"v"`
	CausedBy   []string `json:"caused_by,omitempty"`
	LedTo      []string `json:"led_to,omitempty"`
	RelatedTo  []string `json:"related_to,omitempty"`
	BlockedBy  []string `json:"blocked_by,omitempty"`
	Supersedes []string `json:"supersedes,omitempty"`
}

// An Agent is the value of an item of KindAgent.
type Agent struct {
	V              int      `json:"v"`
	Type           string   `json:"type"` // main or subagent
	Parent         string   `json:"parent,omitempty"`
	Principal      string   `json:"principal"`
	Created        int64    `json:"created"`
	Sessions       int      `json:"sessions,omitempty"` // how often it was registered or resumed
	Active         int64    `json:"active"`             // when it was registered or resumed last
	Specialization string   `json:"specialization,omitempty"`
	Capabilities   []string `json:"capabilities,omitempty"`
}

// The types of agents.
const (
	AgentMain = "main"
	AgentSub  = "subagent"
)

// A Chapter is the value of an item of KindChapter: memories that belong together, and what follows from them.
type Chapter struct {
	V         int      `json:"v"`
	Agent     string   `json:"agent"` // that made it
	Principal string   `json:"principal"`
	Created   int64    `json:"created"`
	Title     string   `json:"title,omitempty"`
	Summary   string   `json:"summary"`
	Learnings []string `json:"learnings"`
	Start     int64    `json:"start"`
	End       int64    `json:"end"`
	Memories  []string `json:"memories"` // by their creation
	Tags      []string `json:"tags,omitempty"`
	Topics    []string `json:"topics,omitempty"`
	Origin    string   `json:"origin"` // manual or auto

	// Cluster and Digest say of what an auto chapter was made, so that it is made once.
	Cluster string `json:"cluster,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// The origins of chapters.
const (
	OriginManual = "manual"
	OriginAuto   = "auto"
)

// Wisdom is the value of an item of KindWisdom: what several chapters have in common.
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
	Chapters      []string `json:"chapters"` // by their start
}

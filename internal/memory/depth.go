package memory

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/search"
)

// A Depth is the level of detail of a memory in an answer.
type Depth string

// The depths, in ascending order of detail. Each includes the fields of those before it.
const (
	// DepthSummary has the goal, the type of the task, and whether and how it succeeded.
	DepthSummary Depth = "summary"

	// DepthOutcome adds the whole outcome with the learnings.
	DepthOutcome Depth = "outcome"

	// DepthReasoning adds the context of the goal and the reasoning.
	DepthReasoning Depth = "reasoning"

	// DepthFull adds the constraints, the perception and the actions in short form.
	DepthFull Depth = "full"

	// DepthComplete adds the actions with all their fields, and the fields of Whole.
	DepthComplete Depth = "complete"
)

// depths contains all depths, in ascending order of detail.
var depths = []Depth{DepthSummary, DepthOutcome, DepthReasoning, DepthFull, DepthComplete}

// Includes reports whether a depth includes the details of another one.
func (d Depth) Includes(o Depth) bool { return slices.Index(depths, d) >= slices.Index(depths, o) }

// NeedsValue reports whether a depth includes fields that a Card does not have, so that the whole value
// of the memory must be read.
func (d Depth) NeedsValue() bool { return d.Includes(DepthReasoning) }

// Below returns the depths with less detail, in descending order.
func (d Depth) Below() []Depth {
	// An unknown depth has none below it.
	below := slices.Clone(depths[:max(slices.Index(depths, d), 0)])
	slices.Reverse(below)
	return below
}

// A Retrieved is a memory as answers contain it. Its fields depend on the depth
// (reference/memory.md §A4.9). Links is set if the caller asks for it. SupersededBy lists the
// memories that replace this one.
type Retrieved struct {
	// These fields are present at every depth.

	ID        string `json:"id"`
	AgentID   string `json:"agent_id"`
	CreatedAt int64  `json:"created_at" format:"unix-ms"`
	// how well it fits what was asked, from 0 to 1
	Confidence float64 `json:"confidence"`
	// found by words or meaning alone
	Fuzzy bool `json:"fuzzy,omitempty"`
	// where it is less than was asked for, to keep within max_tokens
	Depth Depth `json:"depth,omitempty"`

	Intent  RetrievedIntent  `json:"intent"`
	Outcome RetrievedOutcome `json:"outcome"`

	// These are present from DepthOutcome, DepthReasoning and DepthFull on; see there.

	Learnings    []string    `json:"learnings,omitempty"`
	Reasoning    *Reasoning  `json:"reasoning,omitempty"`
	Perception   *Perception `json:"perception,omitempty"`
	Actions      []Action    `json:"actions,omitempty"`
	Links        *LinkView   `json:"links,omitempty"`
	SupersededBy []string    `json:"superseded_by,omitempty"`

	*Whole
	Explanation *Explanation `json:"explanation,omitempty"`
}

// A RetrievedIntent contains the fields of an Intent that a depth includes.
type RetrievedIntent struct {
	Goal        string   `json:"goal"`
	TaskType    TaskType `json:"task_type"`
	Context     string   `json:"context,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

// A RetrievedOutcome contains the fields of an Outcome that a depth includes.
type RetrievedOutcome struct {
	Success         bool            `json:"success"`
	Summary         string          `json:"summary"`
	Learnings       []string        `json:"learnings,omitempty"`
	FailureReason   string          `json:"failure_reason,omitempty"`
	FailureCategory FailureCategory `json:"failure_category,omitempty"`
	VerifiedBy      *Verification   `json:"verified_by,omitempty"`
	FollowUpNeeded  []string        `json:"follow_up_needed,omitempty"`
}

// Whole contains the fields that only DepthComplete includes. SessionID is NoSession for a memory
// without a session. LastAccessed is nil for a memory that was never read.
type Whole struct {
	SessionID  string   `json:"session_id"`
	WrittenBy  string   `json:"written_by,omitempty"`
	UpdatedAt  int64    `json:"updated_at,omitempty" format:"unix-ms"`
	Tags       []string `json:"tags"`
	Importance float64  `json:"importance"`
	Files      []string `json:"files"`
	Key        string   `json:"key,omitempty"`
	// how often it was stored under its key
	Times        int    `json:"times,omitempty"`
	AccessCount  int    `json:"access_count"`
	LastAccessed *int64 `json:"last_accessed" format:"unix-ms"`
}

// An Explanation reports why a memory was found.
type Explanation struct {
	// direct, file, query, pattern or semantic
	Level string `json:"level"`
	// exact, structural, fuzzy or semantic
	Match string `json:"match"`
	// the path that matched
	File string `json:"file,omitempty"`
	// share of the words asked for that it has, each by how rare it is
	Coverage *float64 `json:"coverage,omitempty"`
	// words asked for that it has
	Matched []string `json:"matched,omitempty"`
	// words asked for that it has not
	Missing []string `json:"missing,omitempty"`
	// of the search by words
	Score *float64 `json:"score,omitempty"`

	// what the score is the sum of
	Parts *search.Parts `json:"parts,omitempty"`
	// by what the confidence is reckoned
	Fit string `json:"fit"`
}

// Retrieve returns the memory at a depth. m is its whole value; it is used, and must not be nil,
// only if d.NeedsValue().
//
// The caller sets the fields that do not come from the memory, such as Confidence and Links.
func (c *Card) Retrieve(d Depth, m *Memory) Retrieved {
	r := Retrieved{
		ID: c.ID, AgentID: c.Agent, CreatedAt: c.Created,
		Intent:  RetrievedIntent{Goal: c.Goal, TaskType: c.TaskType},
		Outcome: RetrievedOutcome{Success: c.Outcome.Success, Summary: c.Outcome.Summary},
	}
	if d.Includes(DepthOutcome) {
		o := c.Outcome
		r.Outcome = RetrievedOutcome(o)
		r.Learnings = o.Learnings
	}
	if d.NeedsValue() {
		r.Intent.Context, r.Reasoning = m.Intent.Context, m.Reasoning
	}
	if d.Includes(DepthFull) {
		r.Intent.Constraints, r.Perception = m.Intent.Constraints, m.Perception
		r.Actions = m.Actions
	}
	if d == DepthFull {
		r.Actions = nil
		// DepthFull omits the times, queries and results of actions.
		for _, a := range m.Actions {
			r.Actions = append(r.Actions, Action{
				Type: a.Type, FilePath: a.FilePath, LinesAffected: a.LinesAffected, DiffSummary: a.DiffSummary,
				Command: a.Command,
			})
		}
	}
	if d == DepthComplete {
		r.Whole = c.whole()
	}
	return r
}

// whole returns the fields that only DepthComplete includes. The caller must set AccessCount and
// LastAccessed.
func (c *Card) whole() *Whole {
	w := &Whole{
		SessionID: c.Session, WrittenBy: c.By, UpdatedAt: c.Updated, Tags: append([]string{}, c.Tags...),
		Importance: c.Importance, Files: c.Paths(), Key: c.Key,
	}
	if c.Key != "" {
		w.Times = max(c.Times, 1)
	}
	return w
}

// Paths returns the files that the memory is about, in the order in which it first names them.
// The result is never nil.
func (c *Card) Paths() []string {
	paths := []string{}
	for _, f := range c.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

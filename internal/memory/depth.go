package memory

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/search"
)

// A Depth is how much of a memory an answer tells.
type Depth string

// The depths, from the least on.
const (
	DepthSummary   Depth = "summary"
	DepthOutcome   Depth = "outcome"
	DepthReasoning Depth = "reasoning"
	DepthFull      Depth = "full"
	DepthComplete  Depth = "complete"
)

// depths are the depths, from the least on.
var depths = []Depth{DepthSummary, DepthOutcome, DepthReasoning, DepthFull, DepthComplete}

// Holds reports whether a depth tells what another one does.
func (d Depth) Holds(o Depth) bool { return slices.Index(depths, d) >= slices.Index(depths, o) }

// Deep reports whether a depth tells what a card does not have, so that the whole value is needed.
func (d Depth) Deep() bool { return d.Holds(DepthReasoning) }

// Below are the depths that tell less than one, the deepest first.
func (d Depth) Below() []Depth {
	below := slices.Clone(depths[:max(slices.Index(depths, d), 0)])
	slices.Reverse(below)
	return below
}

// A Retrieved is a memory as an answer tells of it: more with each depth (reference/memory.md §A4.9).
type Retrieved struct {
	ID         string  `json:"id"`
	AgentID    string  `json:"agent_id"`
	CreatedAt  int64   `json:"created_at" format:"unix-ms"`
	Confidence float64 `json:"confidence" jsonschema:"how well it fits what was asked, from 0 to 1"`
	Fuzzy      bool    `json:"fuzzy,omitempty" jsonschema:"found by words or meaning alone"`
	Depth      Depth   `json:"depth,omitempty" jsonschema:"where it is less than was asked for, to keep within max_tokens"`

	Intent  RetrievedIntent  `json:"intent"`
	Outcome RetrievedOutcome `json:"outcome"`

	Learnings  []string    `json:"learnings,omitempty"`
	Reasoning  *Reasoning  `json:"reasoning,omitempty"`
	Perception *Perception `json:"perception,omitempty"`
	Actions    []Action    `json:"actions,omitempty"`

	Links        *Shown   `json:"links,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`

	*Whole
	Explanation *Explanation `json:"explanation,omitempty"`
}

// A RetrievedIntent is an intent, as far as a depth tells it.
type RetrievedIntent struct {
	Goal        string   `json:"goal"`
	TaskType    string   `json:"task_type"`
	Context     string   `json:"context,omitempty"`
	Constraints []string `json:"constraints,omitempty"`
}

// A RetrievedOutcome is an outcome, as far as a depth tells it.
type RetrievedOutcome struct {
	Success         bool      `json:"success"`
	Summary         string    `json:"summary"`
	Learnings       []string  `json:"learnings,omitempty"`
	FailureReason   string    `json:"failure_reason,omitempty"`
	FailureCategory string    `json:"failure_category,omitempty"`
	VerifiedBy      *Verified `json:"verified_by,omitempty"`
	FollowUpNeeded  []string  `json:"follow_up_needed,omitempty"`
}

// Whole is what only the depth complete tells.
type Whole struct {
	SessionID    string   `json:"session_id"`
	WrittenBy    string   `json:"written_by,omitempty"`
	UpdatedAt    int64    `json:"updated_at,omitempty" format:"unix-ms"`
	Tags         []string `json:"tags"`
	Importance   float64  `json:"importance"`
	Files        []string `json:"files"`
	Key          string   `json:"key,omitempty"`
	Times        int      `json:"times,omitempty" jsonschema:"how often it was stored under its key"`
	AccessCount  int      `json:"access_count"`
	LastAccessed *int64   `json:"last_accessed" format:"unix-ms"`
}

// An Explanation is why a memory was found.
type Explanation struct {
	Level    string   `json:"level" jsonschema:"direct, file, query, pattern or semantic"`
	Match    string   `json:"match" jsonschema:"exact, structural, fuzzy or semantic"`
	File     string   `json:"file,omitempty" jsonschema:"the path that matched"`
	Coverage *float64 `json:"coverage,omitempty" jsonschema:"share of the words asked for that it has, each by how rare it is"`
	Matched  []string `json:"matched,omitempty" jsonschema:"words asked for that it has"`
	Missing  []string `json:"missing,omitempty" jsonschema:"words asked for that it has not"`
	Score    *float64 `json:"score,omitempty" jsonschema:"of the search by words"`

	Parts *search.Parts `json:"parts,omitempty" jsonschema:"what the score is the sum of"`
	Fit   string        `json:"fit" jsonschema:"by what the confidence is reckoned"`
}

// Retrieve tells of a memory at a depth. m is its whole value, which only a deep one needs.
func (c *Card) Retrieve(d Depth, m *Memory) Retrieved {
	r := Retrieved{
		ID: c.ID, AgentID: c.Agent, CreatedAt: c.Created,
		Intent:  RetrievedIntent{Goal: c.Goal, TaskType: c.TaskType},
		Outcome: RetrievedOutcome{Success: c.Outcome.Success, Summary: c.Outcome.Summary},
	}
	if d.Holds(DepthOutcome) {
		o := c.Outcome
		r.Outcome = RetrievedOutcome(o)
		r.Learnings = o.Learnings
	}
	if d.Deep() {
		r.Intent.Context, r.Reasoning = m.Intent.Context, m.Reasoning
	}
	if d.Holds(DepthFull) {
		r.Intent.Constraints, r.Perception = m.Intent.Constraints, m.Perception
		r.Actions = m.Actions
	}
	if d == DepthFull {
		r.Actions = nil
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

// whole is what only the depth complete tells.
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

// Paths are the files that the memory is about, in the order in which it names them. It is never nil.
func (c *Card) Paths() []string {
	paths := []string{}
	for _, f := range c.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

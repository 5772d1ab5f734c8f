package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An updateIn is the input of memory_update_memory. Each part that is given is merged into the
// memory; a list, such as Actions or Tags, is replaced as a whole. An empty list removes all
// entries, and an omitted one keeps them.
type updateIn struct {
	tool.Vault
	// mem_…
	MemoryID string `json:"memory_id" complete:"memory" names:"target"`
	// members to change; the others are kept
	Intent *intentPatch `json:"intent,omitempty"`
	// likewise
	Outcome *outcomePatch `json:"outcome,omitempty"`
	// in the same form; a list replaces the old one
	Perception *perceptionPatch `json:"perception,omitempty"`
	// likewise
	Reasoning *reasoningPatch `json:"reasoning,omitempty"`
	// replaces the old ones
	Actions []memory.Action `json:"actions,omitzero"`
	// each list replaces the old one of its type; [] clears it
	Links *linksPatch `json:"links,omitempty"`
	// replaces the old ones
	Tags []string `json:"tags,omitzero" size:"tag"`
	// 0 to 1
	Importance *float64 `json:"importance,omitempty" min:"0" max:"1"`
	tool.Mutation
}

// A patch is the JSON object of a part of a memory as the caller gave it: members that it does not
// contain are kept, and null removes a member. A Go struct cannot distinguish null from a missing
// member, so the object is kept as text. The types that embed a patch declare the members only for
// the schema and for the check of the arguments: their fields stay empty.
type patch struct{ raw json.RawMessage }

// UnmarshalJSON stores the object unchanged. Its type was checked before. The types that embed a
// patch inherit the method, so it also replaces the decoding of their fields.
func (p *patch) UnmarshalJSON(data []byte) error {
	p.raw = bytes.Clone(data)
	return nil
}

// An intentPatch is the change of the intent of a memory.
type intentPatch struct {
	patch
	// the goal
	Goal *string `json:"goal,omitempty" size:"passage"`
	// kind of work
	TaskType *memory.TaskType `json:"task_type,omitempty"`
	// null clears it
	Context *string `json:"context,omitempty" null:"kept" size:"passage"`
	// replaces the old ones
	Constraints []string `json:"constraints,omitempty" size:"passage"`
}

// An outcomePatch is the change of the outcome of a memory. VerifiedBy is an object in it, which is
// merged in the same way.
type outcomePatch struct {
	patch
	// whether the goal was reached
	Success *bool `json:"success,omitempty"`
	// the result
	Summary *string `json:"summary,omitempty" size:"passage"`
	// replaces the old ones
	Learnings []string `json:"learnings,omitempty" size:"passage"`
	// null clears it
	FailureReason *string `json:"failure_reason,omitempty" null:"kept" size:"passage"`
	// null clears it
	FailureCategory *memory.FailureCategory `json:"failure_category,omitempty" null:"kept"`
	// null clears it
	VerifiedBy *verifiedPatch `json:"verified_by,omitempty" null:"kept"`
	// replaces the old ones
	FollowUpNeeded []string `json:"follow_up_needed,omitempty" size:"passage"`
}

// A verifiedPatch is the change of the verification of an outcome. It needs no patch of its own,
// because it is part of the object of the outcome.
type verifiedPatch struct {
	// kind of check
	Type *string `json:"type,omitempty" enum:"test,build,manual,lint,typecheck"`
	// null clears it
	Command *string `json:"command,omitempty" null:"kept" size:"passage"`
	// the output
	Result *string `json:"result,omitempty" size:"output"`
}

// A perceptionPatch is the change of the perception of a memory. Its lists are replaced as a whole.
type perceptionPatch struct {
	patch
	// replaces the old ones
	Observations []memory.Observation `json:"observations,omitempty"`
	// likewise
	RelevantFiles []memory.RelevantFile `json:"relevant_files,omitempty"`
	// likewise
	PatternsNoticed []string `json:"patterns_noticed,omitempty" size:"passage"`
	// likewise
	Anomalies []string `json:"anomalies,omitempty" size:"passage"`
}

// A reasoningPatch is the change of the reasoning of a memory. Its lists are replaced as a whole.
type reasoningPatch struct {
	patch
	// the decision
	ApproachChosen *string `json:"approach_chosen,omitempty" size:"passage"`
	// why
	WhyChosen *string `json:"why_chosen,omitempty" size:"passage"`
	// replaces the old ones
	AlternativesConsidered []memory.Alternative `json:"alternatives_considered,omitempty"`
	// likewise
	Assumptions []string `json:"assumptions,omitempty" size:"passage"`
	// likewise
	RisksIdentified []string `json:"risks_identified,omitempty" size:"passage"`
}

// A linksPatch is the change of the outgoing links of a memory. Each type of link that is given
// replaces the links of that type. Supersedes is one memory; null or an empty text removes it.
type linksPatch struct {
	patch
	// the memories that caused it
	CausedBy []string `json:"caused_by,omitempty"`
	// the memories that it led to
	LedTo []string `json:"led_to,omitempty"`
	// related memories
	RelatedTo []string `json:"related_to,omitempty"`
	// the memories that it waits for
	BlockedBy []string `json:"blocked_by,omitempty"`
	// what it replaces; null or empty clears it
	Supersedes *string `json:"supersedes,omitempty" null:"kept"`
}

// An updateOut is the output of memory_update_memory. Memory is the memory after the update, at the
// depth complete. UpdatedAt is Unix milliseconds; if nothing changed, it is the time of the last
// change.
type updateOut struct {
	tool.Aside `json:"-"`
	MemoryID   string `json:"memory_id"`
	// Unix milliseconds
	UpdatedAt int64 `json:"updated_at" format:"unix-ms"`
	// the whole memory
	Memory memory.Retrieved `json:"memory"`
	DryRun bool             `json:"dry_run,omitempty"`
}

// update returns the tool that changes parts of a memory.
func (f tools) update() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_update_memory", Short: "update_memory", Family: Family, Title: "Update a memory",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "PATCH", Path: "/memories/{memory_id}"},
		Commands: []tool.Command{{Words: "memory update", Args: []string{"memory_id"}}},
		Nested:   partFlags,
	}, func(ctx context.Context, c auth.Caller, in updateIn) (updateOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.run)
	})
}

// run drafts the update. If nothing changes, it stages nothing. The output contains the memory
// after the update.
//
// It returns NOT_FOUND for an unknown memory, CONFLICT if the memory or its links changed after
// if_version, and PERMISSION_DENIED if the memory is not the caller's; see author.mine. A change of
// the links alone also sets the time of the update, so the memory is staged in both cases.
//
// The author and the principal of the memory do not change, also if an admin or an agent above
// makes the update.
func (in *updateIn) run(ctx context.Context, a author, out *updateOut) error {
	old, err := card(a.index(), in.MemoryID, "memory_id")
	if err != nil {
		return err
	}
	if err := a.tx.Touch(max(old.Version, a.index().Links(old.ID).Version)); err != nil {
		return err
	}
	if err := a.checkOwner(old.Agent); err != nil {
		return err
	}
	m, err := a.tx.Memory(ctx, old)
	if err != nil {
		return err
	}
	now, changed, err := in.patched(m)
	if err != nil {
		return err
	}
	links, relinked, err := in.relinked(a, old.ID)
	if err != nil {
		return err
	}
	if changed || relinked {
		now.Updated = a.now()
		if err := a.tx.PutItem(memory.KindMemory, old.ID, now); err != nil {
			return err
		}
	}
	if relinked {
		if err := a.tx.PutItem(memory.KindLinks, old.ID, links); err != nil {
			return err
		}
	}
	x := a.tx.Index().Memories()
	c, _ := x.Card(old.ID)
	out.MemoryID, out.UpdatedAt, out.DryRun = c.ID, max(c.Updated, c.Created), in.DryRun
	out.Memory = c.Retrieve(memory.DepthComplete, now)
	out.Memory.Confidence = certain
	shown := x.AllLinks(c.ID)
	out.Memory.Links, out.Memory.SupersededBy = &shown, shown.SupersededBy
	return nil
}

// patched returns a memory with the changes of the call, and whether it differs. It returns a fault
// if the result is not a valid memory.
//
// The memory and the arguments are both converted to JSON and merged there, because only JSON can
// express the removal of a member. The result is checked like a new memory, so that a patch can
// complete a part that the memory does not have, but cannot leave one without a required member.
// Two encodings of the same memory are equal, so a comparison of the texts shows whether it
// differs.
func (in *updateIn) patched(m *memory.Memory) (*memory.Memory, bool, error) {
	given := map[string]any{}
	for name, p := range map[string]*patch{
		"intent": in.Intent.object(), "outcome": in.Outcome.object(), "perception": in.Perception.object(),
		"reasoning": in.Reasoning.object(),
	} {
		if p != nil {
			given[name] = p.raw
		}
	}
	if in.Actions != nil {
		given["actions"] = in.Actions
	}
	if in.Tags != nil {
		given["tags"] = append([]string{}, withoutDuplicates(in.Tags)...)
	}
	if in.Importance != nil {
		given["importance"] = *in.Importance
	}
	before, err := json.Marshal(m)
	if err != nil {
		return nil, false, fmt.Errorf("encode a memory: %w", err)
	}
	patch, err := json.Marshal(given)
	if err != nil {
		return nil, false, fmt.Errorf("encode a patch: %w", err)
	}
	merged, err := memory.Merge(before, patch)
	if err != nil {
		return nil, false, err
	}
	if err := tool.CheckValue(Family, merged, checkedMemory{}); err != nil {
		return nil, false, err // neither the patch nor the memory has a required member
	}
	now := &memory.Memory{}
	if err := json.Unmarshal(merged, now); err != nil {
		return nil, false, fmt.Errorf("read a merged memory: %w", err)
	}
	after, err := json.Marshal(now)
	return now, !bytes.Equal(before, after), err
}

// object returns the object of a patch, or nil if the call did not give it.
func (p *intentPatch) object() *patch {
	if p == nil {
		return nil
	}
	return &p.patch
}

// object is like intentPatch.of.
func (p *outcomePatch) object() *patch {
	if p == nil {
		return nil
	}
	return &p.patch
}

// object is like intentPatch.of.
func (p *perceptionPatch) object() *patch {
	if p == nil {
		return nil
	}
	return &p.patch
}

// object is like intentPatch.of.
func (p *reasoningPatch) object() *patch {
	if p == nil {
		return nil
	}
	return &p.patch
}

// relinked returns the links of a memory, where each given type of link replaces the old links of
// that type, and whether they differ. It returns NOT_FOUND for an unknown target, and INVALID_QUERY
// for a link to the memory itself. A call without links returns the old ones.
func (in *updateIn) relinked(a author, id string) (memory.Links, bool, error) {
	links := a.index().Links(id).Links
	links.V = memory.Format
	if in.Links == nil {
		return links, false, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(in.Links.raw, &given); err != nil {
		return links, false, fmt.Errorf("read links: %w", err)
	}
	before, _ := json.Marshal(links) // cannot fail: it contains only texts
	for kind, raw := range given {
		list, err := targetsOf(raw)
		if err != nil {
			return links, false, err
		}
		for _, target := range list {
			if target == id {
				return links, false, selfLink()
			}
		}
		if err := checkExist(a.index(), list, "links"); err != nil {
			return links, false, err
		}
		*links.Of(kind) = list
	}
	after, _ := json.Marshal(links) // cannot fail either
	return links, !bytes.Equal(before, after), nil
}

// targetsOf parses the targets of links: a list, or one target that can be null or empty. It
// returns nil if there are none. Duplicates in a list are removed.
func targetsOf(raw json.RawMessage) ([]string, error) {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return withoutDuplicates(list), nil
	}
	var one string
	if err := json.Unmarshal(raw, &one); err != nil {
		return nil, fmt.Errorf("read a link: %w", err)
	}
	if one == "" {
		return nil, nil
	}
	return []string{one}, nil
}

// selfLink returns the fault of a memory that is linked to itself.
func selfLink() error {
	return fault.New(fault.InvalidQuery, "a memory cannot be linked to itself").With("argument", "links")
}

package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// bulkIn is embedded in the input of a mutation that can be about all that a query finds, in place of one thing.
type bulkIn struct {
	Query     string         `json:"query,omitempty" size:"query" rare:"true" jsonschema:"in place of id: all objects of this query or saved query; first with dry_run, then with plan_token"`
	Filter    tool.Structure `json:"filter,omitempty" rare:"true" jsonschema:"the query as JSON"`
	PlanToken string         `json:"plan_token,omitempty" max:"200" digest:"-" rare:"true" jsonschema:"from a dry run of the same call: CONFLICT if the result would differ"`
}

// isBulk reports whether the call is about what a query finds.
func (b bulkIn) isBulk() bool { return b.Query != "" || len(b.Filter) > 0 }

// one is why the call is about nothing, or about several things at once; a bulk call needs a plan.
func (b bulkIn) one(id string, dry bool) error {
	given := 0
	for _, is := range []bool{id != "", b.Query != "", len(b.Filter) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return fault.New(fault.MissingRequired, "give an id, a query or a filter").
			With("argument", "id")
	case given > 1:
		return fault.New(fault.InvalidValue, "give one of id, query and filter").With("argument", "query")
	case b.isBulk() && !dry && b.PlanToken == "":
		return fault.New(fault.MissingRequired, "a query or filter can match more than intended: "+
			"call with dry_run first, then with its plan_token").With("argument", "plan_token")
	}
	return nil
}

// maxBulkNotes is how many notes a call changes at most: as many as a commit can name.
const maxBulkNotes = 5900

// maxBulkItems is how many things the answer of a bulk call lists.
const maxBulkItems = 200

// BulkAnswer is what a call did to all that a query found.
type BulkAnswer struct {
	Items     []bulkItem `json:"items" jsonschema:"the result for each, the first 200"`
	Total     int        `json:"total" jsonschema:"objects or traits that the query found"`
	Modified  int        `json:"modified"`
	Unchanged int        `json:"unchanged"`
	Skipped   int        `json:"skipped"`
}

// A bulkItem is what became of one thing.
type bulkItem struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Status string `json:"status" jsonschema:"updated, deleted, unchanged or skipped"`
	Reason string `json:"reason,omitempty" jsonschema:"why it was skipped"`
}

// found are the things that a bulk call is about, in order. They must be of a kind.
func (b bulkIn) found(ctx context.Context, tx *repo.Tx, kind query.Kind) ([]query.Item, error) {
	if _, err := state.Schema(tx.Index()); err != nil {
		return nil, err
	}
	v := view{state.View{Index: tx.Index(), Clock: state.Clock(tx.Index(), tx.Now())}}
	wanted, err := asked{Query: b.Query, Filter: b.Filter}.read(v)
	if err != nil {
		return nil, err
	}
	q := wanted.query
	for _, branch := range q.Branches {
		if branch.Kind != kind {
			return nil, fault.New(fault.InvalidQuery, "this call changes the results of a query for %ss, not for %ss",
				kind, branch.Kind).With("argument", "query")
		}
	}
	if q.Searches() {
		return nil, fault.New(fault.InvalidQuery, "content() cannot select objects to change").
			With("argument", "query").Fix("use a field instead of content()")
	}
	items, err := query.Select(q, query.State{Index: v.Index, Clock: v.Clock, Ended: ctx.Err})
	if err != nil {
		return nil, err
	}
	notes := map[string]bool{}
	for _, i := range items {
		notes[i.Spot().Path] = true
	}
	if len(notes) > maxBulkNotes {
		return nil, fault.New(fault.BatchTooLarge, "the query finds %d notes; one call changes at most %d",
			len(notes), maxBulkNotes).With("notes", len(notes)).Fix("narrow the query")
	}
	return items, nil
}

// A bulkStep changes one thing of a bulk call, and returns what it came to: an action, as answers have it.
type bulkStep func(ctx context.Context, tx *repo.Tx, id string, a *tool.Aside) (action string, err error)

// run changes what a query finds. If one of the things cannot be changed, the call fails, with the problem of each.
func (b bulkIn) run(
	ctx context.Context, tx *repo.Tx, kind query.Kind, a *tool.Aside, step bulkStep,
) (*BulkAnswer, error) {
	items, err := b.found(ctx, tx, kind)
	if err != nil {
		return nil, err
	}
	out := &BulkAnswer{Items: make([]bulkItem, len(items)), Total: len(items)}
	var problems []*fault.Fault
	for i, item := range slices.Backward(items) { // what is in a note goes before the note
		one := bulkItem{ID: item.ID(), File: item.Spot().Path}
		err := tx.Part(func() (err error) {
			one.Status, err = step(ctx, tx, one.ID, a)
			return err
		})
		if err != nil {
			f := fault.Of(err)
			if ctx.Err() != nil || f.Status() == fault.StatusInternal || f.Status() == fault.StatusUnavailable ||
				f.Code == fault.Conflict {
				return nil, err
			}
			problems = append(problems, f.With("id", one.ID))
		}
		out.Items[i] = one
		out.count(one.Status)
	}
	if len(problems) > 0 {
		slices.Reverse(problems)
		return nil, bulkFault(problems)
	}
	out.Items = firstOf(out.Items, maxBulkItems)
	return out, nil
}

// count counts what became of a thing.
func (o *BulkAnswer) count(status string) {
	switch status {
	case "unchanged":
		o.Unchanged++
	case "skipped":
		o.Skipped++
	default:
		o.Modified++
	}
}

// bulkFault has the problem of each thing that cannot be changed.
func bulkFault(problems []*fault.Fault) *fault.Fault {
	f := fault.New(Family.Several, "nothing was changed: %s cannot be changed", mutation.Count(len(problems), "result"))
	f.Errors = firstOf(problems, fault.MaxProblems)
	return f.With("failed", len(problems))
}

// bulkMutated is the answer of a tool that changes an object, or all that a query finds.
type bulkMutated struct {
	mutated
	*BulkAnswer
	PlanToken string `json:"plan_token,omitempty" jsonschema:"send it with the same call to make these changes; CONFLICT if the result would differ"`

	plan planned
}

// bulkTraitMutated is the answer of a tool that changes a trait, or all that a query finds.
type bulkTraitMutated struct {
	traitMutated
	*BulkAnswer
	PlanToken string `json:"plan_token,omitempty" jsonschema:"send it with the same call to make these changes; CONFLICT if the result would differ"`

	plan planned
}

func (m *bulkMutated) settle(ctx context.Context, tx *repo.Tx) (err error) {
	if m.BulkAnswer == nil {
		err = m.mutated.settle(ctx, tx)
	} else {
		m.Action = m.action(m.Action)
		if m.WouldModify, err = settleBulk(ctx, tx, &m.Aside); tx.DryRun() {
			m.DryRun, m.Action = true, ""
		}
	}
	if err == nil {
		m.PlanToken, err = m.plan.check(ctx, tx)
	}
	return err
}

func (m *bulkTraitMutated) settle(ctx context.Context, tx *repo.Tx) (err error) {
	if m.BulkAnswer == nil {
		err = m.traitMutated.settle(ctx, tx)
	} else {
		m.Action = m.action("updated")
		if m.WouldModify, err = settleBulk(ctx, tx, &m.Aside); tx.DryRun() {
			m.DryRun, m.Action = true, ""
		}
	}
	if err == nil {
		m.PlanToken, err = m.plan.check(ctx, tx)
	}
	return err
}

// action is what a bulk call did.
func (o *BulkAnswer) action(done string) string {
	if o.Modified == 0 {
		return "unchanged"
	}
	return done
}

// settleBulk names the files that a bulk call changes; of a dry run it returns the changes of the first.
func settleBulk(ctx context.Context, tx *repo.Tx, a *tool.Aside) ([]mutation.FileChange, error) {
	if !tx.DryRun() {
		return nil, mutation.NoteFiles(ctx, tx, a)
	}
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	return firstChanges(a, firstOf(staged, tool.MaxPage)), nil
}

// notesNamed is about the note of an id; of a bulk call, what it stages is compared with if_version.
func notesNamed(id string) aboutFiles {
	if id == "" {
		return func(context.Context, *repo.Tx) ([]vault.Path, error) { return nil, nil }
	}
	return named(id)
}

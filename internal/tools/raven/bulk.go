package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A bulkIn is embedded in the input of a mutation that can change all results of a query instead of
// one object or trait.
//
// A bulk call takes two steps. A dry run reports the changes and returns a plan token; the second
// call sends the same arguments with the token, and fails with CONFLICT if its result would differ
// from the plan. So a query never changes more than its caller has seen.
type bulkIn struct {
	// in place of id: all objects of this query or saved query; first with dry_run, then with
	// plan_token
	Query string `json:"query,omitempty" size:"query" rare:"true"`
	// the query as JSON
	Filter tool.Structure `json:"filter,omitempty" rare:"true"`
	// from a dry run of the same call: CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty" max:"200" digest:"-" rare:"true"`
}

// isBulk reports whether the call has a query or filter.
func (b bulkIn) isBulk() bool { return b.Query != "" || len(b.Filter) > 0 }

// checkOne returns an error unless the call has exactly one of an id, a query and a filter. A query
// or filter also needs a plan token, except in a dry run.
//
// It is called before the vault is opened. The plan token is optional for a single id.
func (b bulkIn) checkOne(id string, dry bool) error {
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

// maxBulkNotes is the maximum number of notes that one call changes, limited by the size of a
// commit.
//
// A caller that gets BATCH_TOO_LARGE narrows the query and repeats the call.
const maxBulkNotes = 5900

// maxBulkItems is the maximum number of results that the answer of a bulk call lists.
const maxBulkItems = 200

// A BulkAnswer reports the changes of a bulk call.
//
// Total is the sum of Modified, Unchanged and Skipped. Items is shortened to maxBulkItems, the
// counters are complete.
type BulkAnswer struct {
	// the result for each, the first 200
	Items []bulkItem `json:"items"`
	// objects or traits that the query found
	Total     int `json:"total"`
	Modified  int `json:"modified"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
}

// A bulkItem reports the change of one result of the query.
type bulkItem struct {
	ID   string `json:"id"`
	File string `json:"file"`
	// updated, deleted, unchanged or skipped
	Status string `json:"status"`
	// why it was skipped
	Reason string `json:"reason,omitempty"`
}

// results returns the results of the query in order. All branches of the query must select the
// given kind, and content() is not allowed. More than maxBulkNotes notes are BATCH_TOO_LARGE.
//
// The results come from the draft's own index at the beginning of the call. content() ranks by
// relevance, and a change of what matches best is nothing that a caller could check in advance;
// therefore only exact conditions are allowed.
func (b bulkIn) results(ctx context.Context, tx *repo.Tx, kind query.Kind) ([]query.Item, error) {
	if _, err := state.Schema(tx.Index()); err != nil {
		return nil, err
	}
	v := view{View: state.View{Index: tx.Index(), Clock: state.Clock(tx.Index(), tx.Now())}}
	wanted, err := queryRequest{Query: b.Query, Filter: b.Filter}.parse(v)
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
	items, err := query.Select(q, query.State{Index: v.Index, Clock: v.Clock, Canceled: ctx.Err})
	if err != nil {
		return nil, err
	}
	notes := map[string]bool{}
	for _, i := range items {
		notes[i.Location().Path] = true
	}
	if len(notes) > maxBulkNotes {
		return nil, fault.New(fault.BatchTooLarge, "the query finds %d notes; one call changes at most %d",
			len(notes), maxBulkNotes).With("notes", len(notes)).Fix("narrow the query")
	}
	return items, nil
}

// A bulkStep changes the object or trait with an id and returns the action, as in the answer of a
// call for a single one: updated, unchanged and so on. Warnings go into a, which is that of the
// whole call.
type bulkStep func(ctx context.Context, tx *repo.Tx, id string, a *tool.Aside) (action string, err error)

// stepOf returns the bulkStep that drafts the change of one result with run.
func stepOf[Out any, P answerOf[Out]](
	run func(ctx context.Context, tx *repo.Tx, id string, out P) error,
) bulkStep {
	return func(ctx context.Context, tx *repo.Tx, id string, a *tool.Aside) (string, error) {
		one := P(new(Out))
		err := run(ctx, tx, id, one)
		a.Warnings = append(a.Warnings, one.result().Warnings...)
		return one.result().Action, err
	}
}

// run applies step to each result of the query. If some results cannot be changed, it returns one
// fault with the problem of each, and nothing is written. CONFLICT and internal errors end the call
// at once.
//
// The results are changed from the last to the first. Within a note, a change then never moves the
// lines of a result that is still to come, and a note that is deleted is deleted after its parts.
// Each step is a part of the transaction, so that an action of unchanged means that this step
// staged nothing, whatever the steps before it staged.
func (b bulkIn) run(
	ctx context.Context, tx *repo.Tx, kind query.Kind, a *tool.Aside, step bulkStep,
) (*BulkAnswer, error) {
	items, err := b.results(ctx, tx, kind)
	if err != nil {
		return nil, err
	}
	out := &BulkAnswer{Items: make([]bulkItem, len(items)), Total: len(items)}
	var problems []*fault.Fault
	for i, item := range slices.Backward(items) { // parts of a note before the note itself
		one := bulkItem{ID: item.ID(), File: item.Location().Path}
		err := tx.Part(func() (err error) {
			if err = onlyOne(tx.Index(), item); err == nil {
				one.Status, err = step(ctx, tx, one.ID, a)
			}
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

// onlyOne returns a fault if the id of a result leads to another object: two sections of a note
// that declare one id. A step knows its object only by the id, and would change the other one.
func onlyOne(idx *index.Index, i query.Item) error {
	if i.Kind == query.Traits {
		return nil
	}
	if o, ok := idx.Find(i.ID()); ok && o.Number() != i.Object.Number() {
		return fault.New(fault.AmbiguousRef, "another section of the note has the id %q too", i.ID()).
			At(i.Object.Note.Path, i.Object.Location().Line).
			Fix("give one of them another id in its declaration")
	}
	return nil
}

// count adds one result with the given status to the counters.
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

// bulkFault returns the fault of a bulk call with the problems of the results that cannot be
// changed.
//
// The faults of the single results, at most fault.MaxProblems, have the id of the result in their
// details.
func bulkFault(problems []*fault.Fault) *fault.Fault {
	f := fault.New(Family.Several, "nothing was changed: %s cannot be changed", mutation.Count(len(problems), "result"))
	f.Errors = firstOf(problems, fault.MaxProblems)
	return f.With("failed", len(problems))
}

// A bulkOut is the part of the output of a tool that can change all results of a query.
//
// BulkAnswer is nil for a call with an id. expected is the result that the plan token of the call
// describes; it is not part of the answer.
type bulkOut struct {
	*BulkAnswer
	// send it with the same call to make these changes; CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty"`

	expected planned
}

// A bulkObjectOut is the output of a tool that changes one object or all results of a query.
type bulkObjectOut struct {
	objectOut
	bulkOut
}

// A bulkTraitOut is the output of a tool that changes one trait or all results of a query.
type bulkTraitOut struct {
	traitOut
	bulkOut
}

// finish implements answer.
func (m *bulkObjectOut) finish(ctx context.Context, tx *repo.Tx) error {
	return m.bulkOut.finish(ctx, tx, &m.objectOut, &m.DryRun, &m.WouldModify)
}

// finish implements answer.
func (m *bulkTraitOut) finish(ctx context.Context, tx *repo.Tx) error {
	return m.bulkOut.finish(ctx, tx, &m.traitOut, &m.DryRun, &m.WouldModify)
}

// finish completes the answer, of which one is the part for a call with an id, and checks or issues
// the plan token; see answer. If no result of a query was modified, the action is unchanged.
//
// The token is checked last, when all files are staged: it is a digest of the staged texts. A
// conflict therefore discards a complete draft, and nothing is written.
func (o *bulkOut) finish(
	ctx context.Context, tx *repo.Tx, one answer, dry *bool, would *[]mutation.FileChange,
) (err error) {
	if o.BulkAnswer == nil {
		err = one.finish(ctx, tx)
	} else {
		all := one.result()
		if o.Modified == 0 {
			all.Action = "unchanged"
		}
		if *would, err = finishBulk(ctx, tx, &all.Aside); tx.DryRun() {
			*dry, all.Action = true, ""
		}
	}
	if err == nil {
		o.PlanToken, err = o.expected.check(ctx, tx)
	}
	return err
}

// finishBulk records the paths of the changed files in the meta. For a dry run it instead returns
// the changes of the first files.
//
// At most tool.MaxPage files are described, fewer if they do not fit into the answer.
func finishBulk(ctx context.Context, tx *repo.Tx, a *tool.Aside) ([]mutation.FileChange, error) {
	if !tx.DryRun() {
		return nil, mutation.NoteFiles(ctx, tx, a)
	}
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	return firstChanges(a, firstOf(staged, tool.MaxPage)), nil
}

// optionalTarget is named for an argument that can be empty, as in a bulk call. It then names no
// files, and only the changed files are compared with if_version.
func optionalTarget(id string) targetFiles {
	if id == "" {
		return func(context.Context, *repo.Tx) ([]vault.Path, error) { return nil, nil }
	}
	return noteTarget(id)
}

package raven

import (
	"context"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A bulkMoveOut is the output of raven_move for one note or for all results of a query.
//
// For a single note BulkAnswer is nil. For a query, moveOut has only the destination, the rewritten
// references and the side effects.
type bulkMoveOut struct {
	moveOut
	bulkOut
}

// finish implements answer.
func (m *bulkMoveOut) finish(ctx context.Context, tx *repo.Tx) error {
	return m.bulkOut.finish(ctx, tx, &m.moveOut, &m.DryRun, &m.WouldModify)
}

// runAll drafts the move of all notes that a query finds into a folder. It moves them together, so
// that a note with references to several of them is rewritten once.
//
// If one of the results cannot be moved, nothing is; the fault has the problem of each.
func (in moveIn) runAll(ctx context.Context, tx *repo.Tx, out *bulkMoveOut) error {
	items, err := in.results(ctx, tx, query.Objects)
	if err != nil {
		return err
	}
	answer := &BulkAnswer{Items: make([]bulkItem, len(items)), Total: len(items)}
	ids, taken := map[string]string{}, map[string]bool{}
	var problems []*fault.Fault
	for i, item := range items {
		one, err := in.place(tx, item.ID(), ids, taken)
		if err != nil {
			problems = append(problems, fault.Of(err).With("id", item.ID()))
		}
		answer.Items[i] = one
		answer.count(one.Status)
	}
	if len(problems) > 0 {
		return bulkFault(problems)
	}
	u := refUpdates{rewrite: in.rewrites()}
	if len(ids) > 0 {
		if err := u.move(ctx, tx, ids); err != nil {
			return err
		}
	}
	answer.Items = firstOf(answer.Items, maxBulkItems)
	out.Action, out.BulkAnswer, out.Destination = "updated", answer, in.Destination
	out.fill(u)
	out.SideEffects = slices.Concat([]string{},
		settingsEffects(tx.Index(), slices.Sorted(maps.Keys(ids))...), u.effects())
	return nil
}

// place determines the new id of one result of a query, and adds it to ids and taken. It skips
// results that are not whole notes.
//
// ids maps the old ids of the notes that are moved to their new ones, and taken contains the new
// ids after case folding. Two results with the same name cannot both be moved into one folder.
func (in moveIn) place(
	tx *repo.Tx, id string, ids map[string]string, taken map[string]bool,
) (bulkItem, error) {
	o, ok := tx.Index().Find(id)
	if !ok {
		return bulkItem{ID: id, Status: "skipped", Reason: "it does not exist"}, nil
	}
	one := bulkItem{ID: o.ID(), File: o.Note.Path, Status: "updated"}
	if o.Section != nil {
		one.Status, one.Reason = "skipped", "it is part of a note; only whole notes are moved"
		return one, nil
	}
	to, err := in.to(tx, o.Note)
	switch {
	case err != nil:
		return one, err
	case string(to) == o.Note.Path:
		one.Status = "unchanged"
		return one, nil
	case taken[vault.Fold(to.ID())]:
		return one, fault.New(fault.DuplicateID, "another note is moved to %q", to.ID()).
			With("argument", "destination").
			Fix("move them into several folders")
	}
	taken[vault.Fold(to.ID())], ids[o.Note.ID] = true, to.ID()
	one.File = string(to)
	return one, nil
}

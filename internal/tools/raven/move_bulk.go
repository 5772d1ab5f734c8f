package raven

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
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

// settingsEffects returns sentences about the settings that contain one of the former ids. A move
// does not change settings.
//
// Settings are written by people, with comments and patterns that a rewrite could break, so the
// answer only names them. At most maxMatches are named.
func settingsEffects(idx *index.Index, ids ...string) []string {
	var effects []string
	add := func(file, what, id string) {
		effects = append(effects, fmt.Sprintf("%s of %s still names %s", what, file, id))
	}
	config := idx.Config()
	for _, id := range ids {
		if isFile(config.Capture.Destination, id) {
			add(vault.ConfigRaven, "capture.destination", id)
		}
		for _, q := range config.Queries {
			if namesID(q.Query, id) {
				add(vault.ConfigRaven, "the saved query "+q.Name, id)
			}
		}
		for _, t := range idx.Schema().Templates {
			if isFile(t.File, id) {
				add(vault.SchemaFile, "the template "+t.ID, id)
			}
		}
	}
	if n := len(effects) - maxMatches; n > 0 {
		effects = append(effects[:maxMatches:maxMatches], mutation.Count(n, "more setting")+" "+
			mutation.Plural(n, "names", "name")+" a note that moved")
	}
	return effects
}

// isFile reports whether a setting is the path of a note, with or without `.md`.
func isFile(setting, id string) bool {
	return strings.TrimSuffix(strings.TrimSpace(setting), ".md") == id
}

// namesID reports whether the text of a query contains an id that is not a part of a longer one.
//
// It compares text only: an id in a string of the query counts too. A false positive costs a
// sentence in the answer.
func namesID(text, id string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], id)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(id)
		if !isOfID(text[:begin], len(text[:begin])-1) && !isOfID(text, end) {
			return true
		}
		at = end
	}
}

// isOfID reports whether the byte at an offset can be part of a longer id. `#` cannot, because it
// ends the id of a note.
func isOfID(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= 0x80 || slices.Contains([]byte("/-_"), c) ||
		c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

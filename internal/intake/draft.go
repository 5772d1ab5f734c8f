package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/merge"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Effect is the result of ingesting a part of a batch. The function of an Update may run again,
// so each run begins with an empty Effect.
type Effect struct {
	Taken Taken
	Stay  []*Found                 // removed outside, but changed in the log since: their files must be written again
	Left  map[string]repo.LeftFile // files that the vault refuses, by path
}

// Commit ingests a part of a batch in one commit. A file that the vault refuses is left out, and is
// in Effect.Left. If there is an error, the Effect is empty.
func Commit(ctx context.Context, v *repo.Vault, call eventlog.Call, part []*Found) (Effect, error) {
	var e Effect
	receipt, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (_ any, err error) {
		e, err = draft(ctx, tx, part)
		return nil, err
	})
	if err != nil {
		return Effect{}, err // the function may still run
	}
	if receipt.Changed && !call.Silent { // otherwise the commit has no events
		e.Taken.Index, err = countsIn(ctx, v, receipt.Seq)
	}
	return e, err
}

// Try returns the Effect that Commit would have, and writes nothing.
func Try(ctx context.Context, v *repo.Vault, call eventlog.Call, part []*Found) (Effect, error) {
	var e Effect
	call.DryRun = true
	_, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (_ any, err error) {
		if e, err = draft(ctx, tx, part); err != nil {
			return nil, err
		}
		e.Taken.Index, err = countsOf(ctx, tx)
		return nil, err
	})
	if err != nil {
		return Effect{}, err // the function may still run
	}
	return e, nil
}

// draft stages the changes for a part of a batch.
func draft(ctx context.Context, tx *repo.Tx, part []*Found) (Effect, error) {
	e := Effect{Left: map[string]repo.LeftFile{}}
	for _, f := range part {
		if err := e.take(ctx, tx, f); err != nil {
			return e, err
		}
	}
	return e, nil
}

// countsIn counts the changes in the reindex events of a commit. It skips events that are not
// valid.
func countsIn(ctx context.Context, v *repo.Vault, seq uint64) (told index.Counts, err error) {
	c, err := v.Commit(ctx, seq)
	if err != nil {
		return told, err
	}
	for _, n := range c.Notes {
		var entries []index.Reindex
		if json.Unmarshal(n.Events, &entries) != nil {
			continue
		}
		for _, r := range entries {
			told.Add(r.Counts())
		}
	}
	return told, nil
}

// countsOf counts the changes in the reindex events that a commit of this draft would have.
func countsOf(ctx context.Context, tx *repo.Tx) (told index.Counts, err error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return told, err
	}
	for _, s := range staged {
		path := string(s.Path)
		events := index.Events(tx.Before(), tx.Index(), path, index.Texts{
			Old: s.Old, New: s.New, From: s.From, MovedAway: s.Left,
		})
		told.Add(index.Reindexed(path, events).Counts())
	}
	return told, nil
}

// take stages the changes for one edit.
func (e *Effect) take(ctx context.Context, tx *repo.Tx, f *Found) error {
	path := vault.Path(f.Path)
	switch {
	case f.Gone():
		return e.remove(ctx, tx, f)
	case f.From != nil:
		return e.refused(f, e.move(ctx, tx, f))
	}
	ours, exists, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if !exists {
		err := tx.TakeIn(ctx, path, repo.Outside{Text: f.Text, Found: f.Text, Since: f.Modified})
		if err == nil {
			e.Taken.Created++
		}
		return e.refused(f, err)
	}
	return e.refused(f, e.merge(ctx, tx, f, ours))
}

// remove removes the note of a missing file, unless the log has changed it since: then the note
// stays, and the edit is added to e.Stay so that its file is written again.
func (e *Effect) remove(ctx context.Context, tx *repo.Tx, f *Found) error {
	now, exists := tx.Before().File(f.Path)
	if !exists {
		return nil
	}
	if f.Before == nil || now.Version > cmp.Or(f.UpTo, f.Before.Version) {
		e.Stay = append(e.Stay, f)
		return nil
	}
	e.Taken.Removed++
	return tx.Remove(ctx, vault.Path(f.Path))
}

// merge merges the text that was found into the present text of the note. If the text is older than
// the version that its author had seen, it counts as a deliberate revert: it undoes the changes
// that the author had seen since.
func (e *Effect) merge(ctx context.Context, tx *repo.Tx, f *Found, ours []byte) error {
	m := merged(f.Was, ours, f.Text)
	e.Taken.Changed++
	return e.keep(ctx, tx, f, repo.Outside{Text: m.Text, Found: f.Text}, m.Overlaps)
}

// merged merges two texts, of which base is the common ancestor. If the result is larger than a
// note may be, it returns ours as the text and reports an overlap, so that theirs is kept as a
// copy.
func merged(base, ours, theirs []byte) merge.Result {
	m := merge.Texts(base, ours, theirs)
	if len(m.Text) > repo.MaxNote {
		m = merge.Result{Text: ours, Overlaps: true}
	}
	return m
}

// keep stages the text of a note. If a merge could not keep all of both texts, it also stages a
// conflict copy with the text that was found.
func (e *Effect) keep(
	ctx context.Context, tx *repo.Tx, f *Found, o repo.Outside, overlaps bool,
) error {
	err := tx.TakeIn(ctx, vault.Path(f.Path), o)
	if err != nil || !overlaps || len(f.Text) == 0 { // an empty text needs no copy
		return err
	}
	e.Taken.Conflicts++
	return e.copy(ctx, tx, f)
}

// copy stages a conflict copy beside the note, with the text that was found.
func (e *Effect) copy(ctx context.Context, tx *repo.Tx, f *Found) error {
	for n := 1; ; n++ {
		path := vault.ConflictCopy(vault.Path(f.Path), eventlog.Version(tx.Seq()), n)
		if _, taken := tx.Folded(path); taken {
			continue
		}
		return tx.TakeIn(ctx, path, repo.Outside{Text: f.Text, Found: f.Text, Since: f.Modified})
	}
}

// move stages the move of a note to another path. Changes that the log has made to the note since
// are merged into it. The error is DUPLICATE_ID if another note has the path.
func (e *Effect) move(ctx context.Context, tx *repo.Tx, f *Found) error {
	from := vault.Path(f.From.Path)
	if other, taken := tx.Folded(vault.Path(f.Path)); taken && other != f.From.Path {
		return fault.New(fault.DuplicateID, "%s is taken by %s", f.Path, other)
	}
	ours, exists, err := tx.Text(ctx, from)
	if err != nil {
		return err
	}
	e.Taken.Moved++
	m, o := merge.Result{Text: f.Text}, repo.Outside{Found: f.Text, Since: f.Modified}
	if exists {
		base, err := tx.TextOf(ctx, f.From.Before)
		if err != nil {
			return err
		}
		m = merged(base, ours, f.Text)
		o.From = f.From.Path
		if err := tx.Remove(ctx, from); err != nil {
			return err
		}
	}
	o.Text = m.Text
	return e.keep(ctx, tx, f, o, m.Overlaps)
}

// refused records a file that the vault refuses, with err as the reason, so that the other files
// are ingested without it. It returns any other error.
func (e *Effect) refused(f *Found, err error) error {
	switch {
	case fault.Is(err, fault.DuplicateID):
		e.Left[f.Path] = repo.LeftFile{Path: f.Path, Why: repo.LeftTwin}
	case fault.Is(err, fault.QuotaExceeded):
		e.Left[f.Path] = repo.LeftFile{Path: f.Path, Why: repo.LeftQuota}
	default:
		return err
	}
	return nil
}

// Unknown returns those edits whose texts are in no version of the vault, so that they would be
// lost if the files were restored from the log.
func Unknown(all []*Found) []*Found {
	return slices.DeleteFunc(slices.Clone(all), func(f *Found) bool {
		return f.Gone() || f.Exact || f.From != nil && f.From.Before.Digest == f.Digest
	})
}

// Bin moves texts to the trash, in one commit.
func Bin(ctx context.Context, v *repo.Vault, call eventlog.Call, all []*Found) error {
	if len(all) == 0 {
		return nil
	}
	call.Outside = false // files in the trash belong to the vault, and must not be another program's
	_, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		for _, f := range all {
			if _, err := tx.Trash(ctx, vault.Path(f.Path), f.Text); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}

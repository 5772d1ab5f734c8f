package intake

import (
	"cmp"
	"context"
	"encoding/json"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/merge"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// An Effect is what taking in a part of a batch comes to. The function of an Update may run again, so
// each run begins with an empty one.
type Effect struct {
	Taken Taken
	Stay  []*Found                 // gone from the files, and changed in the log since
	Left  map[string]repo.LeftFile // what the vault refuses, by path
}

// Commit takes a part of a batch in.
func Commit(ctx context.Context, v *repo.Vault, call repo.Call, part []*Found) (Effect, error) {
	var e Effect
	receipt, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (_ any, err error) {
		e, err = draft(ctx, tx, part)
		return nil, err
	})
	if err != nil {
		return Effect{}, err // the function may still run
	}
	if receipt.Changed && !call.Untold { // else the commit tells of nothing
		e.Taken.Index, err = countsIn(ctx, v, receipt.Seq)
	}
	return e, err
}

// Try returns what Commit would come to, and writes nothing.
func Try(ctx context.Context, v *repo.Vault, call repo.Call, part []*Found) (Effect, error) {
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

// draft drafts what becomes of a part of a batch.
func draft(ctx context.Context, tx *repo.Tx, part []*Found) (Effect, error) {
	e := Effect{Left: map[string]repo.LeftFile{}}
	for _, f := range part {
		if err := e.take(ctx, tx, f); err != nil {
			return e, err
		}
	}
	return e, nil
}

// countsIn counts what a commit tells of.
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

// countsOf counts what a commit of this draft would tell of.
func countsOf(ctx context.Context, tx *repo.Tx) (told index.Counts, err error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return told, err
	}
	for _, s := range staged {
		path := string(s.Path)
		events := index.Events(tx.Before(), tx.Index(), path, index.Texts{
			Old: s.Old, New: s.New, From: s.From, Left: s.Left,
		})
		told.Add(index.Reindexed(path, events).Counts())
	}
	return told, nil
}

// take drafts what becomes of one edit.
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

// remove takes a note away whose file is gone, unless the log has changed it since: then it stays, and
// its file is written again.
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

// merge merges what was found into the note as it is now. A text that is older than what its author had
// seen is taken as what they want the note to be again: it takes back what they had seen since.
func (e *Effect) merge(ctx context.Context, tx *repo.Tx, f *Found, ours []byte) error {
	m := merged(f.Was, ours, f.Text)
	e.Taken.Changed++
	return e.keep(ctx, tx, f, repo.Outside{Text: m.Text, Found: f.Text}, m.Overlaps)
}

// merged is a merge that a note can hold. Where the two together are too large, each is kept for itself.
func merged(base, ours, theirs []byte) merge.Merged {
	m := merge.Texts(base, ours, theirs)
	if len(m.Text) > repo.MaxNote {
		m = merge.Merged{Text: ours, Overlaps: true}
	}
	return m
}

// keep drafts the text of a note; and, where a merge could not keep all of both, a copy of what was
// found beside it.
func (e *Effect) keep(
	ctx context.Context, tx *repo.Tx, f *Found, o repo.Outside, overlaps bool,
) error {
	err := tx.TakeIn(ctx, vault.Path(f.Path), o)
	if err != nil || !overlaps || len(f.Text) == 0 { // of nothing there is nothing to keep
		return err
	}
	e.Taken.Conflicts++
	return e.copy(ctx, tx, f)
}

// copy drafts a note beside the one that was found, with the text that was found.
func (e *Effect) copy(ctx context.Context, tx *repo.Tx, f *Found) error {
	for n := 1; ; n++ {
		path := vault.ConflictCopy(vault.Path(f.Path), repo.Version(tx.Seq()), n)
		if _, taken := tx.Folded(path); taken {
			continue
		}
		return tx.TakeIn(ctx, path, repo.Outside{Text: f.Text, Found: f.Text, Since: f.Modified})
	}
}

// move drafts that a note goes to another path. What the log has changed in it since goes with it.
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
	m, o := merge.Merged{Text: f.Text}, repo.Outside{Found: f.Text, Since: f.Modified}
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

// refused leaves a file that the vault refuses: the others are taken in without it.
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

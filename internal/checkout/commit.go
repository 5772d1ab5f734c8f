package checkout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/merge"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// An effect is what taking in a piece of a batch comes to. The function of an Update may run again, so
// each run begins with an empty one.
type effect struct {
	taken Taken
	stay  []*found                 // gone from the folder, and changed in the log since
	left  map[string]repo.LeftFile // what the vault refuses
}

// commit takes a piece of a batch in.
func (b *batch) commit(ctx context.Context, piece []*found) error {
	var e effect
	receipt, err := b.vault.Update(ctx, b.call(), func(ctx context.Context, tx *repo.Tx) (_ any, err error) {
		e, err = b.draft(ctx, tx, piece)
		return nil, err
	})
	if err != nil {
		return err
	}
	if receipt.Changed {
		if err := b.count(ctx, receipt.Seq); err != nil {
			return err
		}
	}
	b.done.add(e.taken)
	return b.settle(ctx, &e)
}

// draft drafts what becomes of a piece of a batch.
func (b *batch) draft(ctx context.Context, tx *repo.Tx, piece []*found) (effect, error) {
	e := effect{left: map[string]repo.LeftFile{}}
	for _, f := range piece {
		if err := b.take(ctx, tx, f, &e); err != nil {
			return e, err
		}
	}
	return e, nil
}

// reindex is the operation of commits that take edits in (log.md §5).
const reindex = "reindex"

// call is the call that takes edits in. Of a folder that is read for the first time no event tells: the
// notes are as old as their files.
func (b *batch) call() repo.Call {
	return repo.Call{
		Who: cmp.Or(b.who, b.opt.Who), Tool: reindex, Outside: true, Untold: b.begins && b.first(),
	}
}

func (t *Taken) add(more Taken) {
	t.Created += more.Created
	t.Changed += more.Changed
	t.Moved += more.Moved
	t.Removed += more.Removed
	t.Conflicts += more.Conflicts
}

// count adds what a commit tells of.
func (b *batch) count(ctx context.Context, seq uint64) error {
	c, err := b.vault.Commit(ctx, seq)
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		var entries []index.Reindex
		if json.Unmarshal(n.Events, &entries) != nil {
			continue
		}
		for _, r := range entries {
			b.done.Index.Add(r.Counts())
		}
	}
	return nil
}

// take drafts what becomes of one edit.
func (b *batch) take(ctx context.Context, tx *repo.Tx, f *found, e *effect) error {
	path := vault.Path(f.path)
	switch {
	case f.gone():
		return e.remove(ctx, tx, f)
	case f.from != nil:
		return e.refused(f, e.move(ctx, tx, f))
	}
	ours, exists, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if !exists {
		err := tx.TakeIn(ctx, path, repo.Outside{Text: f.text, Found: f.text, Since: f.modified})
		if err == nil {
			e.taken.Created++
		}
		return e.refused(f, err)
	}
	return e.refused(f, e.merge(ctx, tx, f, ours))
}

// remove takes a note away whose file is gone, unless the log has changed it since: then it stays, and
// its file is written again.
func (e *effect) remove(ctx context.Context, tx *repo.Tx, f *found) error {
	now, exists := tx.Before().File(f.path)
	if !exists {
		return nil
	}
	if f.before == nil || now.Version > cmp.Or(f.upTo, f.before.Version) {
		e.stay = append(e.stay, f)
		return nil
	}
	e.taken.Removed++
	return tx.Remove(ctx, vault.Path(f.path))
}

// merge merges what was found into the note as it is now. A text that is older than what its author had
// seen is taken as what they want the note to be again: it takes back what they had seen since.
func (e *effect) merge(ctx context.Context, tx *repo.Tx, f *found, ours []byte) error {
	m := merged(f.was, ours, f.text)
	e.taken.Changed++
	return e.keep(ctx, tx, f, repo.Outside{Text: m.Text, Found: f.text}, m.Overlaps)
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
func (e *effect) keep(
	ctx context.Context, tx *repo.Tx, f *found, o repo.Outside, overlaps bool,
) error {
	err := tx.TakeIn(ctx, vault.Path(f.path), o)
	if err != nil || !overlaps || len(f.text) == 0 { // of nothing there is nothing to keep
		return err
	}
	e.taken.Conflicts++
	return e.copy(ctx, tx, f)
}

// copy drafts a note beside the one that was found, with the text that was found.
func (e *effect) copy(ctx context.Context, tx *repo.Tx, f *found) error {
	for n := 1; ; n++ {
		path := vault.ConflictCopy(vault.Path(f.path), repo.Version(tx.Seq()), n)
		if _, taken := tx.Folded(path); taken {
			continue
		}
		return tx.TakeIn(ctx, path, repo.Outside{Text: f.text, Found: f.text, Since: f.modified})
	}
}

// move drafts that a note goes to another path. What the log has changed in it since goes with it.
func (e *effect) move(ctx context.Context, tx *repo.Tx, f *found) error {
	from := vault.Path(f.from.path)
	if other, taken := tx.Folded(vault.Path(f.path)); taken && other != f.from.path {
		return fault.New(fault.DuplicateID, "%s is taken by %s", f.path, other)
	}
	ours, exists, err := tx.Text(ctx, from)
	if err != nil {
		return err
	}
	e.taken.Moved++
	m, o := merge.Merged{Text: f.text}, repo.Outside{Found: f.text, Since: f.modified}
	if exists {
		base, err := tx.TextOf(ctx, f.from.before)
		if err != nil {
			return err
		}
		m = merged(base, ours, f.text)
		o.From = f.from.path
		if err := tx.Remove(ctx, from); err != nil {
			return err
		}
	}
	o.Text = m.Text
	return e.keep(ctx, tx, f, o, m.Overlaps)
}

// refused leaves a file that the vault refuses: the others are taken in without it.
func (e *effect) refused(f *found, err error) error {
	switch {
	case fault.Is(err, fault.DuplicateID):
		e.left[f.path] = repo.LeftFile{Path: f.path, Why: repo.LeftTwin}
	case fault.Is(err, fault.QuotaExceeded):
		e.left[f.path] = repo.LeftFile{Path: f.path, Why: repo.LeftQuota}
	default:
		return err
	}
	return nil
}

// settle writes the files that stay, and notes what is left.
func (b *batch) settle(ctx context.Context, e *effect) error {
	c := b.Checkout
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	for path, f := range e.left {
		c.drop(path)
		f.Path = c.key(path)
		c.leave(f)
	}
	for _, f := range e.stay {
		err := c.restore(ctx, f.path)
		if err != nil {
			return fmt.Errorf("write a file again: %w", err)
		}
		b.done.Restored++
	}
	return nil
}

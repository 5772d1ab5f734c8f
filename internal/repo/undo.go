package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"rookery/internal/fault"
	"rookery/internal/vault"
)

// A Reversal is what undoes a commit: each file that it changed, as it was before.
type Reversal struct {
	Of *Commit

	was  map[string]Note   // by path; Deleted where there was no file
	gone map[string]bool   // the paths that the commit took away
	late map[string]uint64 // of these, the last commit that changed them since, up to seen
	seen uint64
}

// Reversal looks up what undoes a commit. It does not change any more, so it is looked up before the
// call takes its turn. A version without files to put back is INVALID_VALUE.
func (v *Vault) Reversal(ctx context.Context, version uint64) (*Reversal, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, nothingToUndo(version)
	}
	c, err := v.Commit(ctx, version)
	if err != nil {
		return nil, err
	}
	c.Notes = slices.DeleteFunc(c.Notes, func(n Note) bool { return n.Erased })
	if len(c.Notes) == 0 || len(c.erases()) > 0 {
		return nil, nothingToUndo(version)
	}
	r := &Reversal{
		Of: c, was: map[string]Note{}, gone: map[string]bool{}, late: map[string]uint64{},
		seen: head.Version(),
	}
	if err := r.lookBack(ctx, v); err != nil {
		return nil, err
	}
	if err := r.date(ctx, v); err != nil {
		return nil, err
	}
	return r, r.follow(ctx, v, version+1, r.seen)
}

// nothingToUndo is the fault of a version that changed no file.
func nothingToUndo(version uint64) error {
	return fault.New(fault.InvalidValue, "%s changed no file: there is nothing to undo",
		Version(version)).With("argument", "version")
}

// lookBack finds what each file was before the commit: what the commit that changed it before made of
// it. Many files may have been changed by one commit, which is read once.
func (r *Reversal) lookBack(ctx context.Context, v *Vault) error {
	notes := slices.SortedFunc(slices.Values(r.Of.Notes), func(a, b Note) int {
		return cmp.Compare(a.Prev, b.Prev)
	})
	var before *Commit
	for _, n := range notes {
		r.was[n.Path] = Note{Path: n.Path, Deleted: true}
		if n.Deleted {
			r.gone[n.Path] = true
		}
		if n.Prev == 0 {
			continue
		}
		if before == nil || before.Seq != n.Prev {
			var err error
			if before, err = v.log.commit(ctx, n.Prev); err != nil {
				return err
			}
		}
		was, ok := before.note(n.Path)
		if !ok {
			return damaged(n.Prev, fmt.Errorf("commit %d is none of the file's", n.Prev))
		}
		r.was[n.Path] = Note{
			Path: n.Path, Deleted: was.Deleted, Text: was.Text, Traits: was.Traits,
		}
	}
	return nil
}

// date finds the times of the notes that return. Only the state before the commit has them.
func (r *Reversal) date(ctx context.Context, v *Vault) error {
	for path := range r.gone {
		was := r.was[path]
		if was.Deleted || vault.Path(path).Kind() != vault.KindNote {
			continue
		}
		idx, err := v.At(ctx, r.Of.Seq-1)
		if err != nil {
			return err
		}
		if n, ok := idx.Note(path); ok {
			was.Past = n.Past()
			r.was[path] = was
		}
	}
	return nil
}

// follow takes notice of the commits, from one to another, that changed what the commit took away: a
// file that was made and deleted again since leaves no other sign.
func (r *Reversal) follow(ctx context.Context, v *Vault, from, to uint64) error {
	if len(r.gone) == 0 || from > to {
		return nil
	}
	for c, err := range v.log.Commits(ctx, from) {
		if err != nil {
			return err
		}
		if c.Seq > to {
			return nil
		}
		r.notice(c)
	}
	return nil
}

// notice takes notice of one commit.
func (r *Reversal) notice(c *Commit) {
	for _, n := range c.Notes {
		if r.gone[n.Path] {
			r.late[n.Path] = c.Seq
		}
	}
}

// Reverse stages what undoes a commit. It is CONFLICT if any file of it has changed since.
func (tx *Tx) Reverse(ctx context.Context, r *Reversal) error {
	now := *r
	now.late = map[string]uint64{}
	for path, seq := range r.late {
		now.late[path] = seq
	}
	if err := now.follow(ctx, tx.v, r.seen+1, tx.at.Run-1); err != nil {
		return err
	}
	for _, earlier := range tx.earlier {
		now.notice(&earlier.commit)
	}
	if err := now.unchanged(tx); err != nil {
		return err
	}
	for _, n := range r.Of.Notes { // first what goes: it may be in the way of what comes
		if err := tx.takeAway(ctx, r, n); err != nil {
			return err
		}
	}
	for _, n := range r.Of.Notes {
		if err := tx.putBack(ctx, r, n); err != nil {
			return err
		}
	}
	if len(tx.commit.Notes) == 0 {
		return nothingToUndo(r.Of.Seq)
	}
	return nil
}

// takeAway stages that a file goes, if there was none before the commit. Who tidied the trash by hand,
// or edited what lies there, is not in the way: such a file is left as it is.
func (tx *Tx) takeAway(ctx context.Context, r *Reversal, n Note) error {
	if !r.was[n.Path].Deleted {
		return nil
	}
	err := tx.Remove(ctx, vault.Path(n.Path))
	if strings.HasPrefix(n.Path, vault.Trash) && fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// putBack stages that a file is as it was before the commit, if there was one.
func (tx *Tx) putBack(ctx context.Context, r *Reversal, n Note) error {
	was, path := r.was[n.Path], vault.Path(n.Path)
	if was.Deleted {
		return nil
	}
	if !tx.mayHave(was.Traits, r) {
		was.Traits = nil
	}
	if n.Deleted {
		return tx.Return(ctx, path, was, r.Of.Seq)
	}
	return tx.PutTraits(ctx, path, was.Text, was.Traits)
}

// mayHave reports whether no trait of another file has one of these ids by now.
func (tx *Tx) mayHave(ids []string, r *Reversal) bool {
	for _, id := range ids {
		holder, _ := tx.Before().Trait(id)
		if holder == nil {
			continue
		}
		if _, changes := r.was[holder.Note.Path]; !changes {
			return false
		}
	}
	return true
}

// A changedSince is a file that a commit changed and that another has changed since.
type changedSince struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // empty: it is gone
}

// maxChanged is how many files a conflict names.
const maxChanged = 50

// unchanged is a fault if a file is not as the commit left it.
func (r *Reversal) unchanged(tx *Tx) error {
	var changed []changedSince
	latest := uint64(0)
	for _, n := range r.Of.Notes {
		f, exists := tx.Before().File(n.Path)
		seq := r.late[n.Path] // 0: nobody knows of a change
		if exists {
			seq = f.Version
		}
		asLeft := exists && seq == r.Of.Seq
		if n.Deleted {
			asLeft = !exists && seq == 0
		}
		if asLeft {
			continue
		}
		c := changedSince{Path: n.Path}
		if seq > 0 {
			c.Version = Version(seq)
		}
		changed, latest = append(changed, c), max(latest, seq)
	}
	if len(changed) == 0 {
		return nil
	}
	return conflictSince(r.Of.Seq, changed, cmp.Or(latest, tx.Before().Version()))
}

// conflictSince is the fault of a commit that cannot be undone, because files were changed since.
func conflictSince(version uint64, changed []changedSince, latest uint64) error {
	first, others := changed[0], ""
	if n := len(changed) - 1; n > 0 {
		others = fmt.Sprintf(" and %d more", n)
	}
	f := fault.New(fault.Conflict, "%s%s changed after %s, or went: undo what came later first",
		first.Path, others, Version(version)).
		With("changed", changed[:min(len(changed), maxChanged)]).
		With("changed_total", len(changed)).With("latest_version", Version(latest))
	if first.Version != "" {
		f = f.Fix("rookery undo %s", first.Version)
	}
	return f
}

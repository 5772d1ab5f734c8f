package repo

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Obstacles describes why a commit cannot be undone.
type Obstacles struct {
	Changed []vault.Path // files that are not as the commit left them

	// Since are the commits that changed these files later, newest first: those on the way from the
	// current files back to the commit, as far as the history of the files goes.
	Since []*eventlog.Commit

	// First are the commits that must be undone first, in this order, so that the commit can be
	// undone. It is empty if there is no such list, or if it has more than maxFirst commits.
	First []*eventlog.Commit
}

const (
	// maxSince is how many changes are read to find the obstacles.
	maxSince = 1000

	// maxFirst is the largest number of commits in Obstacles.First.
	maxFirst = 10
)

// Obstacles returns why a commit cannot be undone. isUndo reports whether a commit is an undo; such
// commits are never in Obstacles.First, because undoing them would redo a change. For files that no
// longer exist it reads the log backward to the commit. It changes nothing.
func (v *Vault) Obstacles(
	ctx context.Context, r *Reversal, isUndo func(*eventlog.Commit) bool,
) (Obstacles, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return Obstacles{}, err
	}
	w := &way{v: v, of: r, head: head, isUndo: isUndo, now: map[string]contents{},
		steps: map[string][]step{}}
	changed, err := w.changed(ctx)
	if err != nil {
		return Obstacles{}, err
	}
	if err := w.follow(ctx, changed); err != nil {
		return Obstacles{}, err
	}
	o := Obstacles{Changed: pathsIn(changed), Since: w.since(changed)}
	o.First, err = w.first(ctx)
	return o, err
}

// A contents identifies a text by its digest, or represents a missing file.
type contents struct {
	absent bool
	digest index.Digest
}

// contentsOf returns the contents of the file after a note.
func contentsOf(n eventlog.Note) contents {
	if n.Deleted {
		return contents{absent: true}
	}
	return contents{digest: index.DigestOf(n.Text)}
}

// A step is a change of a file after the commit to be undone.
type step struct {
	by    *eventlog.Commit // the commit that made the change
	made  contents         // the contents after it
	prev  uint64           // the commit that changed the file before
	moved bool             // the change moved the file here
}

// A way traces the files from their current contents back to those that a commit gave them.
//
// First follow reads the later changes of these files. Then first simulates undos: as long as some
// file differs from the contents that the commit gave it, it takes the newest of the commits that
// made these contents, checks that the commit itself could be undone, and puts the contents before
// it into now. Contents are compared by their digests.
type way struct {
	// of is the commit to be undone, and head the index that its undo would be based on.
	v      *Vault
	of     *Reversal
	head   *index.Index
	isUndo func(*eventlog.Commit) bool

	now   map[string]contents // current contents by path, after the simulated undos
	steps map[string][]step   // by path, newest first
	read  int                 // number of steps read
}

// contents returns the contents of a file after the undos simulated so far.
func (w *way) contents(ctx context.Context, path string) (contents, error) {
	if c, ok := w.now[path]; ok {
		return c, nil
	}
	c := contents{absent: true}
	if f, ok := w.head.File(path); ok {
		text, err := w.v.Text(ctx, f.Body)
		if err != nil {
			return c, err
		}
		c = contentsOf(eventlog.Note{Text: text})
	}
	w.now[path] = c
	return c, nil
}

// changed returns the notes of the commit whose files now have other contents, after the simulated
// undos.
func (w *way) changed(ctx context.Context) ([]eventlog.Note, error) {
	var all []eventlog.Note
	for _, n := range w.of.Of.Notes {
		c, err := w.contents(ctx, n.Path)
		if err != nil {
			return nil, err
		}
		if c != contentsOf(n) {
			all = append(all, n)
		}
	}
	return all, nil
}

// follow reads the later changes of some files, at most maxSince of them.
func (w *way) follow(ctx context.Context, changed []eventlog.Note) error {
	from, err := w.newest(ctx, changed)
	if err != nil {
		return err
	}
	return w.v.Trail(ctx, from, func(path string, r Revision) bool {
		if r.Seq <= w.of.Of.Seq || w.read == maxSince {
			return false
		}
		w.read++
		w.steps[path] = append(w.steps[path], step{
			by: r.Commit, made: contentsOf(r.Note), prev: r.Prev, moved: r.From != "",
		})
		return r.Prev > w.of.Of.Seq
	})
}

// since returns the commits that gave the files other contents, newest first. Commits that only
// recorded an outside edit, without changing the text, are omitted.
func (w *way) since(changed []eventlog.Note) []*eventlog.Commit {
	all := map[uint64]*eventlog.Commit{}
	for _, n := range changed {
		steps := w.steps[n.Path]
		for i, s := range steps {
			older := contentsOf(n)
			if i+1 < len(steps) {
				older = steps[i+1].made
			}
			if s.made != older {
				all[s.by.Seq] = s.by
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *eventlog.Commit) int {
		return cmp.Compare(b.Seq, a.Seq)
	})
}

// newest returns the last commit that changed each of some files. For files that no longer exist,
// it reads the log backward.
func (w *way) newest(ctx context.Context, changed []eventlog.Note) (map[string]uint64, error) {
	from, gone := map[string]uint64{}, map[string]bool{}
	for _, n := range changed {
		if f, ok := w.head.File(n.Path); ok {
			from[n.Path] = f.Version
		} else {
			gone[n.Path] = true
		}
	}
	if len(gone) == 0 {
		return from, nil
	}
	for c, err := range w.v.Back(ctx, w.head.Version(), math.MaxInt) {
		if err != nil {
			return nil, err
		}
		if c.Seq <= w.of.Of.Seq || len(gone) == 0 {
			break
		}
		for _, n := range c.Notes {
			if gone[n.Path] {
				from[n.Path] = c.Seq
				delete(gone, n.Path)
			}
		}
	}
	return from, nil
}

// first returns the commits to undo before the commit can be undone; nil if there is no such list.
// For each file it chooses the oldest change that made its current contents, so that a later change
// and its undo are ignored.
func (w *way) first(ctx context.Context) ([]*eventlog.Commit, error) {
	var undone []*eventlog.Commit
	for {
		changed, err := w.changed(ctx)
		if err != nil || len(changed) == 0 {
			return undone, err
		}
		next := w.next(changed)
		if next == nil || w.isUndo(next) || slices.Contains(undone, next) ||
			len(undone) == maxFirst {
			return nil, nil
		}
		if ok, err := w.undo(ctx, next); err != nil || !ok {
			return nil, err
		}
		undone = append(undone, next)
	}
}

// next returns the newest of the commits that made the current contents of some files; nil if one
// of them is not known.
func (w *way) next(changed []eventlog.Note) *eventlog.Commit {
	var newest *eventlog.Commit
	for _, n := range changed {
		made := w.maker(n)
		if made == nil {
			return nil
		}
		if newest == nil || made.Seq > newest.Seq {
			newest = made
		}
	}
	return newest
}

// maker returns the oldest commit since then that made the current contents of a file; nil if the
// history of the file does not lead back to the commit.
func (w *way) maker(n eventlog.Note) *eventlog.Commit {
	steps, of := w.steps[n.Path], w.of.Of.Seq
	if len(steps) == 0 {
		return nil
	}
	oldest := steps[len(steps)-1]
	if oldest.prev != of && (!n.Deleted || oldest.prev >= of) { // it was created again where there was none
		return nil
	}
	for _, s := range slices.Backward(steps) {
		// Undoing a move is not simulated.
		if s.moved {
			return nil
		}
		if s.made == w.now[n.Path] {
			return s.by
		}
	}
	return nil
}

// undo simulates the undo of a commit, and reports whether the undo would succeed. It does not
// simulate checks that depend on the caller or the settings, such as protected paths and limits.
func (w *way) undo(ctx context.Context, c *eventlog.Commit) (bool, error) {
	r, err := w.v.reversal(ctx, c)
	switch {
	case fault.Is(err, fault.InvalidValue): // an erasing commit
		return false, nil
	case err != nil:
		return false, err
	case len(r.was) != len(c.Notes): // a part of it was erased
		return false, nil
	}
	for _, n := range c.Notes {
		if now, err := w.contents(ctx, n.Path); err != nil || now != contentsOf(n) {
			return false, err
		}
	}
	for path, was := range r.was {
		w.now[path] = contentsOf(was)
	}
	return true, nil
}

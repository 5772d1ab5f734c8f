package repo

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// Obstacles are why a commit cannot be undone.
type Obstacles struct {
	Changed []vault.Path // the files that are not as the commit left them

	// Since are the commits that changed its files since, newest first: those that lead from the files as
	// they are now back to the commit, as far as the history of the files goes.
	Since []*Commit

	// First are the commits to undo, in this order, after which the commit can be undone. It is empty
	// where there are none, or more than a few.
	First []*Commit
}

const (
	// maxSince is how many changes are looked at to find out why a commit cannot be undone.
	maxSince = 1000

	// maxFirst is how many commits there are to undo first, at most.
	maxFirst = 10
)

// Obstacles finds out why a commit cannot be undone. isUndo reports whether a commit is an undo itself: none
// is among those to undo first, since undoing it would do a change again.
func (v *Vault) Obstacles(
	ctx context.Context, r *Reversal, isUndo func(*Commit) bool,
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

// contents is a text by its digest, or that there is no file.
type contents struct {
	absent bool
	digest index.Digest
}

func contentsOf(n Note) contents {
	if n.Deleted {
		return contents{absent: true}
	}
	return contents{digest: index.DigestOf(n.Text)}
}

// A step is a change of a file after the commit that is to be undone.
type step struct {
	by    *Commit
	made  contents
	prev  uint64
	moved bool
}

// A way leads from the files as they are now back to what a commit made of them.
type way struct {
	v      *Vault
	of     *Reversal
	head   *index.Index
	isUndo func(*Commit) bool

	now   map[string]contents // of the files that were looked at, after the undos so far
	steps map[string][]step   // of each file that changed, newest first
	read  int                 // steps
}

// contents are those of a file after the undos so far.
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
		c = contentsOf(Note{Text: text})
	}
	w.now[path] = c
	return c, nil
}

// changed are the files that are not as the commit left them, after the undos so far.
func (w *way) changed(ctx context.Context) ([]Note, error) {
	var all []Note
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

// follow goes back through what was done to some files since the commit.
func (w *way) follow(ctx context.Context, changed []Note) error {
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

// since are the commits that gave the files other contents, newest first. A commit that only took note of
// what somebody had put into a file is none of them.
func (w *way) since(changed []Note) []*Commit {
	all := map[uint64]*Commit{}
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
	return slices.SortedFunc(maps.Values(all), func(a, b *Commit) int {
		return cmp.Compare(b.Seq, a.Seq)
	})
}

// newest are the commits that changed some files last. The index does not have those of files that are
// gone: they are looked for from the end of the log.
func (w *way) newest(ctx context.Context, changed []Note) (map[string]uint64, error) {
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

// first are the commits to undo before the commit can be; none if there is no such way. It goes from each
// file's contents to the oldest change that made the same ones, so that whatever a later change and its
// undo did is left alone.
func (w *way) first(ctx context.Context) ([]*Commit, error) {
	var undone []*Commit
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

// next is the newest of the commits that made what some files are now; nil if one is not known.
func (w *way) next(changed []Note) *Commit {
	var newest *Commit
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

// maker is the oldest commit since that made what a file is now; nil if the history of the file does not
// lead back to the commit.
func (w *way) maker(n Note) *Commit {
	steps, of := w.steps[n.Path], w.of.Of.Seq
	if len(steps) == 0 {
		return nil
	}
	oldest := steps[len(steps)-1]
	if oldest.prev != of && (!n.Deleted || oldest.prev >= of) { // made again where there was none
		return nil
	}
	for _, s := range slices.Backward(steps) {
		if s.moved {
			return nil
		}
		if s.made == w.now[n.Path] {
			return s.by
		}
	}
	return nil
}

// undo does to the contents what the undo of a commit would do to the files, and reports whether it could.
func (w *way) undo(ctx context.Context, c *Commit) (bool, error) {
	r, err := w.v.reversal(ctx, c)
	switch {
	case fault.Is(err, fault.InvalidValue): // it erased something
		return false, nil
	case err != nil:
		return false, err
	case len(r.was) != len(c.Notes): // something of it was erased
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

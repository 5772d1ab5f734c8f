package checkout

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// An outside holds what is known of changes by others that are not in the log. Checkout.mu guards it.
type outside struct {
	edits     map[string]*edit         // by path
	read      map[string]bool          // by path: what was there, or that it is gone, is about to be taken in
	left      map[string]repo.LeftFile // what cannot be taken in, by the name that it has in the folder
	held      *repo.Held               // the batch that waits for a word
	less      bool                     // some of it has changed since, or is as the log says again
	resumes   bool                     // it is the one that waited when the last process ended
	keys      map[string]string        // by path: the name in the folder, where that is spelled otherwise
	seen      map[string]sight         // by path: what a file had when it was read last
	removed   time.Time                // when a file was last removed, found as it was once, or put back
	streak    streak                   // of removals, for the guard
	noticed   time.Time                // when one was noticed last, by the vault's clock
	swept     *repo.Sweep              // what the last sweep found; nil: there was none in this process
	unwatched repo.Unwatched           // why changes may not be noticed at once
	news      bool                     // the control item does not say so yet
	learned   bool                     // seen has what the last process did not know
	lags      map[string]*lag          // by path
	named     int                      // how many files of each kind the control item names
	unnamed   *lag                     // of any file, if the last process had more than it could name
}

// An edit is a file that somebody changed, and whose change is not in the log.
type edit struct {
	before *index.File // what the file had been when it was noticed; nil: there was none
	mark   string      // how it looked when it was looked at last; empty: it was gone
	since  time.Time   // when it was seen to change first, of what is not in the log
	at     time.Time   // when it was last seen to change
	first  time.Time   // when the file was changed first, as far as that was seen
	met    time.Time   // when it was noticed first
	again  time.Time   // it was not synced, and is tried again then; zero: it was not tried
	joins  bool        // it waits as removals do, though the file is there
	to     string      // the path that the same file has now, but for case; it is gone by this name
	upTo   uint64      // the file had nothing of the log that is newer than this version; 0: than before
	held   bool
}

// A sight is what was in a file that looked like this.
type sight struct {
	mark   string
	digest index.Digest
	why    repo.Reason // it cannot be taken in; empty: it can
}

func newOutside(named int) outside {
	return outside{
		named: named,
		edits: map[string]*edit{}, left: map[string]repo.LeftFile{}, keys: map[string]string{},
		seen: map[string]sight{}, read: map[string]bool{}, lags: map[string]*lag{},
	}
}

// heldBefore takes up what waited for a word when the last process ended; nil: nothing did.
func (o *outside) heldBefore(held *repo.Held) {
	o.held, o.less, o.resumes = held, held != nil, held != nil
}

// differs notes that a file is not what it should be. at is when it changed. The caller holds mu.
func (c *Checkout) differs(path string, now edit) {
	o := &c.outside
	e := o.edits[path]
	switch {
	case e == nil:
		now.first, now.since, now.met = now.at, now.at, time.Now()
		e = &now
		o.edits[path] = e
		o.noticed, o.news = c.now().UTC(), true
	case e.mark == now.mark && e.to == now.to:
		return
	default:
		put := e.withRemovals() // it is put back
		e.mark, e.to, e.at, e.joins = now.mark, now.to, now.at, false
		if now.at.Before(e.first) {
			e.first = now.at
		}
		o.less = o.less || e.held
		if put || e.held {
			o.removed = later(o.removed, now.at)
		}
	}
	if e.withRemovals() {
		o.removed = later(o.removed, now.at)
	}
	c.stir()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// agrees notes that a file is as the log says. The caller holds mu.
func (c *Checkout) agrees(path string) {
	c.drop(path)
	c.catchesUp(path)
	c.mayStay(c.key(path))
}

// drop forgets an edit, for there is none any more. Other removals wait for that too: more files may be
// put back. The caller holds mu.
func (c *Checkout) drop(path string) {
	o := &c.outside
	e, ok := o.edits[path]
	if !ok {
		return
	}
	delete(o.edits, path)
	o.news = true
	if e.held || e.withRemovals() {
		o.removed = time.Now()
	}
	if e.held {
		o.less = true
		c.stir()
	}
}

// leave notes that a file cannot be taken in, and stays as it is. The caller holds mu.
func (c *Checkout) leave(f repo.LeftFile) {
	if c.outside.left[f.Path] == f {
		return
	}
	c.outside.left[f.Path] = f
	c.outside.news = true
	if f.Why != repo.LeftTwin { // the file of the note is another
		c.unread.Store(vault.CleanPath(f.Path), f)
	}
	c.log.Warn("a file in the folder cannot be synced; it remains unchanged",
		slog.String("vault", c.vault.Name), slog.String("why", string(f.Why)))
}

// mayStay notes that nothing is wrong with a file any more. The caller holds mu.
func (c *Checkout) mayStay(key string) {
	if _, ok := c.outside.left[key]; ok {
		delete(c.outside.left, key)
		c.outside.news = true
		c.unread.Delete(vault.CleanPath(key))
	}
}

// tell writes what is known to the control item, where every answer can read it. What cannot be
// written now is told by the next save. The caller holds mu.
func (c *Checkout) tell(ctx context.Context) {
	o := &c.outside
	if !o.news || c.ended {
		return
	}
	noticed, left, held, swept := o.told(), o.leftovers(), o.held, o.swept
	late, unwatched := o.late(), o.unwatched
	err := c.vault.Change(ctx, func(control *repo.Control) bool {
		same := sameNoticed(control.Noticed, noticed) && sameLeft(control.Left, left) &&
			sameHeld(control.Held, held) && sameLate(control.Late, late) && control.Unwatched == unwatched &&
			(swept == nil || sameSweep(control.Sweep, swept))
		control.Noticed, control.Left, control.Held, control.Late = noticed, left, held, late
		control.Unwatched = unwatched
		if swept != nil && !sameSweep(control.Sweep, swept) {
			control.Sweep = swept
		}
		return !same
	})
	if err != nil {
		c.complain(ctx, err)
		return
	}
	o.news = false
}

// told is what the control item is to say of edits; nil if there is nothing to tell.
func (o *outside) told() *repo.Noticed {
	var paths []string
	for path, e := range o.edits {
		if !e.held {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return &repo.Noticed{At: o.noticed, Paths: o.first(paths), Count: len(paths)}
}

// leftovers is what the control item is to say of files that cannot be taken in.
func (o *outside) leftovers() *repo.Left {
	if len(o.left) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(o.left), func(a, b repo.LeftFile) int {
		return strings.Compare(a.Path, b.Path)
	})
	left := &repo.Left{Files: all[:min(len(all), o.named)], Count: len(all)}
	for _, f := range all {
		if f.Why == repo.LeftTwin {
			left.Twins++
		}
	}
	return left
}

// first is the first of some paths, by name: as many as the control item names.
func (o *outside) first(paths []string) []string {
	slices.Sort(paths)
	return paths[:min(len(paths), o.named)]
}

func sameNoticed(a, b *repo.Noticed) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Paths, b.Paths)
}

func sameLeft(a, b *repo.Left) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Files, b.Files)
}

func sameHeld(a, b *repo.Held) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Removed == b.Removed && a.Reverted == b.Reverted && a.Changed == b.Changed &&
		a.Created == b.Created && a.Moved == b.Moved && slices.Equal(a.Paths, b.Paths) &&
		slices.Equal(a.Going, b.Going)
}

// sameSweep reports whether two sweeps found the same, of the same version.
func sameSweep(a, b *repo.Sweep) bool {
	return a != nil && a.Version == b.Version && a.Count == b.Count && a.Missed == b.Missed &&
		slices.Equal(a.Edited, b.Edited) && slices.Equal(a.Missing, b.Missing)
}

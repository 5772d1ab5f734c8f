package checkout

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A pendingEdits is the set of known outside edits that are not in the log, with everything else
// that is known about the folder and not about the vault. Checkout.mu guards it. publishEdits
// copies the part that callers of tools must know to the control item, if dirty is set.
type pendingEdits struct {
	edits           map[string]*edit         // by path
	read            map[string]bool          // by path: its text, or its removal, is about to be ingested
	skipped         map[string]repo.LeftFile // skipped files, by their names in the folder
	held            *repo.Held               // the batch that needs confirmation; nil if there is none
	heldChanged     bool                     // some of its edits have changed since, or are gone
	heldBeforeStart bool                     // it needed confirmation when the last process ended
	keys            map[string]string        // by path: the name in the folder, if that has another spelling
	seen            map[string]sight         // by path: the content of a file when it was last read
	removed         time.Time                // when a file was last removed, reverted or put back
	streak          streak                   // of removals, for the guard
	noticed         time.Time                // when an edit was last noticed, by the vault's clock
	swept           *repo.Sweep              // the result of the last sweep; nil if this process has made none
	unwatched       repo.Unwatched           // the reason why changes may be noticed late
	dirty           bool                     // the control item is out of date
	seenDirty       bool                     // seen contains more than the last process stored
	lags            map[string]*lag          // by path
	named           int                      // number of files of each kind that the control item names
	unnamed         *lag                     // applies to every file, if the last process had more lags than it could name
}

// An edit is an outside edit of a file that is not in the log: a change, a new file or a removal.
// It is created when a difference is first noticed, updated when the file changes again, and
// dropped when the file and the log are equal, whichever of the two was changed. Its text is not
// kept; it is read when the edit is ingested.
//
// Its times have different purposes. first is when the person began, as the file system reports it;
// it decides which texts of the log an editor has seen. since and at bound the wait of the edit: it
// is due debounce after at, but not later than longest after since. met is when this process
// noticed the edit, so that an edit that is found late is not overdue at once. They have monotonic
// clock readings, so that a change of the system clock does not delay an ingest.
type edit struct {
	before      *index.File // the state of the file in the log when the edit was noticed; nil: there was none
	mark        string      // how the file looked when it was last examined; empty: it was gone
	size        int64       // bytes of the file when the edit was noticed
	since       time.Time   // when its first change was seen that is not in the log
	at          time.Time   // when its last change was seen
	first       time.Time   // when the file first changed, as far as that was seen
	noticed     time.Time   // when the edit was first noticed
	retryAt     time.Time   // an ingest failed, and is repeated then; zero: there was none
	withRemoval bool        // it waits as removals do, although the file exists
	to          string      // the present path of the same file, which differs by case; it is gone at this path
	upTo        uint64      // the file contained no version of the log later than this; 0: than that of before
	held        bool
}

// A sight is the content of a file with a certain mark, as a digest. The zero value means that
// nothing is known. A mark is opaque; two equal marks of one file mean that it was not changed
// between them, as far as the file system can show.
type sight struct {
	mark   string
	digest index.Digest
	why    repo.Reason // why it is skipped; empty if it is not
}

// newPendingEdits returns an empty set. named is the number of files of each kind that the control
// item names.
func newPendingEdits(named int) pendingEdits {
	return pendingEdits{
		named: named,
		edits: map[string]*edit{}, skipped: map[string]repo.LeftFile{}, keys: map[string]string{},
		seen: map[string]sight{}, read: map[string]bool{}, lags: map[string]*lag{},
	}
}

// heldBefore loads the batch that needed confirmation when the last process ended; nil: there was
// none.
func (o *pendingEdits) heldBefore(held *repo.Held) {
	o.held, o.heldChanged, o.heldBeforeStart = held, held != nil, held != nil
}

// recordEdit records that a file is not as in the log, and wakes the reconciler. now.at is when the
// file changed. If the edit is known and looks the same, nothing changes, so that examining a file
// again does not delay its ingest. If it looks different, its wait starts again, and a held batch
// that it belongs to is examined again. The caller holds mu.
func (c *Checkout) recordEdit(path string, now edit) {
	o := &c.pending
	e := o.edits[path]
	switch {
	case e == nil:
		now.first, now.since, now.noticed = now.at, now.at, time.Now()
		e = &now
		o.edits[path] = e
		o.noticed, o.dirty = c.now().UTC(), true
	case e.mark == now.mark && e.to == now.to:
		return
	default:
		put := e.withRemovals() // the file is put back
		e.mark, e.to, e.at, e.withRemoval = now.mark, now.to, now.at, false
		if now.at.Before(e.first) {
			e.first = now.at
		}
		o.heldChanged = o.heldChanged || e.held
		if put || e.held {
			o.removed = later(o.removed, now.at)
		}
	}
	if e.withRemovals() {
		o.removed = later(o.removed, now.at)
	}
	c.wakeReconciler()
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// recordEqual records that a file is as in the log. The caller holds mu.
func (c *Checkout) recordEqual(path string) {
	c.drop(path)
	c.markCurrent(path)
	c.forgetSkipped(c.key(path))
}

// drop removes an edit that no longer exists; it does nothing if there is none at the path. Other
// removals wait again, because more files may be put back: a person who undoes a removal, or a
// program that moves files back, should not see half of it ingested. The caller holds mu.
func (c *Checkout) drop(path string) {
	o := &c.pending
	e, ok := o.edits[path]
	if !ok {
		return
	}
	delete(o.edits, path)
	o.dirty = true
	if e.held || e.withRemovals() {
		o.removed = time.Now()
	}
	if e.held {
		o.heldChanged = true
		c.wakeReconciler()
	}
}

// recordSkipped records that a file is skipped, and logs it, without its name. It does nothing if
// the file is already recorded with the same reason. The listing of a running sweep may be from
// before, so the sweep gets the file too. The caller holds mu.
func (c *Checkout) recordSkipped(f repo.LeftFile) {
	if c.running != nil {
		c.running.skipped[f.Path] = f
	}
	if c.pending.skipped[f.Path] == f {
		return
	}
	c.pending.skipped[f.Path] = f
	c.pending.dirty = true
	if f.Why != repo.LeftTwin { // with LeftTwin, the file of the note is the other one
		c.unread.Store(vault.CleanPath(f.Path), f)
	}
	c.log.Warn("a file in the folder cannot be synced; it remains unchanged",
		slog.String("vault", c.vault.Name), slog.String("why", string(f.Why)))
}

// forgetSkipped records that a file is no longer skipped, also for a running sweep. The caller holds
// mu.
func (c *Checkout) forgetSkipped(key string) {
	if c.running != nil {
		delete(c.running.skipped, key)
	}
	if _, ok := c.pending.skipped[key]; ok {
		delete(c.pending.skipped, key)
		c.pending.dirty = true
		c.unread.Delete(vault.CleanPath(key))
	}
}

// publishEdits writes the known edits to the control item, where every answer can read them, also
// those of other processes. It writes only if something changed. If that fails, the next save
// repeats it. The caller holds mu.
func (c *Checkout) publishEdits(ctx context.Context) {
	o := &c.pending
	if !o.dirty || c.ended {
		return
	}
	noticed, left, held, swept := o.forControl(), o.leftovers(), o.held, o.swept
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
		c.logSyncError(ctx, err)
		return
	}
	o.dirty = false
}

// forControl returns the edits for the control item; nil if there are none.
func (o *pendingEdits) forControl() *repo.Noticed {
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

// leftovers returns the skipped files for the control item; nil if there are none.
func (o *pendingEdits) leftovers() *repo.Left {
	if len(o.skipped) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(o.skipped), func(a, b repo.LeftFile) int {
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

// first returns the first of some paths in alphabetical order: as many as the control item names.
// It sorts paths.
func (o *pendingEdits) first(paths []string) []string {
	slices.Sort(paths)
	return paths[:min(len(paths), o.named)]
}

// sameNoticed reports whether the control item would say the same about two sets of edits.
func sameNoticed(a, b *repo.Noticed) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Paths, b.Paths)
}

// sameLeft reports whether the control item would say the same about two sets of skipped files.
func sameLeft(a, b *repo.Left) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Files, b.Files)
}

// sameHeld reports whether the control item would say the same about two held batches.
func sameHeld(a, b *repo.Held) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Removed == b.Removed && a.Reverted == b.Reverted && a.Changed == b.Changed &&
		a.Created == b.Created && a.Moved == b.Moved && slices.Equal(a.Paths, b.Paths) &&
		slices.Equal(a.Going, b.Going)
}

// sameSweep reports whether two sweeps of the same version had the same result.
func sameSweep(a, b *repo.Sweep) bool {
	return a != nil && a.Version == b.Version && a.Count == b.Count && a.Missed == b.Missed &&
		slices.Equal(a.Edited, b.Edited) && slices.Equal(a.Missing, b.Missing)
}

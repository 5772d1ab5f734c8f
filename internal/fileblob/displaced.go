package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"rookery/internal/blob"
)

// A Displaced is a text that somebody saved at a key and that is there no more, though nobody who
// wrote through the Bucket had been told to replace it. It comes about
//
//   - when the process is killed between an exchange and the comparison of what it displaced,
//   - when an editor writes into a file that it had opened before the file was displaced,
//   - when somebody saves twice within the moment that an exchange takes: this is the earlier save.
//
// Whoever owns the key merges the text, or finds that it is an old one after all, and settles it.
type Displaced struct {
	Key     string
	Data    []byte
	Foreign bool // it is no plain file, and has no Data

	name asideName
}

// keepFor is how long a displaced file is kept for an editor that may still write into it.
const keepFor = time.Minute

// Displaced yields the displaced texts that are still to be settled, in no order. It ends with the
// first error.
func (b *Bucket) Displaced(ctx context.Context) iter.Seq2[Displaced, error] {
	return func(yield func(Displaced, error) bool) {
		names, err := b.asides(ctx)
		if err != nil {
			yield(Displaced{}, fmt.Errorf("list displaced files: %w", err))
			return
		}
		for _, n := range names {
			d, lost, err := b.examine(n)
			if err != nil {
				yield(Displaced{}, fmt.Errorf("read what was displaced at %s: %w", n.key, err))
				return
			}
			if lost && !yield(d, nil) {
				return
			}
		}
	}
}

// Settle removes a displaced text that has been taken care of. If it was written to since Displaced
// yielded it, it stays, and the error is a *blob.Found. One that is gone is settled.
func (b *Bucket) Settle(ctx context.Context, d Displaced) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer b.lock(d.Key)()
	if err := b.settle(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("settle what was displaced at %s: %w", d.Key, err)
	}
	return b.prune(path.Dir(d.name.path()), displacedDir)
}

func (b *Bucket) settle(d Displaced) error {
	a, err := b.openAside(d.name, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	if d.Foreign {
		return a.folder.remove(a.name)
	}
	if _, err := a.expect(tagOf(d.Data)); err != nil {
		return err
	}
	return a.remove()
}

// asides are the names of all displaced files.
func (b *Bucket) asides(ctx context.Context) ([]asideName, error) {
	var names []asideName
	l := lister{ctx, b, func(file string, _ fs.FileInfo) bool {
		if n, ok := parseAside(file); ok {
			names = append(names, n)
		}
		return true
	}}
	return names, l.folder(displacedDir, "")
}

// examine reads a displaced file, and reports whether it is somebody's loss.
func (b *Bucket) examine(n asideName) (d Displaced, lost bool, err error) {
	defer b.lock(n.key)()
	d = Displaced{Key: n.key, name: n}
	a, err := b.openAside(n, walk{})
	if err == nil {
		defer a.close()
		var found content
		found, err = a.read(0, -1)
		d.Data, lost = found.data, err == nil && !a.known(found.tag)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // an exchange has ended meanwhile
		return d, false, nil
	case errors.Is(err, blob.ErrForeign):
		d.Foreign = true
		return d, true, nil
	}
	return d, lost, err
}

// resume takes up what a killed process left: what it had moved aside goes back where nothing is,
// and everything else will be looked at.
func (b *Bucket) resume() error {
	names, err := b.asides(context.Background())
	if err != nil {
		return err
	}
	b.settled.add(displacedDir) // the process may have been killed before it could sync it
	for _, n := range names {
		b.later.add(n)
		if n.stage != moved {
			continue
		}
		if err := b.putBackNow(n); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) putBackNow(n asideName) error {
	a, err := b.openAside(n, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	err = b.at(n.key, walk{make: true}, a.putBack)
	if errors.Is(err, blob.ErrForeign) {
		return a.rename(settled, "")
	}
	return err
}

// tidy looks at displaced files whose time is over, two at a time, so that what one call displaces
// another has put away. One that cannot be removed now is left to the next Open.
func (b *Bucket) tidy() {
	for range 2 {
		name, ok := b.later.due(time.Now().Add(-b.grace))
		if !ok {
			return
		}
		_ = b.putAway(name)
	}
}

// putAway removes a displaced file that is nobody's loss, and the folders of its name.
func (b *Bucket) putAway(n asideName) error {
	d, lost, err := b.examine(n)
	if err != nil || lost {
		return err
	}
	defer b.lock(n.key)()
	if err := b.settle(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.prune(path.Dir(n.path()), displacedDir)
}

// A queue holds names in the order in which they were added.
type queue struct {
	mu      sync.Mutex
	waiting []waiting
}

type waiting struct {
	name  asideName
	since time.Time
}

func (q *queue) add(n asideName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, waiting{n, time.Now()})
}

// due takes the first name, if it was added before a time.
func (q *queue) due(before time.Time) (asideName, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || !q.waiting[0].since.Before(before) {
		return asideName{}, false
	}
	first := q.waiting[0].name
	q.waiting = q.waiting[1:]
	return first, true
}

// An unsynced is a set of folders.
type unsynced struct {
	mu      sync.Mutex
	folders map[string]bool
}

func (u *unsynced) add(folders ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.folders == nil {
		u.folders = map[string]bool{}
	}
	for _, f := range folders {
		u.folders[f] = true
	}
}

// take empties the set.
func (u *unsynced) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := slices.Collect(maps.Keys(u.folders))
	u.folders = nil
	return taken
}

// syncSettled makes durable that what was moved aside belongs to its key no more. Else the next Open
// after a loss of power would put back what was removed.
func (b *Bucket) syncSettled() error {
	folders := b.settled.take()
	for _, dir := range folders {
		if err := b.syncFolder(dir); err != nil {
			b.settled.add(folders...)
			return err
		}
	}
	return nil
}

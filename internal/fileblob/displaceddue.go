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
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// displacedLife is how long a displaced file is kept for an editor that may still write to it.
const displacedLife = time.Minute

// Due implements blob.Displacer. The time of a displaced file is displacedLife. It starts again if the
// file was modified within the last displacedLife, or if it could not be read. Due may be called every
// few seconds: it looks only at files whose time is over, and at known losses.
func (b *Bucket) Due(ctx context.Context) iter.Seq2[blob.Displaced, error] {
	return func(yield func(blob.Displaced, error) bool) {
		if err := b.examineDue(ctx); err != nil {
			yield(blob.Displaced{}, err)
			return
		}
		for _, n := range b.losses.all() {
			d, lost, err := b.examine(n)
			if err != nil {
				yield(blob.Displaced{}, fmt.Errorf("read what was displaced at %s: %w", n.key, err))
				return
			}
			if !lost {
				b.losses.remove(n)
			} else if !yield(d, nil) {
				return
			}
		}
	}
}

// examineDue examines all displaced files whose time is over.
func (b *Bucket) examineDue(ctx context.Context) error {
	now := time.Now()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, ok := b.later.due(now.Add(-b.grace))
		if !ok {
			return nil
		}
		if err := b.examineAgain(name); err != nil {
			return fmt.Errorf("put away what was displaced at %s: %w", name.key, err)
		}
	}
}

// examineSome examines up to two displaced files whose time is over. Since each exchange calls it, files
// are removed at the rate at which they are displaced even if Due is not called. It is called
// before the key is locked, because it locks the keys of the files that it examines.
func (b *Bucket) examineSome() {
	for range 2 {
		name, ok := b.later.due(time.Now().Add(-b.grace))
		if !ok {
			return
		}
		_ = b.examineAgain(name) // on an error it is examined again later, and Due returns the error
	}
}

// examineAgain removes a displaced file whose time is over if it is not a loss, with the empty folders
// of its name. A loss is recorded, and stays until it is settled. On an error the file waits again.
func (b *Bucket) examineAgain(n displacedPath) error {
	d, lost, err := b.examine(n)
	if err != nil {
		b.later.add(n)
		return err
	}
	if lost {
		b.losses.add(n)
		return nil
	}
	defer b.lock(n.key)()
	if err := b.removeDisplaced(n, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.later.add(n)
		return err
	}
	return b.prune(path.Dir(n.path()))
}

// removeDisplaced removes a displaced file if it still has the contents of d and no editor seems to have it
// open, judged by the time of its last change. In the latter case its time starts again. If the
// contents have changed, the error is a *Found. The caller must hold the lock of the key.
func (b *Bucket) removeDisplaced(n displacedPath, d blob.Displaced) error {
	a, err := b.openDisplaced(n, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	if d.Foreign {
		return a.folder.remove(a.name)
	}
	info, err := a.expect(tagOf(d.Data))
	if found := new(blob.Found); errors.As(err, &found) {
		return errors.Join(err, a.keepChanged(tagOf(d.Data)))
	}
	if err != nil {
		return err
	}
	if time.Since(info.ModTime()).Abs() < b.grace {
		return a.keepLonger(tagOf(d.Data))
	}
	return a.remove()
}

// keepLonger keeps a displaced file that is not a loss for another period. tag is that of its current
// text. If that is not the expected text, because the file was settled with it, the name of the
// file is changed to expect it: the caller has handled this text.
func (a *displacedFile) keepLonger(tag blob.Tag) error {
	if a.known(tag) {
		a.bucket.later.add(a.displacedPath)
		return nil
	}
	n := a.displacedPath
	n.stage, n.want, n.mark = settled, shortTag(tag), ""
	return a.renameTo(n)
}

// keepChanged keeps a displaced file that was written to while the caller handled its text with this
// tag. The file is still a loss, and from now on it had that text. The caller must hold the lock of
// the key.
func (a *displacedFile) keepChanged(tag blob.Tag) error {
	before := a.displacedPath
	if err := a.keepLonger(tag); err != nil {
		return err
	}
	if a.bucket.losses.remove(before) {
		a.bucket.losses.add(a.displacedPath)
	}
	return nil
}

// A queue contains names in the order in which they were added, which is also the order in which
// they are due, because all wait equally long. It is safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting []waiting
}

// A waiting is a name in a queue, with the time from which it waits.
type waiting struct {
	name  displacedPath
	since time.Time
}

// add adds a name that waits from now on.
func (q *queue) add(n displacedPath) {
	n.key = strings.Clone(n.key) // it may share memory with a large object of the caller
	q.addAll(waiting{n, time.Now()})
}

// addAll adds names that may have been waiting before.
func (q *queue) addAll(names ...waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, names...)
}

// due removes and returns the first name if it has been waiting since before a time.
func (q *queue) due(before time.Time) (displacedPath, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || !q.waiting[0].since.Before(before) {
		return displacedPath{}, false
	}
	first := q.waiting[0].name
	q.waiting[0], q.waiting = waiting{}, q.waiting[1:]
	return first, true
}

// A set is a set of values. The zero value is empty. It is safe for concurrent use.
type set[T comparable] struct {
	mu  sync.Mutex
	has map[T]bool
}

// add adds values to the set.
func (s *set[T]) add(all ...T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has == nil {
		s.has = map[T]bool{}
	}
	for _, one := range all {
		s.has[one] = true
	}
}

// remove removes a value from the set, and reports whether the set had it.
func (s *set[T]) remove(one T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.has[one]
	delete(s.has, one)
	return had
}

// all returns the values of the set in no particular order.
func (s *set[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.has))
}

// take returns the elements of the set and empties it.
func (s *set[T]) take() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := slices.Collect(maps.Keys(s.has))
	s.has = nil
	return taken
}

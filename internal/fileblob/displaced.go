package fileblob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Displaced implements blob.Displacer. It reads the directories of displaced files and each file in
// them, so it is for the start of a process and for the doctor; Due is cheap. Files are locked one
// at a time, for as long as they are read.
func (b *Bucket) Displaced(ctx context.Context) iter.Seq2[blob.Displaced, error] {
	return func(yield func(blob.Displaced, error) bool) {
		names, err := b.displacedNames(ctx)
		if err != nil {
			yield(blob.Displaced{}, fmt.Errorf("list displaced files: %w", err))
			return
		}
		for _, n := range names {
			d, lost, err := b.examine(n.name)
			if err != nil {
				err = fmt.Errorf("read what was displaced at %s: %w", n.name.key, err)
				yield(blob.Displaced{}, err)
				return
			}
			if lost && !yield(d, nil) {
				return
			}
		}
	}
}

// Settle implements blob.Displacer. d must be a value that Displaced or Due yielded, with its File.
// It returns an error for any other file.
func (b *Bucket) Settle(ctx context.Context, d blob.Displaced) error {
	if err := b.beginWrite(ctx, d.Key); err != nil {
		return err
	}
	n, ok := parseDisplaced(d.File)
	if !ok || n.key != d.Key {
		return fmt.Errorf("settle what was displaced at %s: it is another file", d.Key)
	}
	defer b.lock(d.Key)()
	if err := b.removeDisplaced(n, d); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("settle what was displaced at %s: %w", d.Key, err)
	}
	b.losses.remove(n)
	return b.prune(path.Dir(n.path()))
}

// displacedNames returns the names of all displaced files, the earliest displaced first. It reads the
// directories, which is done at the start and for a complete list only; between these, the queue
// knows the names. Files whose names are not those of asides are ignored.
func (b *Bucket) displacedNames(ctx context.Context) ([]waiting, error) {
	var names []waiting
	var unread error
	w := walker{ctx: ctx, bucket: b,
		visit: func(file string, e *entry) bool {
			if n, ok := parseDisplaced(file); ok {
				names = append(names, waiting{n, e.displaced()})
			}
			return true
		},
		unread: func(_ string, err error) bool {
			unread = err
			return errors.Is(err, blob.ErrForeign) // not one of the bucket's own files
		},
	}
	for _, dir := range b.storeDirs() {
		if err := w.folder(dir+displacedName, ""); err != nil {
			return nil, cmp.Or(unread, err)
		}
	}
	slices.SortFunc(names, func(a, b waiting) int { return a.since.Compare(b.since) })
	return names, nil
}

// displaced returns when a file was last renamed, or the current time if the system does not report
// that or reports a time in the future. It is the time from which a displaced file of an earlier
// process waits.
func (e *entry) displaced() time.Time {
	now := time.Now()
	if e.changed.IsZero() || e.changed.After(now) {
		return now
	}
	return e.changed
}

// examine reads a displaced file, and reports whether it is a loss. A file that is not plain is a
// loss with Foreign set: an exchange may have displaced a link that another program had put in
// place of the file.
func (b *Bucket) examine(n displacedPath) (d blob.Displaced, lost bool, err error) {
	defer b.lock(n.key)()
	d = blob.Displaced{Key: n.key, File: n.path(), Had: n.had()}
	a, err := b.openDisplaced(n, walk{})
	if err == nil {
		defer a.close()
		var found content
		found, err = a.read(0, -1)
		d.Data, lost = found.data, err == nil && !a.known(found.tag)
		if err == nil {
			d.Written = found.info.ModTime()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // an exchange has just finished with it
		return d, false, nil
	case errors.Is(err, blob.ErrForeign):
		d.Foreign = true
		return d, true, nil
	}
	return d, lost, err
}

// resume handles the files that a killed process left. A file that was moved aside is put back if
// there is none at its key: the process was killed between the two moves of an exchange. All others
// are scheduled to be examined.
func (b *Bucket) resume() error {
	names, err := b.displacedNames(context.Background())
	if err != nil {
		return err
	}
	for _, dir := range b.storeDirs() { // the process may have been killed before it could sync them
		b.settled.add(dir + displacedName)
	}
	b.later.addAll(names...)
	names = slices.DeleteFunc(names, func(w waiting) bool { return w.name.stage != moved })
	for _, n := range names {
		if err := b.putBackNow(n.name); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	// A newer file at the key of a moved one may be removed next. Then the moved one must not be
	// restored.
	return b.syncSettled()
}

// putBackNow moves an aside back to its key, or settles it if something is in the way, whatever
// that is. If the aside is on another file system by now, its text is copied.
func (b *Bucket) putBackNow(n displacedPath) error {
	a, err := b.openDisplaced(n, walk{})
	if err != nil {
		return err
	}
	defer a.close()
	err = b.withName(n.key, walk{make: true}, a.putBack)
	if elsewhere(err) {
		err = b.copyBack(a)
	}
	if errors.Is(err, blob.ErrForeign) {
		return a.rename(settled, "")
	}
	return err
}

// copyBack copies a file back that is no longer on the folder's file system, because a disk was
// mounted elsewhere since. The original stays aside, with its text as the expected one, so that it
// is removed when its time is over. From then on the store in the folder is used.
func (b *Bucket) copyBack(a *displacedFile) error {
	c, err := a.read(0, -1)
	if err != nil {
		return err
	}
	if err := b.moveHome(); err != nil {
		return err
	}
	s, err := b.stage(true, c.data)
	if err != nil {
		return err
	}
	defer s.drop()
	if err := s.copyMode(c.info); err != nil {
		return err
	}
	err = b.withName(a.key, walk{make: true, keep: true}, func(to nameInDir) error {
		if err := createAt(s, to); err != nil {
			return err
		}
		return to.folder.sync()
	})
	var found *blob.Found
	switch {
	case errors.As(err, &found): // there is a newer file
		return a.rename(settled, "")
	case err != nil:
		return err
	}
	return a.keepLonger(c.tag)
}

// syncSettled makes durable that files which were moved aside no longer belong to their keys.
// Otherwise the next Open after a power loss would restore files that were removed. It costs
// nothing if no such file was renamed or removed since the last call. If it fails, the folders stay
// in the set, and the next call syncs them.
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

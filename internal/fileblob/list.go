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
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
)

// List implements blob.Bucket. At a time it has the names of one folder and its parents in memory.
// It skips files that are not plain, and those whose name is not a key. A folder that cannot be
// read ends it with an error, except one that was replaced by something else.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range b.Walk(ctx, prefix, nil) {
			if o.Foreign || errors.Is(err, blob.ErrForeign) {
				continue
			}
			if err != nil {
				yield(o, fmt.Errorf("list: %w", err))
				return
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Walk implements blob.Walker. It also yields a *blob.WalkError if the walk begins at something
// that is not a folder, or if the bucket's own folder is gone. It yields keys in the spelling of
// the folder.
func (b *Bucket) Walk(
	ctx context.Context, prefix string, enter func(folder string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(blob.Object{}, err)
			return
		}
		if checkKey(prefix) != nil && checkKey(prefix+"x") != nil {
			return // no key begins with it
		}
		w := walker{ctx: ctx, bucket: b, enter: enter,
			visit: func(file string, e *entry) bool { return yield(e.object(file), nil) },
			unread: func(folder string, err error) bool {
				return yield(blob.Object{}, &blob.WalkError{Folder: folder, Err: err})
			}}
		dir, name := path.Split(prefix)
		err := w.folder(cmp.Or(strings.TrimSuffix(dir, "/"), "."), name)
		if err != nil && !errors.Is(err, fs.SkipAll) {
			yield(blob.Object{}, err)
		}
	}
}

// Look implements blob.Looker. It reads only the metadata. The Object has the key as given, which
// may differ in spelling from the file's name if the file system folds case.
func (b *Bucket) Look(ctx context.Context, key string) (o blob.Object, err error) {
	if err := begin(ctx, key); err != nil {
		return blob.Object{}, err
	}
	err = b.withNameToRead(key, walk{}, func(at nameInDir) error {
		found, err := at.folder.look([]string{at.name})
		switch {
		case err != nil:
			return err
		case len(found) == 0, found[0].IsDir():
			return blob.ErrNotExist
		case !found[0].mode.IsRegular():
			return blob.ErrForeign
		}
		o = found[0].object(key)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = blob.ErrNotExist
	}
	if err != nil {
		return blob.Object{}, fmt.Errorf("look at %s: %w", key, err)
	}
	return o, nil
}

// Touched implements blob.Looker. It returns the time at which the names in the folder last
// changed, which adding or removing any file changes, also those of other programs.
func (b *Bucket) Touched(ctx context.Context, key string) (at time.Time, err error) {
	if err := begin(ctx, key); err != nil {
		return at, err
	}
	for dir := path.Dir(key); ; dir = path.Dir(dir) {
		at, err = b.touched(dir)
		if dir == "." || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, blob.ErrForeign) {
			break
		}
	}
	if err != nil {
		return at, fmt.Errorf("look at the folder of %s: %w", key, err)
	}
	return at, nil
}

// touched returns when the names in a folder last changed.
func (b *Bucket) touched(dir string) (time.Time, error) {
	f, err := b.open(dir, walk{})
	if err != nil {
		return time.Time{}, err
	}
	defer f.close()
	found, err := f.look([]string{"."})
	if err != nil || len(found) == 0 {
		return time.Time{}, errors.Join(err, errMoved)
	}
	return found[0].touched(), nil
}

// A walker visits the files below a folder in bytewise order of their paths. It stops when visit or
// unread returns false.
type walker struct {
	ctx    context.Context
	bucket *Bucket
	enter  func(folder string) bool // reports whether to descend; nil: always
	visit  func(file string, e *entry) bool
	unread func(folder string, err error) bool
}

// folder visits the entries of a folder whose names have a prefix, recursively. It returns
// fs.SkipAll if a function stopped the walk. A folder that is gone is empty; if a folder cannot be
// read completely, none of its entries is visited, because a caller takes a missing file for a
// removed one. dir is "." for the bucket's own folder, whose removal is reported.
func (w walker) folder(dir, prefix string) error {
	entries, err := w.entries(dir, prefix)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir != ".":
		return nil
	case err != nil && !w.unread(strings.TrimPrefix(dir, "."), err):
		return fs.SkipAll
	}
	for i := range entries {
		if err := w.entry(path.Join(dir, entries[i].name), &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a folder whose names have a prefix, sorted by their keys, without
// the bucket's own directory. It closes the folder before it returns, so a walk has one folder open
// at a time.
func (w walker) entries(dir, prefix string) ([]entry, error) {
	f, err := w.bucket.open(dir, walk{})
	if err != nil {
		return nil, err
	}
	defer f.close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		ours := dir == "." && strings.EqualFold(name, reserved)
		return ours || !strings.HasPrefix(name, prefix)
	})
	entries, err := f.look(names)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return compare(&a, &b) })
	return entries, nil
}

// compare orders the entries of a folder by the keys in them: "a-b" comes before "a/b", although
// the folder "a" comes before "a-b" by name. So a walk yields keys in bytewise order, as other
// buckets do.
func compare(a, b *entry) int {
	n := min(len(a.name), len(b.name))
	if order := strings.Compare(a.name[:n], b.name[:n]); order != 0 {
		return order
	}
	return strings.Compare(rest(a, n), rest(b, n))
}

// rest returns the key of an entry after the first n bytes of its name, as far as it matters for
// the order.
func rest(e *entry, n int) string {
	if e.IsDir() && n == len(e.name) {
		return "/"
	}
	return e.name[n:]
}

// entry visits a file or descends into a folder.
func (w walker) entry(file string, e *entry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	switch {
	case !e.IsDir():
		if !w.visit(file, e) {
			return fs.SkipAll
		}
	case w.enter == nil || w.enter(file):
		return w.folder(file, "")
	}
	return nil
}

// An entry is the metadata of a name in a directory. It distinguishes plain files, directories, and
// all other files.
type entry struct {
	name     string
	mode     fs.FileMode
	size     int64
	modified time.Time // when the contents changed
	changed  time.Time // when anything changed, including the name; zero if the system does not report it
	inode    uint64    // 0 if the system does not report it
}

var _ fs.FileInfo = (*entry)(nil)

func (e *entry) Name() string       { return e.name }
func (e *entry) Size() int64        { return e.size }
func (e *entry) Mode() fs.FileMode  { return e.mode }
func (e *entry) ModTime() time.Time { return e.modified }
func (e *entry) IsDir() bool        { return e.mode.IsDir() }
func (e *entry) Sys() any           { return nil }

// object returns the entry as the object of a key.
func (e *entry) object(key string) blob.Object {
	return blob.Object{
		Key: key, Size: e.size, Modified: e.modified, Changed: e.touched(), Mark: e.mark(),
		Foreign: !e.mode.IsRegular() || checkKey(key) != nil,
	}
}

// touched returns when anything about the file last changed.
func (e *entry) touched() time.Time {
	if e.changed.After(e.modified) {
		return e.changed
	}
	return e.modified
}

// mark returns the entry's blob.Object.Mark: the inode, the size, and the times of the last change
// of the contents and of anything, in base 36, separated by dots. An editor that writes the same
// size within the same clock tick of the file system leaves it unchanged. It does not include the
// device number, which may change each time a disk is mounted. Marks are stored, so a change of the
// format makes all files be read again.
func (e *entry) mark() string {
	text := make([]byte, 0, 80)
	text = strconv.AppendUint(text, e.inode, 36)
	for _, n := range [...]int64{
		e.size, e.modified.Unix(), int64(e.modified.Nanosecond()),
		e.changed.Unix(), int64(e.changed.Nanosecond()),
	} {
		text = strconv.AppendInt(append(text, '.'), n, 36)
	}
	return string(text)
}

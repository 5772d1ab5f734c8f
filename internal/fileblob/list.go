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
	"strings"
	"time"

	"rookery/internal/blob"
)

// List is blob.Bucket's. It holds the names of one folder, and of those that it is in, at a time.
// It passes over what is no plain file, and files whose name is no key.
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

// Walk is blob.Walker's. That something which is no folder lies where the walk begins is a
// *blob.WalkError, too; and so is that the bucket's own folder is gone. It yields keys as the folder
// spells them.
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

// Look is blob.Looker's.
func (b *Bucket) Look(ctx context.Context, key string) (o blob.Object, err error) {
	if err := begin(ctx, key); err != nil {
		return blob.Object{}, err
	}
	err = b.in(key, walk{}, func(at spot) error {
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

// Touched is blob.Looker's.
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

// touched is when the names in a folder changed last.
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

// A walker visits what is no folder, in bytewise order of the paths. It ends when one of its functions
// returns false, but for enter.
type walker struct {
	ctx    context.Context
	bucket *Bucket
	enter  func(folder string) bool // whether to go there; nil: always
	visit  func(file string, e *entry) bool
	unread func(folder string, err error) bool
}

// folder visits what is in a folder under names with a prefix, and in the folders there. It ends
// with fs.SkipAll when a function ended it. A folder that is gone has nothing; of one that cannot be
// read whole, nothing is visited.
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

// entries are those of a folder whose names have a prefix, sorted as the keys are.
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

// compare sorts a folder where the keys in it belong: "a-b" comes before "a/b".
func compare(a, b *entry) int {
	n := min(len(a.name), len(b.name))
	if order := strings.Compare(a.name[:n], b.name[:n]); order != 0 {
		return order
	}
	return strings.Compare(rest(a, n), rest(b, n))
}

// rest is what a key has behind the first n bytes of an entry's name, as far as it matters.
func rest(e *entry, n int) string {
	if e.IsDir() && n == len(e.name) {
		return "/"
	}
	return e.name[n:]
}

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

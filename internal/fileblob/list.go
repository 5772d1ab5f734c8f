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

	"rookery/internal/blob"
)

// List is blob.Bucket's. It holds the names of one folder, and of those that it is in, at a time.
// It passes over what is no plain file, and files whose name is no key.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(blob.Object{}, err)
			return
		}
		if checkKey(prefix) != nil && checkKey(prefix+"x") != nil {
			return // no key begins with it
		}
		l := lister{ctx, b, func(file string, info fs.FileInfo) bool {
			if !info.Mode().IsRegular() || checkKey(file) != nil {
				return true
			}
			return yield(blob.Object{Key: file, Size: info.Size(), Modified: info.ModTime()}, nil)
		}}
		dir, name := path.Split(prefix)
		err := l.folder(cmp.Or(strings.TrimSuffix(dir, "/"), "."), name)
		if err != nil && !errors.Is(err, fs.SkipAll) {
			yield(blob.Object{}, fmt.Errorf("list: %w", err))
		}
	}
}

// A lister visits what is no folder, in bytewise order of the paths, until visit returns false.
type lister struct {
	ctx    context.Context
	bucket *Bucket
	visit  func(file string, info fs.FileInfo) bool
}

// folder visits what is in a folder under names with a prefix, and in the folders there. It ends
// with fs.SkipAll when a visit ended it. A folder that is gone has nothing.
func (l lister) folder(dir, prefix string) error {
	f, err := l.bucket.open(dir, walk{})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	entries, err := f.ReadDir(-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed since it was opened
	}
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(sortName(a), sortName(b))
	})
	for _, e := range entries {
		ours := dir == "." && strings.EqualFold(e.Name(), reserved)
		if ours || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if err := l.entry(f, e); err != nil {
			return err
		}
	}
	return nil
}

// sortName sorts a folder where the keys in it belong: "a-b" comes before "a/b".
func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func (l lister) entry(f *folder, e fs.DirEntry) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	file := path.Join(f.path, e.Name())
	if e.IsDir() {
		return l.folder(file, "")
	}
	info, err := spot{f, e.Name()}.stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir() || l.visit(file, info):
		return nil
	}
	return fs.SkipAll
}

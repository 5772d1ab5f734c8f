package fileblob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"

	"rookery/internal/blob"
)

// A folder is an open directory of the bucket. It was reached without following a link, and what is
// done in it is done there, even if somebody moves it meanwhile.
type folder struct {
	top  *os.Root // the bucket's
	path string   // from top
	root *os.Root // the directory itself
	file *os.File // the same, to read it, to sync it and to move files between two
}

func (f *folder) close() {
	f.file.Close()
	f.root.Close()
}

// sync makes durable which files the folder has.
func (f *folder) sync() error { return syncEntries(f.file) }

// empty reports whether the folder has no entries. It is asked at most once of a folder.
func (f *folder) empty() bool {
	_, err := f.file.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// A walk says what to do with the folders on a way.
type walk struct {
	make bool // make those that are missing
	keep bool // make durable that they are there
}

// errMoved says that somebody took a folder away while it was used.
var errMoved = errors.New("the folder was moved meanwhile")

// open opens the folder at a path from the root, segment by segment. A missing one is
// fs.ErrNotExist, and so is a file on the way unless the folder is to be made; what else is no
// folder is blob.ErrForeign.
func (b *Bucket) open(dir string, w walk) (*folder, error) {
	root, err := b.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for here, segment := range steps(dir) {
		next, err := b.step(root, here, segment, w)
		root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	file, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &folder{b.root, dir, root, file}, nil
}

// steps yields each folder on the way to dir: its path and its name.
func steps(dir string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if dir == "." {
			return
		}
		here := ""
		for segment := range strings.SplitSeq(dir, "/") {
			here = path.Join(here, segment)
			if !yield(here, segment) {
				return
			}
		}
	}
}

// step opens the folder of a name, whose path is here.
func (b *Bucket) step(parent *os.Root, here, name string, w walk) (*os.Root, error) {
	next, err := enter(parent, name)
	if w.make && errors.Is(err, fs.ErrNotExist) {
		next, err = makeFolder(parent, name)
	}
	if err != nil || !w.keep {
		return next, err
	}
	if err := b.keepEntry(parent, here); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// makeFolder makes and opens the folder of a name, which another may have made by now.
func makeFolder(parent *os.Root, name string) (*os.Root, error) {
	err := parent.Mkdir(name, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := enter(parent, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is a file in place of a folder", blob.ErrForeign)
	}
	return root, err
}

// enter opens the folder of a name. Root follows links that stay inside it, so what was opened is
// compared with what had been looked at.
func enter(parent *os.Root, name string) (*os.Root, error) {
	for range 10 {
		want, err := parent.Lstat(name)
		switch {
		case err != nil:
			return nil, err
		case want.Mode().IsRegular():
			return nil, fmt.Errorf("enter a file: %w", fs.ErrNotExist)
		case !want.IsDir():
			return nil, fmt.Errorf("%w: on the way", blob.ErrForeign)
		}
		root, err := parent.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		got, err := root.Stat(".")
		if err == nil && os.SameFile(want, got) {
			return root, nil
		}
		root.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, errMoved
}

// keepEntry makes durable that the folder at dir is in its parent, once until the folder is pruned.
// Who calls it holds b.folders.
func (b *Bucket) keepEntry(parent *os.Root, dir string) error {
	if _, known := b.durable.Load(dir); known {
		return nil
	}
	file, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syncEntries(file); err != nil {
		return err
	}
	b.durable.Store(dir, true)
	return nil
}

// at does something at the place of a key, while no folder is pruned.
func (b *Bucket) at(key string, w walk, do func(spot) error) error {
	b.folders.RLock()
	defer b.folders.RUnlock()
	return b.in(key, w, do)
}

// in is at without the promise that no folder is pruned, for what only reads.
func (b *Bucket) in(key string, w walk, do func(spot) error) error {
	f, err := b.open(path.Dir(key), w)
	if err != nil {
		return err
	}
	defer f.close()
	return do(spot{f, path.Base(key)})
}

// prune removes dir, if it is empty, and then each parent that is empty by it, up to stop, which
// stays. What is no folder, or cannot be removed, stays as well.
func (b *Bucket) prune(dir, stop string) error {
	if dir == stop || !b.looksEmpty(dir) {
		return nil
	}
	b.folders.Lock()
	defer b.folders.Unlock()
	for ; dir != stop; dir = path.Dir(dir) {
		parent, err := b.open(path.Dir(dir), walk{})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		b.durable.Delete(dir)
		err = removeFolder(spot{parent, path.Base(dir)})
		parent.close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return nil
}

// looksEmpty spares the lock where there is nothing to prune. A folder that is gone is empty.
func (b *Bucket) looksEmpty(dir string) bool {
	f, err := b.open(dir, walk{})
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.close()
	return f.empty()
}

// syncFolder makes durable what dir has and has no longer. If it is gone, that is so for what is
// left of the way to it.
func (b *Bucket) syncFolder(dir string) error {
	b.folders.RLock()
	defer b.folders.RUnlock()
	for {
		f, err := b.open(dir, walk{keep: true})
		if err == nil {
			defer f.close()
			return f.sync()
		}
		elsewhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign)
		if dir == "." || !elsewhere {
			return err
		}
		dir = path.Dir(dir)
	}
}

package fileblob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"

	"rookery/internal/blob"
)

// A folder is an open directory of the bucket. It was reached without following a link, and what is
// done in it is done there, even if somebody moves it meanwhile.
type folder struct {
	dir
	root dir         // where its path begins
	seam Seam        // the bucket's
	mode fs.FileMode // of new files
	path string      // in the bucket; see Bucket.root
	kept bool        // it is the bucket's own, and stays open as long as that
}

func (f *folder) close() {
	if !f.kept {
		f.Close()
	}
}

// empty reports whether the folder has no entries. It is asked at most once of a folder.
func (f *folder) empty() bool {
	_, err := f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// A walk says what to do with the folders on a way.
type walk struct {
	make bool // make those that are missing
	keep bool // make durable that they are there
}

// errMoved says that somebody took a folder away while it was used.
var errMoved = errors.New("the folder was moved meanwhile")

// open opens the folder at a path, segment by segment where the system has no call that goes all the
// way. A missing one is fs.ErrNotExist, and so is a file on the way unless the folder is to be made;
// what else is no folder is blob.ErrForeign.
func (b *Bucket) open(dir string, w walk) (*folder, error) {
	root := b.root(dir)
	if root.File == nil {
		return nil, fs.ErrNotExist
	}
	if b.leaps && !w.keep {
		if at, ok := root.leap(belowRoot(dir)); ok {
			return &folder{dir: at, root: root, seam: b.seam, mode: b.modes.file, path: dir}, nil
		}
	}
	at, err := root, error(nil)
	if belowRoot(dir) == "." {
		at, err = at.enter(".")
	}
	for here, segment := range steps(dir) {
		parent := at
		at, err = b.step(parent, here, segment, w)
		if parent != root {
			parent.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return &folder{dir: at, root: root, seam: b.seam, mode: b.modes.file, path: dir}, nil
}

// root is the directory at which a path begins: Options.Work under workDir, else the folder.
func (b *Bucket) root(dir string) dir {
	if inWork(dir) {
		return b.work
	}
	return b.top
}

func inWork(dir string) bool {
	rest, ok := strings.CutPrefix(dir, workDir)
	return ok && (rest == "" || rest[0] == '/')
}

// belowRoot is the path from there.
func belowRoot(dir string) string {
	if !inWork(dir) {
		return dir
	}
	return path.Clean(strings.TrimPrefix(dir[len(workDir):], "/"))
}

// canLeap tries whether a folder can be reached in one step here.
func (b *Bucket) canLeap() bool {
	at, ok := b.top.leap(".")
	if ok {
		at.Close()
	}
	return ok
}

// steps yields each folder on the way to dir from its root: its path and its name.
func steps(dir string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		here, rest := "", belowRoot(dir)
		if inWork(dir) {
			here = workDir
		}
		if rest == "." {
			return
		}
		for segment := range strings.SplitSeq(rest, "/") {
			here = path.Join(here, segment)
			if !yield(here, segment) {
				return
			}
		}
	}
}

// step opens the folder of a name, whose path is here.
func (b *Bucket) step(parent dir, here, name string, w walk) (dir, error) {
	next, err := parent.enter(name)
	if w.make && errors.Is(err, fs.ErrNotExist) {
		next, err = b.makeFolder(parent, here)
	}
	if err != nil || !w.keep {
		return next, err
	}
	if err := b.keepEntry(parent, here); err != nil {
		next.Close()
		return dir{}, err
	}
	return next, nil
}

// makeFolder makes and opens the folder at here, which another may have made by now.
func (b *Bucket) makeFolder(parent dir, here string) (dir, error) {
	err := b.mkdir(parent, here, b.modes.folder)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return dir{}, err
	}
	// Somebody may have removed the one that was known, or it was known by another spelling.
	b.durable.Delete(here)
	made, err := parent.enter(path.Base(here))
	if errors.Is(err, fs.ErrNotExist) {
		return dir{}, fmt.Errorf("%w: there is a file in place of a folder", blob.ErrForeign)
	}
	return made, err
}

// keepEntry makes durable that the folder at here is in its parent, once until the folder is pruned.
// Who calls it holds b.folders.
func (b *Bucket) keepEntry(parent dir, here string) error {
	if _, known := b.durable.Load(here); known {
		return nil
	}
	if err := b.syncParent(parent, here); err != nil {
		return err
	}
	b.durable.Store(here, true)
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

// prune removes dir, if it is empty, and then each parent that is empty by it, up to one that stays.
// What is no folder, or cannot be removed, stays as well.
func (b *Bucket) prune(dir string) error {
	if b.stays(dir) || !b.looksEmpty(dir) {
		return nil
	}
	b.folders.Lock()
	defer b.folders.Unlock()
	for ; !b.stays(dir); dir = path.Dir(dir) {
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
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign)
		if belowRoot(dir) == "." || !gone {
			return err
		}
		dir = path.Dir(dir)
	}
}

package fileblob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A folder is an open directory of the bucket that was reached without following a link. Its
// methods work in that directory even if it is moved meanwhile. It must be closed, unless it is
// kept.
type folder struct {
	dir
	root dir         // directory to which path is relative
	seam Seam        // the bucket's
	hash *hashers    // the bucket's
	mode fs.FileMode // of new files
	path string      // in the bucket; see Bucket.root
	kept bool        // it belongs to the bucket and stays open until that is closed
}

// close closes the folder unless it belongs to the bucket.
func (f *folder) close() {
	if !f.kept {
		f.Close()
	}
}

// empty reports whether the folder has no entries. It may be called only once for an open folder.
func (f *folder) empty() bool {
	_, err := f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// A walk selects how the folders on a path are opened.
type walk struct {
	make bool // create missing folders
	keep bool // make the entries of the folders durable
}

// errMoved means that a folder or a file was replaced by another program while it was used.
var errMoved = errors.New("the folder was moved meanwhile")

// open opens the folder at a path, in one call if the system has one, otherwise segment by segment.
// A missing folder is fs.ErrNotExist, and so is a file on the path unless w.make is set. Anything
// else is blob.ErrForeign. With w.keep the caller must hold b.folders. The caller must close the
// folder.
func (b *Bucket) open(dir string, w walk) (*folder, error) {
	root := b.root(dir)
	if root.File == nil {
		return nil, fs.ErrNotExist
	}
	if b.leaps && !w.keep {
		if at, ok := root.leap(belowRoot(dir)); ok {
			return &folder{dir: at, root: root, seam: b.seam, mode: b.modes.file, hash: &b.hashers, path: dir}, nil
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
	return &folder{dir: at, root: root, seam: b.seam, mode: b.modes.file, hash: &b.hashers, path: dir}, nil
}

// root returns the directory to which a path is relative: Options.Work below workDir, else the
// folder.
func (b *Bucket) root(dir string) dir {
	if inWork(dir) {
		return b.work
	}
	return b.top
}

// inWork reports whether a path is in Options.Work.
func inWork(dir string) bool {
	rest, ok := strings.CutPrefix(dir, workDir)
	return ok && (rest == "" || rest[0] == '/')
}

// belowRoot returns a path relative to its root.
func belowRoot(dir string) string {
	if !inWork(dir) {
		return dir
	}
	return path.Clean(strings.TrimPrefix(dir[len(workDir):], "/"))
}

// canLeap reports whether the system can open a folder by its path in one call.
func (b *Bucket) canLeap() bool {
	at, ok := b.top.leap(".")
	if ok {
		at.Close()
	}
	return ok
}

// steps yields the path and the name of each folder from the root of dir down to dir: for "a/b",
// "a" with "a", and "a/b" with "b". It yields nothing for the root itself.
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

// step opens the folder with a name in parent; its path is here. It creates the folder and makes
// its entry durable as w demands.
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

// makeFolder creates and opens the folder at here. Another process may create it at the same time.
func (b *Bucket) makeFolder(parent dir, here string) (dir, error) {
	err := b.mkdir(parent, here, b.modes.folder)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return dir{}, err
	}
	// The folder may have been removed and known as durable, or known by another spelling.
	b.durable.Delete(here)
	made, err := parent.enter(path.Base(here))
	if errors.Is(err, fs.ErrNotExist) {
		return dir{}, fmt.Errorf("%w: there is a file in place of a folder", blob.ErrForeign)
	}
	return made, err
}

// keepEntry makes the entry of the folder at here durable in its parent, once until the folder is
// pruned. Otherwise a file in a new folder could be durable and unreachable after a power loss. The
// caller must hold b.folders.
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

// withName calls do with the spot of a key, in an open folder, which is closed afterwards. No folder is
// pruned meanwhile, so a folder that was opened or created for a new file is not removed before the
// file is in it.
func (b *Bucket) withName(key string, w walk, do func(nameInDir) error) error {
	b.folders.RLock()
	defer b.folders.RUnlock()
	return b.withNameToRead(key, w, do)
}

// withNameToRead is at for reading: folders may be pruned meanwhile.
func (b *Bucket) withNameToRead(key string, w walk, do func(nameInDir) error) error {
	f, err := b.open(path.Dir(key), w)
	if err != nil {
		return err
	}
	defer f.close()
	return do(nameInDir{f, path.Base(key)})
}

// prune removes dir if it is empty, and then each parent that becomes empty, except those that
// stay. A folder that cannot be removed, because it is not empty or belongs to another user, is
// left, without an error. It waits for all changes in progress, so it first looks without the lock
// whether dir is empty.
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
		err = removeFolder(nameInDir{parent, path.Base(dir)})
		parent.close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return nil
}

// looksEmpty reports whether a folder seems to be empty or gone. It saves prune the lock.
func (b *Bucket) looksEmpty(dir string) bool {
	f, err := b.open(dir, walk{})
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.close()
	return f.empty()
}

// syncFolder makes the additions and removals in dir durable. If dir is gone, it syncs its nearest
// existing parent, because the removal of dir is an entry there. Syncing a folder twice is
// harmless.
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

package fileblob

import (
	"io/fs"
	"os"
	"path"
)

// An Op is a kind of Change.
type Op int

// The kinds of changes. A folder that is synced keeps its names, a file what was written to it.
const (
	Create       Op = iota + 1 // an empty file, where nothing is
	Write                      // Data at Size
	Truncate                   // to Size
	SyncFile                   // what is in a file
	SyncFolder                 // which names a folder has
	MakeFolder                 // where nothing is
	RemoveFolder               // an empty one
	Remove                     // a file
	Rename                     // to To, over what is there
	Swap                       // with To
)

// A Change is one call to the operating system that changes what a Bucket has on disk, or makes it
// durable. Paths are from the bucket's folder, which is ".", with slashes; those that begin with
// ".rookery/elsewhere" lie in Options.Work.
type Change struct {
	Op   Op
	Path string
	To   string
	Data []byte // must not be kept
	Size int64  // the length of a file, or an offset in it
}

// A Seam is called for every Change that a Bucket makes, from any goroutine. The change is made when
// and if it calls do, once; its answer is the answer of the call. So a test sees everything that a
// power cut could undo.
type Seam func(c Change, do func() error) error

// do makes a change of what has a name in the folder.
func (f *folder) do(op Op, name string, call func() error) error {
	if f.seam == nil {
		return call()
	}
	return f.seam(Change{Op: op, Path: path.Join(f.path, name)}, call)
}

// create makes and opens a plain file where nothing is; else fs.ErrExist.
func (f *folder) create(name string) (file *os.File, err error) {
	err = f.do(Create, name, func() (err error) {
		file, err = f.dir.create(name, f.mode)
		return err
	})
	return file, err
}

// remove removes what is no directory.
func (f *folder) remove(name string) error {
	return f.do(Remove, name, func() error { return f.dir.remove(name) })
}

// sync makes durable which files the folder has.
func (f *folder) sync() error {
	return f.do(SyncFolder, ".", func() error { return syncEntries(f.File) })
}

// mkdir makes the folder at a path, which has this name in its parent.
func (b *Bucket) mkdir(parent dir, at string, perm fs.FileMode) error {
	call := func() error { return parent.mkdir(path.Base(at), uint32(perm)) }
	if b.seam == nil {
		return call()
	}
	return b.seam(Change{Op: MakeFolder, Path: at}, call)
}

// syncParent makes durable that the folder at a path is in its parent.
func (b *Bucket) syncParent(parent dir, at string) error {
	call := func() error { return syncEntries(parent.File) }
	if b.seam == nil {
		return call()
	}
	return b.seam(Change{Op: SyncFolder, Path: path.Dir(at)}, call)
}

// write writes to the open file of the spot.
func (s spot) write(file *os.File, data []byte, at int64) error {
	call := func() error {
		_, err := file.WriteAt(data, at)
		return err
	}
	if s.folder.seam == nil {
		return call()
	}
	c := Change{Op: Write, Path: path.Join(s.folder.path, s.name), Data: data, Size: at}
	return s.folder.seam(c, call)
}

// truncate cuts the open file of the spot, or lengthens it.
func (s spot) truncate(file *os.File, size int64) error {
	call := func() error { return file.Truncate(size) }
	if s.folder.seam == nil {
		return call()
	}
	c := Change{Op: Truncate, Path: path.Join(s.folder.path, s.name), Size: size}
	return s.folder.seam(c, call)
}

// syncFile makes durable what is in the open file of the spot.
func (s spot) syncFile(file *os.File) error { return s.folder.do(SyncFile, s.name, file.Sync) }

// move renames a file over what is at the other spot.
func move(from, to spot) error { return pair(Rename, from, to, renameOver) }

// moveNew renames a file to a spot where nothing is; else fs.ErrExist. Of several that try at once
// one succeeds.
func moveNew(from, to spot) error { return pair(Rename, from, to, renameBeside) }

// swap exchanges what is at two spots, in one step.
func swap(one, two spot) error { return pair(Swap, one, two, exchangeNames) }

// pair makes a change of two names.
func pair(op Op, one, two spot, call func(one, two spot) error) error {
	if one.folder.seam == nil {
		return call(one, two)
	}
	c := Change{Op: op, Path: one.full(), To: two.full()}
	return one.folder.seam(c, func() error { return call(one, two) })
}

// removeFolder removes an empty folder, and nothing else.
func removeFolder(s spot) error {
	return s.folder.do(RemoveFolder, s.name, func() error { return rmdir(s) })
}

// full is the path from the top.
func (s spot) full() string { return path.Join(s.folder.path, s.name) }

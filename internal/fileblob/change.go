package fileblob

import (
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/rookeryhq/rookery/internal/blob"
)

// An Op is the kind of a Change.
type Op int

// The kinds of changes. Syncing a folder makes its names durable, syncing a file its contents.
const (
	Create       Op = iota + 1 // creates an empty file; fails if the name exists
	Write                      // writes Data at offset Size
	Truncate                   // to length Size
	SyncFile                   // the contents of a file
	SyncFolder                 // the names in a folder
	MakeFolder                 // fails if the name exists
	RemoveFolder               // removes an empty folder
	Remove                     // removes a file
	Rename                     // renames to To, replacing a file there
	Swap                       // exchanges with To
)

// A Change is one system call that changes the files of a Bucket or makes them durable. Paths are
// relative to the bucket's folder, ".", with slashes; paths that begin with ".rookery/elsewhere"
// are in Options.Work. Only the fields that the Op needs are set.
type Change struct {
	Op   Op
	Path string
	To   string
	Data []byte // must not be retained
	Size int64  // length of a file, or an offset in it
}

// A Seam is called for every Change that a Bucket makes, from any goroutine. It may make the change
// by calling do, once, and its error becomes the result of the system call. With it a test sees
// everything that a power loss could undo, and can fail any call. Reads are not reported.
type Seam func(c Change, do func() error) error

// do makes a change of the entry with a name in the folder, through the seam if there is one. call
// makes the system call.
func (f *folder) do(op Op, name string, call func() error) error {
	if f.seam == nil {
		return call()
	}
	return f.seam(Change{Op: op, Path: path.Join(f.path, name)}, call)
}

// create creates and opens a plain file. If the name exists, the error is fs.ErrExist.
func (f *folder) create(name string) (file *os.File, err error) {
	err = f.do(Create, name, func() (err error) {
		file, err = f.dir.create(name, f.mode)
		return err
	})
	return file, err
}

// remove removes a file that is not a directory.
func (f *folder) remove(name string) error {
	return f.do(Remove, name, func() error { return f.dir.remove(name) })
}

// sync makes the names in the folder durable.
func (f *folder) sync() error {
	return f.do(SyncFolder, ".", func() error { return syncEntries(f.File) })
}

// mkdir creates the folder with the path at in its parent.
func (b *Bucket) mkdir(parent dir, at string, perm fs.FileMode) error {
	call := func() error { return parent.mkdir(path.Base(at), uint32(perm)) }
	if b.seam == nil {
		return call()
	}
	return b.seam(Change{Op: MakeFolder, Path: at}, call)
}

// syncParent makes the entry of the folder with the path at durable in its parent.
func (b *Bucket) syncParent(parent dir, at string) error {
	call := func() error { return syncEntries(parent.File) }
	if b.seam == nil {
		return call()
	}
	return b.seam(Change{Op: SyncFolder, Path: path.Dir(at)}, call)
}

// write writes data to the open file of the spot, at an offset.
func (s nameInDir) write(file *os.File, data []byte, at int64) error {
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

// truncate changes the length of the open file of the spot.
func (s nameInDir) truncate(file *os.File, size int64) error {
	call := func() error { return file.Truncate(size) }
	if s.folder.seam == nil {
		return call()
	}
	c := Change{Op: Truncate, Path: path.Join(s.folder.path, s.name), Size: size}
	return s.folder.seam(c, call)
}

// syncFile makes the contents of the open file of the spot durable.
func (s nameInDir) syncFile(file *os.File) error { return s.folder.do(SyncFile, s.name, file.Sync) }

// move renames a file to another spot and replaces a file there.
func move(from, to nameInDir) error { return pair(Rename, from, to, renameOver) }

// moveNew renames a file to another spot. If there is something, the error is fs.ErrExist. Of
// concurrent callers one succeeds.
func moveNew(from, to nameInDir) error { return pair(Rename, from, to, renameBeside) }

// swap exchanges the files at two spots atomically.
func swap(one, two nameInDir) error { return pair(Swap, one, two, exchangeNames) }

// pair makes a change that concerns two names.
func pair(op Op, one, two nameInDir, call func(one, two nameInDir) error) error {
	if one.folder.seam == nil {
		return call(one, two)
	}
	c := Change{Op: op, Path: one.full(), To: two.full()}
	return one.folder.seam(c, func() error { return call(one, two) })
}

// removeFolder removes an empty folder, and nothing else.
func removeFolder(s nameInDir) error {
	return s.folder.do(RemoveFolder, s.name, func() error { return rmdir(s) })
}

// full returns the path from the bucket's folder.
func (s nameInDir) full() string { return path.Join(s.folder.path, s.name) }

const (
	// maxTags is the number of cached tags.
	maxTags = 4096

	// minTagAge is the minimum age of a file's last change for its tag to be cached: a second change
	// within the same tick of the file system's clock would not be visible in the modification
	// time.
	minTagAge = 2 * time.Second

	// minOwnTag is the minimum size, in bytes, of a file whose tag is cached when it is put. Smaller
	// files are quickly read whole.
	minOwnTag = 256 << 10
)

// A tagCache caches the tags of files of which a part was read. A tag is a digest of the whole file, so
// without the cache reading a part would cost as much as reading the whole segment. Large objects
// that are read in parts, such as segments, never change, so a cached tag stays valid. The tag of a
// large file that this Bucket puts is known from the beginning, and its later writes forget it; if
// another program writes to the file in place within the same tick, its parts have the old tag. It is
// safe for concurrent use.
type tagCache struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, knownTag]
}

// A knownTag is the tag that a file had when it had this metadata.
type knownTag struct {
	info fs.FileInfo
	tag  blob.Tag
}

// newTagCache returns an empty cache.
func newTagCache() *tagCache {
	lru, err := simplelru.NewLRU[string, knownTag](maxTags, nil)
	if err != nil {
		panic(err) // cannot happen: the size is positive
	}
	return &tagCache{lru: lru}
}

// find returns the tag of a file if it is cached and the file has not changed since: it is the same
// file, with the same size and modification time.
func (m *tagCache) find(key string, now fs.FileInfo) (blob.Tag, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.lru.Get(key)
	same := ok && os.SameFile(known.info, now) && known.info.Size() == now.Size() &&
		known.info.ModTime().Equal(now.ModTime())
	return known.tag, same
}

// add caches the tag of a file that was not modified within minTagAge.
func (m *tagCache) add(key string, c content) {
	if time.Since(c.info.ModTime()) >= minTagAge {
		m.set(key, knownTag{c.info, c.tag})
	}
}

// put caches the tag of a file that was put just now, if it is large.
func (m *tagCache) put(key string, s *stagedFile) {
	if s.info.Size() >= minOwnTag {
		m.set(key, knownTag{s.info, s.tag})
	}
}

// set caches a tag.
func (m *tagCache) set(key string, known knownTag) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Add(key, known)
}

// forget removes the tag of a file that is written now.
func (m *tagCache) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lru.Remove(key)
}

package casefoldfs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A fileSystem serves a folder to the kernel. Nothing else may change that folder.
type fileSystem struct {
	fuse.RawFileSystem // returns ENOSYS for operations that are not implemented here

	o     Options
	nodes *nodes
	lists lists

	names sync.RWMutex // held for reading during a lookup of a name, and for writing during a change of names
}

func newFileSystem(root string, o Options) (*fileSystem, error) {
	n, err := openNodes(root)
	return &fileSystem{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), o: o, nodes: n,
		lists: lists{entries: map[uint64][]fuse.DirEntry{}},
	}, err
}

// A spot is a name in a folder, as the kernel spells it.
type spot struct {
	folder uint64
	name   string
}

// An entry is an existing entry of a folder, in its own spelling.
type entry struct {
	folder *node
	name   string
}

// find returns the entry for a spot. If there is none, it returns the spot as an entry, and ENOENT.
// The caller holds f.names, as for answer.
func (f *fileSystem) find(s spot) (entry, error) {
	e := entry{f.nodes.get(s.folder), s.name}
	var stat unix.Stat_t
	err := unix.Fstatat(e.folder.fd, s.name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.ENOENT) {
		return e, err
	}
	folder, err := os.Open(e.folder.path())
	if err != nil {
		return e, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	folded := vault.Fold(s.name)
	for _, name := range names {
		if vault.Fold(name) == folded {
			return entry{e.folder, name}, nil
		}
	}
	if err == nil {
		err = unix.ENOENT
	}
	return e, err
}

// answer writes to out the node of an entry that the kernel looked up at a spot.
func (f *fileSystem) answer(s spot, e entry, out *fuse.EntryOut) fuse.Status {
	fd, err := unix.Openat(e.folder.fd, e.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fuse.ToStatus(err)
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return fuse.ToStatus(err)
	}
	t := nodeKey{dev: stat.Dev, ino: stat.Ino}
	if e.folder.spelling != "" || e.name != s.name {
		t.spelling = fmt.Sprint(s.folder, "/", s.name)
	}
	out.FromStat(&stat)
	out.NodeId = f.nodes.add(fd, t)
	return fuse.OK
}

func (f *fileSystem) Lookup(
	_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut,
) fuse.Status {
	f.names.RLock()
	defer f.names.RUnlock()
	s := spot{in.NodeId, name}
	e, err := f.find(s)
	if err != nil {
		return fuse.ToStatus(err)
	}
	return f.answer(s, e, out)
}

func (f *fileSystem) Forget(id, lookups uint64) { f.nodes.forget(id, lookups) }

// add creates an entry by call, unless one exists in any spelling: then it returns EEXIST.
func (f *fileSystem) add(s spot, out *fuse.EntryOut, call func(folder int) error) fuse.Status {
	f.names.Lock()
	defer f.names.Unlock()
	e, err := f.find(s)
	if err == nil {
		return fuse.Status(unix.EEXIST)
	}
	if !errors.Is(err, unix.ENOENT) {
		return fuse.ToStatus(err)
	}
	if err := call(e.folder.fd); err != nil {
		return fuse.ToStatus(err)
	}
	return f.answer(s, e, out)
}

func (f *fileSystem) Mkdir(
	_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut,
) fuse.Status {
	return f.add(spot{in.NodeId, name}, out, func(folder int) error {
		return unix.Mkdirat(folder, name, in.Mode)
	})
}

func (f *fileSystem) Mknod(
	_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut,
) fuse.Status {
	return f.add(spot{in.NodeId, name}, out, func(folder int) error {
		return unix.Mknodat(folder, name, in.Mode, int(in.Rdev))
	})
}

func (f *fileSystem) Symlink(
	_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut,
) fuse.Status {
	return f.add(spot{in.NodeId, name}, out, func(folder int) error {
		return unix.Symlinkat(target, folder, name)
	})
}

func (f *fileSystem) Link(
	_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut,
) fuse.Status {
	from := f.nodes.get(in.Oldnodeid)
	return f.add(spot{in.NodeId, name}, out, func(folder int) error {
		return unix.Linkat(unix.AT_FDCWD, from.path(), folder, name, unix.AT_SYMLINK_FOLLOW)
	})
}

// Create opens the existing file, if there is one and O_EXCL is not set, and otherwise creates it.
func (f *fileSystem) Create(
	_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut,
) fuse.Status {
	f.names.Lock()
	defer f.names.Unlock()
	s := spot{in.NodeId, name}
	e, err := f.find(s)
	if err == nil && in.Flags&unix.O_EXCL != 0 {
		return fuse.Status(unix.EEXIST)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fuse.ToStatus(err)
	}
	flags := openFlags(in.Flags) | unix.O_CREAT | unix.O_NOFOLLOW
	fd, err := unix.Openat(e.folder.fd, e.name, flags, in.Mode)
	if err != nil {
		return fuse.ToStatus(err)
	}
	out.Fh, out.OpenFlags = uint64(fd), fuse.FOPEN_DIRECT_IO
	status := f.answer(s, e, &out.EntryOut)
	if !status.Ok() {
		_ = unix.Close(fd)
	}
	return status
}

func (f *fileSystem) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.remove(spot{in.NodeId, name}, 0)
}

func (f *fileSystem) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.remove(spot{in.NodeId, name}, unix.AT_REMOVEDIR)
}

func (f *fileSystem) remove(s spot, flags int) fuse.Status {
	f.names.Lock()
	defer f.names.Unlock()
	e, err := f.find(s)
	if err != nil {
		return fuse.ToStatus(err)
	}
	return fuse.ToStatus(unix.Unlinkat(e.folder.fd, e.name, flags))
}

package casefoldfs

import (
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// openFlags returns the flags with which the underlying file is opened. The kernel has followed the
// links already.
func openFlags(flags uint32) int {
	const kernels = unix.O_CREAT | unix.O_NOFOLLOW | unix.O_DIRECT | unix.O_SYNC
	return int(flags)&^kernels | unix.O_CLOEXEC
}

// Open returns a file descriptor as the handle. The kernel must not cache pages of the file,
// because it would cache other pages for each spelling.
func (f *fileSystem) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	fd, err := unix.Open(f.nodes.get(in.NodeId).path(), openFlags(in.Flags), 0)
	out.Fh, out.OpenFlags = uint64(fd), fuse.FOPEN_DIRECT_IO
	return fuse.ToStatus(err)
}

func (f *fileSystem) Read(
	_ <-chan struct{}, in *fuse.ReadIn, buf []byte,
) (fuse.ReadResult, fuse.Status) {
	n, err := unix.Pread(int(in.Fh), buf, int64(in.Offset))
	return fuse.ReadResultData(buf[:max(n, 0)]), fuse.ToStatus(err)
}

func (f *fileSystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := unix.Pwrite(int(in.Fh), data, int64(in.Offset))
	return uint32(max(n, 0)), fuse.ToStatus(err)
}

// Flush returns ENOSYS, as Fsync and FsyncDir do. The kernel then counts it as done, and sends no
// more of these requests.
func (f *fileSystem) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

func (f *fileSystem) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { _ = unix.Close(int(in.Fh)) }

func (f *fileSystem) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(f.nodes.get(in.NodeId).fd, "", target)
	return target[:max(n, 0)], fuse.ToStatus(err)
}

func (f *fileSystem) StatFs(
	_ <-chan struct{}, in *fuse.InHeader, out *fuse.StatfsOut,
) fuse.Status {
	var stat syscall.Statfs_t
	err := syscall.Fstatfs(f.nodes.get(in.NodeId).fd, &stat)
	out.FromStatfsT(&stat)
	return fuse.ToStatus(err)
}

func (f *fileSystem) GetAttr(
	_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut,
) fuse.Status {
	return fuse.ToStatus(f.nodes.get(in.NodeId).attr(&out.Attr))
}

func (f *fileSystem) SetAttr(
	_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut,
) fuse.Status {
	n := f.nodes.get(in.NodeId)
	for _, set := range []func(*node, *fuse.SetAttrIn) error{setMode, setOwner, setSize, setTimes} {
		if err := set(n, in); err != nil {
			return fuse.ToStatus(err)
		}
	}
	return fuse.ToStatus(n.attr(&out.Attr))
}

func setMode(n *node, in *fuse.SetAttrIn) error {
	if mode, ok := in.GetMode(); ok {
		return unix.Chmod(n.path(), mode)
	}
	return nil
}

func setOwner(n *node, in *fuse.SetAttrIn) error {
	uid, user := in.GetUID()
	gid, group := in.GetGID()
	if !user && !group {
		return nil
	}
	owner := [2]int{-1, -1}
	if user {
		owner[0] = int(uid)
	}
	if group {
		owner[1] = int(gid)
	}
	return unix.Fchownat(n.fd, "", owner[0], owner[1], unix.AT_EMPTY_PATH)
}

func setSize(n *node, in *fuse.SetAttrIn) error {
	size, ok := in.GetSize()
	if !ok {
		return nil
	}
	if fd, ok := in.GetFh(); ok { // the handle may allow writes although the permissions do not any more
		return unix.Ftruncate(int(fd), int64(size))
	}
	return unix.Truncate(n.path(), int64(size))
}

func setTimes(n *node, in *fuse.SetAttrIn) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	read, wasRead := in.GetATime()
	written, wasWritten := in.GetMTime()
	if !wasRead && !wasWritten {
		return nil
	}
	if wasRead {
		times[0] = unix.NsecToTimespec(read.UnixNano())
	}
	if wasWritten {
		times[1] = unix.NsecToTimespec(written.UnixNano())
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, n.path(), times, 0)
}

// lists contains the entries of open folders, by handle.
type lists struct {
	mu      sync.Mutex
	entries map[uint64][]fuse.DirEntry
	last    uint64
}

func (f *fileSystem) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	f.lists.mu.Lock()
	defer f.lists.mu.Unlock()
	f.lists.last++
	out.Fh = f.lists.last
	return fuse.OK
}

// ReadDir returns the names that existed when the reading began, so that no name is skipped when
// others are removed.
func (f *fileSystem) ReadDir(
	_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList,
) fuse.Status {
	f.lists.mu.Lock()
	defer f.lists.mu.Unlock()
	if in.Offset == 0 {
		list, err := f.list(in.NodeId)
		if err != nil {
			return fuse.ToStatus(err)
		}
		f.lists.entries[in.Fh] = list
	}
	list := f.lists.entries[in.Fh]
	for i := in.Offset; i < uint64(len(list)); i++ {
		if !out.AddDirEntry(list[i]) {
			break
		}
	}
	return fuse.OK
}

func (f *fileSystem) list(folder uint64) (all []fuse.DirEntry, err error) {
	f.names.RLock()
	defer f.names.RUnlock()
	entries, err := os.ReadDir(f.nodes.get(folder).path())
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		stat := info.Sys().(*syscall.Stat_t)
		all = append(all, fuse.DirEntry{
			Name: e.Name(), Ino: stat.Ino, Mode: stat.Mode, Off: uint64(len(all)) + 1,
		})
	}
	return all, nil
}

func (f *fileSystem) ReleaseDir(in *fuse.ReleaseIn) {
	f.lists.mu.Lock()
	defer f.lists.mu.Unlock()
	delete(f.lists.entries, in.Fh)
}

package crashdisk_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A mounted serves a Disk to the kernel. Nobody but the kernel changes the disk, so the kernel may
// remember what it was told.
type mounted struct {
	fuse.RawFileSystem // answers what is not served here: ENOSYS

	disk *Disk

	mu    sync.Mutex
	lists map[uint64][]fuse.DirEntry // by the handle of an open folder
	last  uint64
}

const forEver = time.Hour

// mount serves a disk at a folder.
func mount(dir string, d *Disk) (*fuse.Server, error) {
	m := &mounted{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: d, lists: map[uint64][]fuse.DirEntry{},
	}
	server, err := fuse.NewServer(m, dir, &fuse.MountOptions{
		FsName: "powercut", Name: "powercut", DirectMount: true, DisableXAttrs: true,
		DisableReadDirPlus: true, MaxWrite: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	go server.Serve()
	return server, server.WaitMount()
}

// statusOf is what the kernel is told of an error.
func statusOf(err error) fuse.Status {
	var no syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &no):
		return fuse.Status(no)
	}
	return fuse.EIO
}

func (m *mounted) attr(id uint64, out *fuse.Attr) fuse.Status {
	info, err := m.disk.Stat(id)
	if err != nil {
		return statusOf(err)
	}
	out.Ino, out.Size, out.Nlink, out.Blksize = id, uint64(info.Size), 1, 4096
	out.Mode = info.Perm | kind(info)
	out.Owner = fuse.Owner{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
	out.SetTimes(&info.Since, &info.Since, &info.Since)
	return fuse.OK
}

func kind(info Info) uint32 {
	if info.Folder {
		return syscall.S_IFDIR
	}
	return syscall.S_IFREG
}

func (m *mounted) entry(id uint64, err error, out *fuse.EntryOut) fuse.Status {
	if err != nil {
		return statusOf(err)
	}
	out.NodeId, out.Generation = id, 1
	out.SetEntryTimeout(forEver)
	out.SetAttrTimeout(forEver)
	return m.attr(id, &out.Attr)
}

func (m *mounted) Lookup(
	_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut,
) fuse.Status {
	id, err := m.disk.Lookup(in.NodeId, name)
	return m.entry(id, err, out)
}

func (m *mounted) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.SetTimeout(forEver)
	return m.attr(in.NodeId, &out.Attr)
}

func (m *mounted) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if size, ok := in.GetSize(); ok {
		if err := m.disk.Truncate(in.NodeId, int64(size)); err != nil {
			return statusOf(err)
		}
	}
	out.SetTimeout(forEver)
	return m.attr(in.NodeId, &out.Attr)
}

func (m *mounted) Mkdir(
	_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut,
) fuse.Status {
	id, err := m.disk.Make(in.NodeId, name, true, in.Mode&0o7777)
	return m.entry(id, err, out)
}

func (m *mounted) Create(
	_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut,
) fuse.Status {
	id, err := m.disk.Make(in.NodeId, name, false, in.Mode&0o7777)
	return m.entry(id, err, &out.EntryOut)
}

func (m *mounted) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return statusOf(m.disk.Remove(in.NodeId, name))
}

func (m *mounted) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return statusOf(m.disk.Remove(in.NodeId, name))
}

func (m *mounted) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	const exchange = 2 // RENAME_EXCHANGE; that nothing is replaced is seen to by the kernel
	if in.Flags&exchange != 0 {
		return statusOf(m.disk.Swap(in.NodeId, from, in.Newdir, to))
	}
	return statusOf(m.disk.Rename(in.NodeId, from, in.Newdir, to))
}

func (m *mounted) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if in.Flags&syscall.O_TRUNC != 0 {
		return statusOf(m.disk.Truncate(in.NodeId, 0))
	}
	return fuse.OK
}

func (m *mounted) Read(
	_ <-chan struct{}, in *fuse.ReadIn, buf []byte,
) (fuse.ReadResult, fuse.Status) {
	n := m.disk.Read(in.NodeId, buf, int64(in.Offset))
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (m *mounted) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	err := m.disk.Write(in.NodeId, data, int64(in.Offset))
	return uint32(len(data)), statusOf(err)
}

func (m *mounted) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return statusOf(m.disk.Sync(in.NodeId))
}

func (m *mounted) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return statusOf(m.disk.Sync(in.NodeId))
}

func (m *mounted) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (m *mounted) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	out.Fh = m.last
	return fuse.OK
}

// ReadDir goes through the names that were there when the reading began, so that none is passed
// over because others go.
func (m *mounted) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.Offset == 0 {
		m.lists[in.Fh] = m.list(in.NodeId)
	}
	list := m.lists[in.Fh]
	for i := in.Offset; i < uint64(len(list)); i++ {
		if !out.AddDirEntry(list[i]) {
			break
		}
	}
	return fuse.OK
}

func (m *mounted) list(folder uint64) (all []fuse.DirEntry) {
	names, nodes := m.disk.Names(folder)
	for i, name := range names {
		if info, err := m.disk.Stat(nodes[i]); err == nil {
			all = append(all, fuse.DirEntry{
				Name: name, Ino: nodes[i], Mode: kind(info), Off: uint64(i) + 1,
			})
		}
	}
	return all
}

func (m *mounted) ReleaseDir(in *fuse.ReleaseIn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lists, in.Fh)
}

func (m *mounted) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.NameLen, out.Blocks, out.Bfree, out.Bavail = 4096, 255, 1<<30, 1<<30, 1<<30
	return fuse.OK
}

// serveDisks is the main function of a child that serves disks: a process must not wait in a page
// of its own disk, for then its collector of garbage waits for it, and it for the collector.
//
// Of the lines that it reads, "mount DIR" serves an empty disk, "cut DIR N SEED TO" serves what is
// found after a power cut N changes of the disk at DIR from now, and "unmount DIR" ends one. It
// answers each with a line, "ok" or why not.
func serveDisks(in io.Reader, out io.Writer) {
	c := &child{served: map[string]served{}, out: out}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var verb, dir, to string
		var changes int
		var seed uint64
		_, _ = fmt.Sscan(lines.Text(), &verb, &dir, &changes, &seed, &to) // as many as the verb has
		switch verb {
		case "mount":
			c.mount(dir, New())
		case "cut":
			found := c.disk(dir).CutAfter(changes, seed)
			c.say(nil)
			go func() { c.mount(to, <-found) }()
		case "unmount":
			c.say(c.unmount(dir))
		}
	}
	for dir := range c.served {
		_ = c.unmount(dir) // who asked is gone
	}
}

// A child serves disks by the folders where they are.
type child struct {
	mu     sync.Mutex
	served map[string]served
	out    io.Writer
}

type served struct {
	disk   *Disk
	server *fuse.Server
}

func (c *child) disk(dir string) *Disk {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served[dir].disk
}

func (c *child) mount(dir string, d *Disk) {
	server, err := mount(dir, d)
	c.mu.Lock()
	c.served[dir] = served{d, server}
	c.mu.Unlock()
	c.say(err)
}

func (c *child) unmount(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.served[dir]
	delete(c.served, dir)
	if s.server == nil {
		return nil
	}
	err := s.server.Unmount()
	if err != nil {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // a test that failed has files open
	}
	return err
}

func (c *child) say(err error) {
	if err == nil {
		err = errors.New("ok")
	}
	fmt.Fprintln(c.out, err)
}

// Package powercut is a disk that forgets what was not synced. It serves the tests that take the
// power away from a whole process.
//
// A Disk holds two things of every file and folder: what a process sees, and what would still be
// there if the power went now. It is as bad as POSIX lets it be: what was written to a file is kept
// when that file was synced, a name when the folder that has it was synced, and whatever else was
// done since may each be there or not, in any order, and torn. Two things every file system of today
// keeps beyond that, and so does a Disk: a renamed file does not lose its old name before it has the
// new one, and two files that change places do so both or neither.
package powercut

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Disk is safe for concurrent use. Its files and folders have numbers that are never used again.
// Its errors are of package syscall. A caller checks what the system checks above a file system: that
// a name to be made is free, for instance.
type Disk struct {
	mu    sync.Mutex
	nodes map[uint64]*node
	last  uint64 // the number of the newest node
	clock uint64 // counts the changes
	cut   trigger
}

// Root is the number of the folder at the top.
const Root = 1

// A node is a file or a folder.
type node struct {
	perm  uint32
	since time.Time          // it was made, or written to
	names map[string][]entry // of a folder, what each name was since the last sync; nil: a file

	data   []byte  // of a file
	synced []byte  // as it was at the last sync
	writes []write // since then
}

// An entry is what a name was at one time: a node, or nothing.
type entry struct {
	node uint64
	at   uint64 // the change that made it so
	with *place // it is so only if that name is as new as this
}

type place struct {
	folder uint64
	name   string
}

// A write is a change of a file's contents.
type write struct {
	at   uint64
	off  int64
	data []byte // nil: the file's length became off
}

// New makes an empty disk.
func New() *Disk {
	d := &Disk{nodes: map[uint64]*node{}, last: Root}
	d.nodes[Root] = &node{perm: 0o755, names: map[string][]entry{}}
	return d
}

// An Info says what a node is.
type Info struct {
	Node   uint64
	Folder bool
	Perm   uint32
	Size   int64
	Since  time.Time // it was made, or written to
}

// Stat is ENOENT for a number that the disk does not have.
func (d *Disk) Stat(id uint64) (Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok {
		return Info{}, syscall.ENOENT
	}
	return Info{id, n.names != nil, n.perm, int64(len(n.data)), n.since}, nil
}

// Lookup finds what a folder has under a name.
func (d *Disk) Lookup(folder uint64, name string) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lookup(folder, name)
}

func (d *Disk) lookup(folder uint64, name string) (uint64, error) {
	f, ok := d.nodes[folder]
	if !ok || f.names == nil {
		return 0, syscall.ENOTDIR
	}
	id := newest(f.names[name]).node
	if id == 0 {
		return 0, syscall.ENOENT
	}
	return id, nil
}

func newest(was []entry) entry {
	if len(was) == 0 {
		return entry{}
	}
	return was[len(was)-1]
}

// Names are the names that a folder has, sorted, with their nodes.
func (d *Disk) Names(folder uint64) ([]string, []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.nodes[folder]
	if !ok {
		return nil, nil
	}
	var names []string
	var nodes []uint64
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		if id := newest(f.names[name]).node; id != 0 {
			names, nodes = append(names, name), append(nodes, id)
		}
	}
	return names, nodes
}

// Read copies what a file has from an offset on.
func (d *Disk) Read(id uint64, to []byte, off int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok || off >= int64(len(n.data)) {
		return 0
	}
	return copy(to, n.data[off:])
}

// Make makes an empty file, or a folder.
func (d *Disk) Make(folder uint64, name string, asFolder bool, perm uint32) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.lookup(folder, name); !errors.Is(err, syscall.ENOENT) {
		return 0, existing(err)
	}
	d.step()
	d.last++
	made := &node{perm: perm, since: time.Now()}
	if asFolder {
		made.names = map[string][]entry{}
	}
	d.nodes[d.last] = made
	d.name(folder, name, d.last, nil)
	return d.last, nil
}

func existing(err error) error {
	if err == nil {
		return syscall.EEXIST
	}
	return err
}

// name notes what a name is from now on.
func (d *Disk) name(folder uint64, name string, id uint64, with *place) {
	names := d.nodes[folder].names
	if len(names[name]) == 0 {
		names[name] = []entry{{}}
	}
	names[name] = append(names[name], entry{id, d.clock, with})
}

// Remove takes a file's name away, or that of an empty folder.
func (d *Disk) Remove(folder uint64, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, err := d.lookup(folder, name)
	if err != nil {
		return err
	}
	for _, was := range d.nodes[id].names {
		if newest(was).node != 0 {
			return syscall.ENOTEMPTY
		}
	}
	d.step()
	d.name(folder, name, 0, nil)
	return nil
}

// Link gives a node a second name.
func (d *Disk) Link(id, folder uint64, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step()
	d.name(folder, name, id, nil)
}

// Rename gives what is under one name another one, over what is there. If that is the same file,
// it does nothing, as POSIX says.
func (d *Disk) Rename(folder uint64, name string, toFolder uint64, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, err := d.lookup(folder, name)
	if err != nil {
		return err
	}
	if there, err := d.lookup(toFolder, to); err == nil && there == id {
		return nil
	}
	d.step()
	d.name(toFolder, to, id, nil)
	d.name(folder, name, 0, &place{toFolder, to})
	return nil
}

// Swap exchanges what is under two names.
func (d *Disk) Swap(folder uint64, name string, otherFolder uint64, other string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, err := d.lookup(folder, name)
	if err != nil {
		return err
	}
	two, err := d.lookup(otherFolder, other)
	if err != nil {
		return err
	}
	d.step()
	d.name(folder, name, two, &place{otherFolder, other})
	d.name(otherFolder, other, one, &place{folder, name})
	return nil
}

// Write writes to a file.
func (d *Disk) Write(id uint64, data []byte, off int64) error {
	return d.change(id, write{off: off, data: append([]byte{}, data...)})
}

// Truncate gives a file a length.
func (d *Disk) Truncate(id uint64, size int64) error {
	return d.change(id, write{off: size})
}

func (d *Disk) change(id uint64, w write) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok || n.names != nil {
		return syscall.EBADF
	}
	d.step()
	w.at = d.clock
	n.data, n.since = w.apply(n.data), time.Now()
	n.writes = append(n.writes, w)
	return nil
}

// apply does the write to contents, which it may change.
func (w write) apply(to []byte) []byte {
	if w.data == nil {
		return resize(to, w.off)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(to)) {
		to = resize(to, end)
	}
	copy(to[w.off:], w.data)
	return to
}

// resize cuts contents, or adds zeros.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	old := len(data)
	data = slices.Grow(data, int(size)-old)[:size]
	clear(data[old:])
	return data
}

// Sync makes durable what is in a file, or which names a folder has.
func (d *Disk) Sync(id uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok {
		return syscall.EBADF
	}
	d.step()
	if n.names == nil {
		n.synced, n.writes = replay(n.synced, n.writes), nil
		return nil
	}
	for name := range n.names {
		d.keep(place{id, name}, newest(n.names[name]).at)
	}
	return nil
}

// replay does writes to contents, which it may change.
func replay(data []byte, writes []write) []byte {
	for _, w := range writes {
		data = w.apply(data)
	}
	return data
}

// keep makes durable that a name is as new as a change, and what must be so with it.
func (d *Disk) keep(p place, at uint64) {
	names := d.nodes[p.folder].names
	was := names[p.name]
	i := slices.IndexFunc(was, func(e entry) bool { return e.at >= at })
	if i <= 0 {
		return
	}
	for _, e := range was[:i+1] {
		if e.with != nil {
			defer d.keep(*e.with, e.at)
		}
	}
	names[p.name] = was[i:]
}

// Package crashdisk_test simulates a disk that loses changes which were not synced. Tests use it that cut
// the power of a whole process.
//
// A Disk stores two states of every file and folder: the one that a process sees, and the one that
// would remain after a power cut now. It gives only the guarantees of POSIX: data in a file is kept
// if that file was synced, and a name if its folder was synced. Of all later changes, any may
// survive or be lost, in any order, and writes may be torn. All current file systems give two more
// guarantees, and so does a Disk: a renamed file does not lose its old name before it has the new
// one, and of two files that exchange their names, either both do or neither.
package crashdisk_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Disk is a simulated disk; New returns one. It is safe for concurrent use. Its files and folders
// have numbers that are never used again. Its errors are of package syscall. It does not repeat all
// checks that the system makes above a file system: for example, Link does not check that the name
// is free.
type Disk struct {
	mu    sync.Mutex
	nodes map[uint64]*node
	last  uint64 // number of the newest node
	clock uint64 // number of changes so far
	cut   trigger
}

// Root is the number of the root folder.
const Root = 1

// A node is a file or a folder.
type node struct {
	perm  uint32
	since time.Time          // when it was created or last written to
	names map[string][]entry // of a folder: the entries of each name since the last sync, oldest first; nil for a file

	data   []byte  // of a file, as a process sees it
	synced []byte  // its data at the last sync
	writes []write // writes since the last sync
}

// An entry is the value of a name at one time: a node, or 0 for none.
type entry struct {
	node uint64
	at   uint64 // number of the change that set it
	with *place // it survives only if the entry of that name survives, or a later one
}

type place struct {
	folder uint64
	name   string
}

// A write is a change of the data of a file.
type write struct {
	at   uint64
	off  int64
	data []byte // nil: a truncation to the length off
}

// New returns an empty disk.
func New() *Disk {
	d := &Disk{nodes: map[uint64]*node{}, last: Root}
	d.nodes[Root] = &node{perm: 0o755, names: map[string][]entry{}}
	return d
}

// An Info describes a node.
type Info struct {
	Node   uint64
	Folder bool
	Perm   uint32
	Size   int64
	Since  time.Time // when it was created or last written to
}

// Stat returns the Info of a node; ENOENT if there is no such node.
func (d *Disk) Stat(id uint64) (Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok {
		return Info{}, syscall.ENOENT
	}
	return Info{id, n.names != nil, n.perm, int64(len(n.data)), n.since}, nil
}

// Lookup returns the node that has a name in a folder; ENOENT if there is none.
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

// Names returns the names in a folder, sorted, and their nodes in the same order.
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

// Read copies data of a file from an offset on, and returns the number of bytes; 0 at the end.
func (d *Disk) Read(id uint64, to []byte, off int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.nodes[id]
	if !ok || off >= int64(len(n.data)) {
		return 0
	}
	return copy(to, n.data[off:])
}

// Make creates an empty file or folder, and returns its number. The error is EEXIST if the name
// exists.
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

// name adds an entry to a name, with id 0 if the name is removed.
func (d *Disk) name(folder uint64, name string, id uint64, with *place) {
	names := d.nodes[folder].names
	if len(names[name]) == 0 {
		names[name] = []entry{{}}
	}
	names[name] = append(names[name], entry{id, d.clock, with})
}

// Remove removes the name of a file, or of an empty folder. The error is ENOTEMPTY for any other
// folder.
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

// Link gives a node another name, which must be free.
func (d *Disk) Link(id, folder uint64, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step()
	d.name(folder, name, id, nil)
}

// Rename moves a node to another name, and replaces the node that has that name. If both names are
// the same file, it does nothing, as POSIX requires.
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

// Swap exchanges the nodes of two names.
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

// Write writes data to a file at an offset. It extends the file if needed.
func (d *Disk) Write(id uint64, data []byte, off int64) error {
	return d.change(id, write{off: off, data: append([]byte{}, data...)})
}

// Truncate sets the length of a file.
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

// apply applies the write to data, and returns the result. It may change the array of to.
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

// resize shortens data, or extends it with zeros.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	old := len(data)
	data = slices.Grow(data, int(size)-old)[:size]
	clear(data[old:])
	return data
}

// Sync makes the data of a file durable, or the names in a folder.
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

// replay applies writes to data, and returns the result. It may change the array of data.
func replay(data []byte, writes []write) []byte {
	for _, w := range writes {
		data = w.apply(data)
	}
	return data
}

// keep makes the entry of a name durable that change at set, and all entries that must survive with
// it.
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

// A trigger is a planned power cut.
type trigger struct {
	left  int // changes until the cut; 0: no cut is planned
	seed  uint64
	image chan *Disk
}

// CutAfter plans a power cut after a number of further changes. It returns a channel that receives
// the disk as it is found after the cut. The disk d itself continues to work, and its users notice
// nothing. Only one cut can be planned at a time.
func (d *Disk) CutAfter(changes int, seed uint64) <-chan *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = trigger{changes + 1, seed, make(chan *Disk, 1)}
	return d.cut.image
}

// step counts a change, and cuts the power if the plan says so. Each change calls it before it
// begins. The caller holds mu.
func (d *Disk) step() {
	d.clock++
	if d.cut.left == 0 {
		return
	}
	if d.cut.left--; d.cut.left == 0 {
		d.cut.image <- d.crash(rand.New(rand.NewPCG(d.cut.seed, 0)))
	}
}

// Crash returns the disk as it is found after a power cut now. For changes that were not synced,
// seed decides at random which of them survive. The disk d itself is unchanged.
func (d *Disk) Crash(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crash(rand.New(rand.NewPCG(seed, 0)))
}

// A fate describes which changes survive, out of those that were not synced.
type fate struct {
	*rand.Rand
	until  uint64  // no later change survives
	names  float64 // probability that the change of a name survives
	data   float64 // probability that a sector of a write survives
	prefix bool    // after a lost sector, all later data of the file is lost
	sector int64
}

// fateOf returns a random fate, of a kind that occurs in real file systems.
func (d *Disk) fateOf(r *rand.Rand) fate {
	f := fate{r, d.clock, 1, 1, r.IntN(2) == 0, 512 << (3 * r.IntN(2))}
	switch r.IntN(6) {
	case 0: // only synced changes survive
		f.until = 0
	case 1: // all changes up to a time survive, as with a journal of names and data
		f.until = d.clock - min(d.clock, r.Uint64N(40))
	case 2: // the journal has the names, but no data was written to the disk
		f.data = 0
	case 3: // the data was written to the disk, but no name
		f.names = 0
	default: // each change survives or not, independently
		f.names, f.data = r.Float64(), r.Float64()
	}
	return f
}

func (d *Disk) crash(r *rand.Rand) *Disk {
	f := d.fateOf(r)
	names := d.survivors(f)
	found := &Disk{nodes: map[uint64]*node{}, last: d.last + 1} // the caller of step may be about to create a node
	d.collect(found, f, names, Root)
	return found
}

// survivors returns for every name the index of the entry that survives.
func (d *Disk) survivors(f fate) map[place]int {
	chosen := map[place]int{}
	for _, id := range slices.Sorted(maps.Keys(d.nodes)) {
		for _, name := range slices.Sorted(maps.Keys(d.nodes[id].names)) {
			chosen[place{id, name}] = f.choose(d.nodes[id].names[name])
		}
	}
	for changed := true; changed; {
		changed = false
		for p, i := range chosen {
			for i > 0 && !d.joined(chosen, d.nodes[p.folder].names[p.name][:i+1]) {
				i--
				changed = true
			}
			chosen[p] = i
		}
	}
	return chosen
}

// choose returns the index of the last entry of a name that survives.
func (f fate) choose(was []entry) int {
	for i := len(was) - 1; i > 0; i-- {
		if was[i].at <= f.until && f.Float64() < f.names {
			return i
		}
	}
	return 0
}

// joined reports whether all entries survive that must survive together with these.
func (d *Disk) joined(chosen map[place]int, entries []entry) bool {
	for _, e := range entries[1:] {
		if e.with == nil {
			continue
		}
		was := d.nodes[e.with.folder].names[e.with.name]
		if was[chosen[*e.with]].at < e.at {
			return false
		}
	}
	return true
}

// collect adds to found the node id, and all nodes below it, as far as they survive.
func (d *Disk) collect(found *Disk, f fate, chosen map[place]int, id uint64) {
	if _, ok := found.nodes[id]; ok {
		return
	}
	n := d.nodes[id]
	if n.names == nil {
		data := f.contents(n)
		found.nodes[id] = &node{perm: n.perm, since: n.since, data: data, synced: slices.Clone(data)}
		return
	}
	folder := &node{perm: n.perm, since: n.since, names: map[string][]entry{}}
	found.nodes[id] = folder
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		if to := n.names[name][chosen[place{id, name}]].node; to != 0 {
			folder.names[name] = []entry{{node: to}}
			d.collect(found, f, chosen, to)
		}
	}
}

// contents returns the data of a file that survives: some sectors of each write, and one of the
// lengths that the file had. A part without a surviving write contains zeros.
func (f fate) contents(n *node) []byte {
	data := slices.Clone(n.synced)
	for _, w := range n.writes {
		if w.at > f.until {
			break
		}
		if w.data == nil {
			if f.Float64() < f.data {
				data = resize(data, w.off)
			}
			continue
		}
		var whole bool
		if data, whole = f.tear(data, w); !whole && f.prefix {
			break
		}
	}
	return data
}

// tear applies the sectors of a write that survive, and reports whether all did.
func (f fate) tear(data []byte, w write) (torn []byte, whole bool) {
	whole = true
	if end := w.off + int64(len(w.data)); f.IntN(2) == 0 && end > int64(len(data)) {
		data = resize(data, end)
	}
	for at := w.off; at < w.off+int64(len(w.data)); {
		next := min(at-at%f.sector+f.sector, w.off+int64(len(w.data)))
		switch {
		case f.Float64() < f.data:
			data = write{off: at, data: w.data[at-w.off : next-w.off]}.apply(data)
		case f.prefix:
			return data, false
		default:
			whole = false
		}
		at = next
	}
	return data, whole
}

package crashdisk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

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

package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// A trigger is a power cut that is to come.
type trigger struct {
	left  int // changes until then; 0: none is to come
	seed  uint64
	image chan *Disk
}

// CutAfter lets the power go when so many changes more have been made, and gives the disk as it is
// found then. The disk itself goes on: whoever uses it has not noticed. One cut may be awaited at a
// time.
func (d *Disk) CutAfter(changes int, seed uint64) <-chan *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = trigger{changes + 1, seed, make(chan *Disk, 1)}
	return d.cut.image
}

// step is called before every change.
func (d *Disk) step() {
	d.clock++
	if d.cut.left == 0 {
		return
	}
	if d.cut.left--; d.cut.left == 0 {
		d.cut.image <- d.crash(rand.New(rand.NewPCG(d.cut.seed, 0)))
	}
}

// Crash is the disk as it is found when the power goes now. What was not synced is chosen at random.
func (d *Disk) Crash(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crash(rand.New(rand.NewPCG(seed, 0)))
}

// A fate says what becomes of changes that were not synced.
type fate struct {
	*rand.Rand
	until  uint64  // none that came later survives
	names  float64 // how likely the change of a name is to survive
	data   float64 // how likely a sector of a write is to survive
	prefix bool    // a file is written from its beginning to its end
	sector int64
}

// fateOf is a fate at random, among those that file systems have.
func (d *Disk) fateOf(r *rand.Rand) fate {
	f := fate{r, d.clock, 1, 1, r.IntN(2) == 0, 512 << (3 * r.IntN(2))}
	switch r.IntN(6) {
	case 0: // nothing but what was synced
		f.until = 0
	case 1: // everything up to a moment, as with a journal of names and data
		f.until = d.clock - min(d.clock, r.Uint64N(40))
	case 2: // the journal has the names, and no data came to the disk
		f.data = 0
	case 3: // data came to the disk, and no name
		f.names = 0
	default: // each by itself
		f.names, f.data = r.Float64(), r.Float64()
	}
	return f
}

func (d *Disk) crash(r *rand.Rand) *Disk {
	f := d.fateOf(r)
	names := d.survivors(f)
	found := &Disk{nodes: map[uint64]*node{}, last: d.last + 1} // one may be about to be made
	d.collect(found, f, names, Root)
	return found
}

// survivors chooses for every name which of the things that it was it will be found to be.
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

// choose is the last change of a name that survives.
func (f fate) choose(was []entry) int {
	for i := len(was) - 1; i > 0; i-- {
		if was[i].at <= f.until && f.Float64() < f.names {
			return i
		}
	}
	return 0
}

// joined reports whether everything that must come about with these entries survives, too.
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

// collect puts what survived of a node, and of those below it, on the disk that is found.
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

// contents are what survives of a file: sectors of each write, and a length that it had. Where it
// was lengthened and not written to, there are zeros.
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

// tear does a write as far as it survives, and reports whether that is all of it.
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

package index

import (
	"maps"
	"slices"
	"strings"
)

// pinRounds bounds how often pins are gone through after a commit. One round gives every pin its
// trait; a second finds what became free by that.
const pinRounds = 3

// claim enters what a trait claims by the pin on its line.
func (d *draft) claim(t *Trait) {
	if t.claims {
		d.pins.Set(key(clean(t.Pin()), t.Spot().key()), t)
		d.contested[t.Pin()] = true
	}
}

// release takes the ids and the claims of a note's traits out.
func (d *draft) release(n *Note) {
	if n == nil {
		return
	}
	for _, t := range n.Annotations {
		if holder, held := d.traitIDs.Delete(t.ID); held && holder != t {
			d.traitIDs.Set(t.ID, holder)
		}
		if t.claims {
			d.pins.Delete(key(clean(t.Pin()), t.Spot().key()))
			d.contested[t.Pin()] = true
		}
		if d.pins.Len() > 0 {
			d.contested[t.ID] = true
		}
	}
}

// claims are the traits that claim an id, by path and line.
func (x *Index) claims(pin string) []*Trait {
	var all []*Trait
	prefix := key(clean(pin), "")
	x.pins.Ascend(prefix, func(k string, t *Trait) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		all = append(all, t)
		return true
	})
	return all
}

// heir is the trait that has a right to a pin: the first by path and line that claims it, unless a
// trait that does not has it as its id.
func (x *Index) heir(pin string) *Trait {
	all := x.claims(pin)
	holder, held := x.traitIDs.Get(pin)
	if len(all) == 0 || held && (!holder.claims || holder.Pin() != pin) {
		return nil
	}
	return all[0]
}

// rightful reports whether the trait may have the id that it claims.
func (d *draft) rightful(t *Trait) bool { return d.heir(t.Pin()) == t }

// settlePins gives each pin that was touched to its heir.
func (d *draft) settlePins() {
	for range pinRounds {
		touched := slices.Sorted(maps.Keys(d.contested))
		clear(d.contested)
		for _, pin := range touched {
			d.settlePin(pin)
		}
	}
	clear(d.contested)
}

// settlePin takes a pin from who should not have it, and gives it to who should.
func (d *draft) settlePin(pin string) {
	heir := d.heir(pin)
	if heir == nil {
		return
	}
	path := heir.Note.Path
	for _, t := range d.claims(pin) {
		if t.ID == pin && t != heir && t.Note.Path != path {
			d.renew(t.Note)
		}
	}
	heir = d.heir(pin) // what was renewed is another value now
	if holder, _ := d.traitIDs.Get(pin); heir != nil && holder != heir {
		d.renew(heir.Note)
	}
}

// Duplicates yields the traits whose `@id(…)` is without effect because another trait has the id.
func (x *Index) Duplicates(yield func(*Trait) bool) {
	x.pins.Scan(func(_ string, t *Trait) bool { return t.Pinned() || yield(t) })
}

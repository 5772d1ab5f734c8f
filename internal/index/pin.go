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
	if t.claims && !d.hides(t.Note.Path) {
		d.pins.Set(key(clean(t.Pin()), t.Spot().key()), t)
		d.contested[t.Pin()] = true
	}
}

// unclaim takes the claims of a note's traits out.
func (d *draft) unclaim(n *Note) {
	if n == nil || d.pins.Len() == 0 {
		return
	}
	for _, t := range n.Annotations {
		if t.claims {
			d.pins.Delete(key(clean(t.Pin()), t.Spot().key()))
			d.contested[t.Pin()] = true
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
// trait that does not has it as its id. The note at the path but is about to get its ids: it has none.
func (d *draft) heir(pin, but string) *Trait {
	all := d.claims(pin)
	if len(all) == 0 {
		return nil
	}
	holder := d.holder(pin)
	if holder != nil && holder.Note.Path != but && (!holder.claims || holder.Pin() != pin) {
		return nil
	}
	return all[0]
}

// rightful reports whether a trait that is about to get its id may have the one that it claims.
func (d *draft) rightful(t *Trait) bool { return d.heir(t.Pin(), t.Note.Path) == t }

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
	heir := d.heir(pin, "")
	if heir == nil {
		return
	}
	path := heir.Note.Path
	for _, t := range d.claims(pin) {
		if t.ID == pin && t != heir && t.Note.Path != path {
			d.renew(t.Note)
		}
	}
	heir = d.heir(pin, "") // what was renewed is another value now
	if heir != nil && d.holder(pin) != heir {
		d.renew(heir.Note)
	}
}

// Duplicates yields the traits whose `@id(…)` is without effect because another trait has the id.
func (x *Index) Duplicates(yield func(*Trait) bool) {
	x.pins.Scan(func(_ string, t *Trait) bool { return t.Pinned() || yield(t) })
}

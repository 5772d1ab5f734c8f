package index

import (
	"maps"
	"slices"
	"strings"
)

// pinRounds limits the number of passes over the pins after a commit. The first pass gives each pin
// to its trait; a second one handles pins that became free by that. The limit bounds the work for
// pins that depend on each other.
const pinRounds = 3

// claim records the claim of a trait on the id of the pin on its line, if it has one.
func (d *draft) claim(t *Trait) {
	if t.claims && !d.hides(t.Note.Path) {
		d.pins.Set(key(clean(t.Pin()), t.Location().key()), t)
		d.contestedPins[t.Pin()] = true
	}
}

// unclaim removes the claims of the traits of a note.
func (d *draft) unclaim(n *Note) {
	if n == nil || d.pins.Len() == 0 {
		return
	}
	for _, t := range n.EachAnnotation {
		if t.claims {
			d.pins.Delete(key(clean(t.Pin()), t.Location().key()))
			d.contestedPins[t.Pin()] = true
		}
	}
}

// claims returns the traits that claim an id, by path and line.
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

// pinOwner returns the trait that is entitled to a pin: the first by path and line that claims it.
// It returns nil if none claims it, or if a trait without such a claim has the id already, because
// ids that are in use do not move. The traits of the note at the path but do not count as having
// it, because their ids are about to be assigned.
func (d *draft) pinOwner(pin, but string) *Trait {
	all := d.claims(pin)
	if len(all) == 0 {
		return nil
	}
	holder := d.owner(pin)
	if holder != nil && holder.Note.Path != but && (!holder.claims || holder.Pin() != pin) {
		return nil
	}
	return all[0]
}

// mayOwnPin reports whether a trait that is about to get its id can have the one that it claims.
func (d *draft) mayOwnPin(t *Trait) bool { return d.pinOwner(t.Pin(), t.Note.Path) == t }

// assignPins gives each pin for which something changed to the trait that is entitled to it
// (pinOwner).
//
// Renewing a note can move other ids, which is why it takes several passes. After the last one, ids
// that are still contested stay as they are.
func (d *draft) assignPins() {
	for range pinRounds {
		touched := slices.Sorted(maps.Keys(d.contestedPins))
		clear(d.contestedPins)
		for _, pin := range touched {
			d.assignPin(pin)
		}
	}
	clear(d.contestedPins)
}

// assignPin takes a pin from notes that are not entitled to it, and gives it to the one that is. It
// renews these notes, which assigns all their ids again under the present claims.
func (d *draft) assignPin(pin string) {
	heir := d.pinOwner(pin, "")
	if heir == nil {
		return
	}
	path := heir.Note.Path
	for _, t := range d.claims(pin) {
		if t.ID == pin && t != heir && t.Note.Path != path {
			d.reapply(t.Note)
		}
	}
	heir = d.pinOwner(pin, "") // d.reapply replaced the traits
	if heir != nil && d.owner(pin) != heir {
		d.reapply(heir.Note)
	}
}

// Duplicates yields the traits whose `@id(…)` has no effect because another trait has the id.
func (x *Index) Duplicates(yield func(*Trait) bool) {
	x.pins.Scan(func(_ string, t *Trait) bool { return t.Pinned() || yield(t) })
}

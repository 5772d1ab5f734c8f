package index

import (
	"slices"
	"strings"
)

// annotations writes the annotations of a note. The place of each is written only if it differs
// from that of the annotation before it. An id is written as its number if this file owns it in the
// lookup of ids; an id that is also used in another note may not be owned by this file, and is then
// written as a text.
func (w *imageWriter) annotations(n *Note) {
	all := n.Annotations
	w.count(len(all))
	w.count(countPlaces(all))
	file, line, position := w.files[n.Path], 0, 0
	for i, t := range all {
		moved := i == 0 || !samePlace(all[i-1], t)
		// Most ids are owned by the file, and need no text of their own.
		id, held := w.traitOwners.find(t.ID, file)
		w.flags(moved, t.Field, t.claims, !held)
		if moved {
			w.place(t.Place, line)
			line = t.Line
		}
		w.traitValue(t.TraitValue)
		w.timesOf(t.Times)
		if held {
			w.count(id)
		} else {
			w.text(t.ID)
		}
		w.int(t.Position - position)
		position = t.Position
	}
}

// countPlaces returns the number of places that annotations written in this order need.
func countPlaces(all []*Trait) int {
	n := 0
	for i := range all {
		if i == 0 || !samePlace(all[i-1], all[i]) {
			n++
		}
	}
	return n
}

// samePlace reports whether two consecutive annotations have equal places.
func samePlace(a, b *Trait) bool { return a.Place == b.Place || *a.Place == *b.Place }

// place writes a place. The line is written as the difference to before. The text is written as a
// range of the content if it occurs in it.
func (w *imageWriter) place(p *Place, before int) {
	w.int(p.Line - before)
	w.int(p.Scope)
	w.raw(p.Checkbox)
	if p.Content == p.Note.ID {
		w.count(0)
	} else {
		w.count(1 + len(p.Content))
		w.b = append(w.b, p.Content...)
	}
	switch at := strings.Index(p.Content, p.ContentText); {
	case p.ContentText == p.Content:
		w.count(0)
	case at < 0:
		w.count(1)
		w.raw(p.ContentText)
	default:
		w.count(2 + at)
		w.count(len(p.ContentText))
	}
}

// An ownedIDs is the ids of traits or nodes, sorted, with the number of the file that contains
// each. byFile is the same list in another order, so that find searches only the ids of one file.
type ownedIDs struct {
	ids    []string
	files  []byte
	byFile []int // positions in ids, by file, then id
	ends   []int // for each file, the end of its range in byFile
}

// sort fills byFile and ends, by a counting sort. files is the number of files.
func (h *ownedIDs) sort(files int) {
	of := numbers(h.files)
	next := make([]int, files+1) // of each file, where its next id goes
	for i := range h.ids {
		next[of.at(i)+1]++
	}
	for file := range files {
		next[file+1] += next[file]
	}
	h.byFile = make([]int, len(h.ids))
	for i := range h.ids {
		h.byFile[next[of.at(i)]] = i
		next[of.at(i)]++
	}
	h.ends = next[:files]
}

// find returns the position of an id in ids, if the file owns it.
func (h *ownedIDs) find(id string, file int) (number int, held bool) {
	begin := 0
	if file > 0 {
		begin = h.ends[file-1]
	}
	own := h.byFile[begin:h.ends[file]]
	i, held := slices.BinarySearchFunc(own, id, func(number int, id string) int {
		return strings.Compare(h.ids[number], id)
	})
	if !held {
		return 0, false
	}
	return own[i], true
}

// minAnnotation is the smallest number of bytes of an annotation in an image.
const minAnnotation = 5

// annotations reads the annotations of a note. It allocates all places at once, so their number is
// stored too. The first annotation must have a place of its own, and no more places may follow than
// that number: otherwise the image is damaged.
func (b *blockReader) annotations(n *Note) {
	count := b.count(minAnnotation)
	placed := b.natural()
	if placed > count || (placed == 0) != (count == 0) {
		b.fail()
	}
	if count == 0 || b.failed {
		return
	}
	all, places := b.slabs.annotations.alloc(count), b.slabs.places.alloc(placed)[:0]
	n.Annotations, n.traitValues = b.slabs.pointers.alloc(count), b.slabs.traitValues.alloc(count)
	line, position := 0, 0
	for i := range all {
		flags := b.flags()
		if flags&1 != 0 && len(places) < placed {
			places = append(places, b.place(n, line))
			line = places[len(places)-1].Line
		} else if flags&1 != 0 || len(places) == 0 {
			b.fail()
			return
		}
		t := &all[i]
		t.Place = &places[len(places)-1]
		t.Field, t.claims = flags&2 != 0, flags&4 != 0
		b.traitValue(t)
		if named := flags&8 == 0; named {
			t.ID = b.id()
		} else {
			t.ID = b.word()
		}
		position += b.int()
		t.Position = position
		n.Annotations[i], n.traitValues[i] = t, t.TraitValue
	}
}

// traitValue reads the TraitValue and the times of an annotation.
func (b *blockReader) traitValue(t *Trait) {
	said := b.below(len(b.traitValues))
	if b.failed {
		t.TraitValue = &TraitValue{}
		return
	}
	t.TraitValue = &b.traitValues[said]
	t.Times = b.timesOf()
}

// id reads the number of an id and returns the id.
func (b *blockReader) id() string {
	n := b.below(b.traitOwners.ids.len())
	if b.failed {
		return ""
	}
	return b.traitOwners.ids.at(n)
}

// place reads a place in the note n. before is the line of the previous place.
func (b *blockReader) place(n *Note, before int) Place {
	p := Place{Note: n, Line: before + b.int(), Scope: b.scope(len(n.Sections)), Checkbox: b.raw(), Content: n.ID}
	if size := b.natural(); size > 0 {
		p.Content = b.bytes(size - 1)
	}
	switch at := b.natural(); at {
	case 0:
		p.ContentText = p.Content
	case 1:
		p.ContentText = b.raw()
	default:
		size := b.natural()
		if at -= 2; at > len(p.Content) || size > len(p.Content)-at {
			b.fail()
			return p
		}
		p.ContentText = p.Content[at : at+size]
	}
	return p
}

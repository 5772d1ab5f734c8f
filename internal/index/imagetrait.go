package index

import (
	"slices"
	"strings"
)

// annotations writes the places of the annotations with them, each before the first that stands there.
// An id that another note has too, or had, may not be held by this one: that is a text.
func (w *imageWriter) annotations(n *Note) {
	all := n.Annotations
	w.count(len(all))
	w.count(places(all))
	file, line, position := w.files[n.Path], 0, 0
	for i, t := range all {
		moved := i == 0 || !alikePlaced(all[i-1], t)
		id, held := w.held.find(t.ID, file)
		w.flags(moved, t.Field, t.claims, !held)
		if moved {
			w.place(t.Place, line)
			line = t.Line
		}
		w.saying(t.TraitValue)
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

// places is how many places annotations have.
func places(all []*Trait) int {
	n := 0
	for i := range all {
		if i == 0 || !alikePlaced(all[i-1], all[i]) {
			n++
		}
	}
	return n
}

// alikePlaced reports whether two annotations, one after the other, share a place.
func alikePlaced(a, b *Trait) bool { return a.Place == b.Place || *a.Place == *b.Place }

// place writes a place; the line as the difference to that of the place before, the text as a part of
// the content, where it is one.
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

// HeldIDs are the ids of traits, in order, each with the number of the file that has it.
type heldIDs struct {
	ids    []string
	files  []byte
	byFile []int // positions of ids, by file, then in order
	ends   []int // of each file, in byFile
}

// sort orders the ids by file.
func (h *heldIDs) sort(files int) {
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

// find is the number of an id that a file has.
func (h *heldIDs) find(id string, file int) (number int, held bool) {
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

// minAnnotation is the fewest bytes that an annotation can have.
const minAnnotation = 5

func (b *blockReader) annotations(n *Note) {
	count := b.count(minAnnotation)
	placed := b.natural()
	if placed > count || (placed == 0) != (count == 0) {
		b.fail()
	}
	if count == 0 || b.failed {
		return
	}
	all, places := b.slabs.annotations.take(count), b.slabs.places.take(placed)[:0]
	n.Annotations, n.said = b.slabs.pointers.take(count), b.slabs.said.take(count)
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
		b.says(t)
		if named := flags&8 == 0; named {
			t.ID = b.id()
		} else {
			t.ID = b.word()
		}
		position += b.int()
		t.Position = position
		n.Annotations[i], n.said[i] = t, t.TraitValue
	}
}

// says reads what an annotation says, and its times.
func (b *blockReader) says(t *Trait) {
	said := b.below(len(b.sayings))
	if b.failed {
		t.TraitValue = &TraitValue{}
		return
	}
	t.TraitValue = &b.sayings[said]
	t.Times = b.timesOf()
}

func (b *blockReader) id() string {
	n := b.below(b.held.ids.len())
	if b.failed {
		return ""
	}
	return b.held.ids.at(n)
}

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

package index

import (
	"slices"
	"strings"
)

// annotations codes the annotations of a note, of at least five bytes each. The place of each is
// coded only if it differs from that of the annotation before it. An id is its number if this file
// owns it in the lookup of ids; an id that is also used in another note may not be owned by this
// file, and is then a text.
//
// A decoder allocates all places at once, so their number is coded too. The first annotation must
// have a place of its own, and no more places may follow than that number.
func (c *coder) annotations(n *Note) {
	count, placed := c.Count(len(n.Annotations), 5), countPlaces(n.Annotations)
	c.Natural(&placed)
	var free []Place
	file := 0
	if c.w != nil {
		file = c.w.files[n.Path]
	} else if free = c.allocAnnotations(n, count, placed); c.Failed() {
		return
	}
	line, position := 0, 0
	for i, t := range n.EachAnnotation {
		moved, owned, id := false, false, 0
		if c.w != nil {
			moved = i == 0 || !samePlace(&n.Annotations[i-1], t)
			id, owned = c.w.traitOwners.find(t.ID, file)
		}
		isText := !owned // most ids are owned by the file, and need no text of their own
		c.Flags(&moved, &t.Field, &t.claims, &isText)
		switch {
		case c.w != nil:
		case moved && len(free) > 0:
			t.Place, free = &free[0], free[1:]
			t.Note = n
		case moved || i == 0:
			c.Fail()
			return
		default:
			t.Place = n.Annotations[i-1].Place
		}
		if moved {
			c.place(t.Place, &line)
		}
		c.traitValue(&t.TraitValue)
		c.times(&t.Times)
		if isText {
			c.word(&t.ID)
		} else {
			c.traitID(&t.ID, id)
		}
		c.delta32(&t.position, &position)
	}
}

// allocAnnotations allocates the annotations of a decoded note, and returns that many places. It
// fails if the numbers do not fit each other.
func (c *coder) allocAnnotations(n *Note, count, placed int) []Place {
	if placed > count || (placed == 0) != (count == 0) {
		c.Fail()
	}
	if count == 0 || c.Failed() {
		return nil
	}
	n.Annotations = make([]Trait, count)
	return make([]Place, placed)
}

// countPlaces returns the number of places that annotations in this order need.
func countPlaces(all []Trait) int {
	n := 0
	for i := range all {
		if i == 0 || !samePlace(&all[i-1], &all[i]) {
			n++
		}
	}
	return n
}

// samePlace reports whether two consecutive annotations have equal places.
func samePlace(a, b *Trait) bool { return a.equal(b.Place) }

// traitID codes an id that the file owns as its number, which an encoder knows.
func (c *coder) traitID(id *string, number int) {
	if c.w != nil {
		c.Natural(&number)
		return
	}
	ids := c.r.traitOwners.ids
	if c.Index(&number, ids.len()); !c.Failed() {
		*id = ids.at(number)
	}
}

// place codes a place, of which the note is known. line is that of the previous place. The content
// has its length plus one before it, or 0 if it is the id of the note. The text is a range of the
// content if it occurs in it.
func (c *coder) place(p *Place, line *int) {
	c.delta32(&p.line, line)
	c.scope16(&p.scope, len(p.Note.Sections))
	checkbox, text := "", ""
	if !c.Decodes() {
		checkbox, text = p.Checkbox(), p.ContentText()
	}
	c.Passing(&checkbox)
	size := 1 + len(p.Content)
	if p.Content == p.Note.ID {
		size = 0
	}
	if c.Natural(&size); size > 0 {
		c.Sized(&p.Content, size-1)
	} else if c.Decodes() {
		p.Content = p.Note.ID
	}
	at := 0 // 0 if the text is the content, 1 if it is apart, else its offset in the content plus 2
	if text != p.Content {
		at = 2 + strings.Index(p.Content, text)
	}
	start := 0
	switch c.Natural(&at); {
	case at == 1:
		start = -1
		c.Passing(&text)
	case at > 1:
		start = at - 2
		c.part(&text, p.Content, start)
	case c.Decodes():
		text = p.Content
	}
	if c.Decodes() && !c.Failed() {
		p.setTexts(text, start, checkbox)
	}
}

// part codes a text that begins at an offset of another one.
func (c *coder) part(s *string, of string, at int) {
	size := len(*s)
	c.Natural(&size)
	switch {
	case !c.Decodes():
	case at > len(of) || size > len(of)-at:
		c.Fail()
	default:
		*s = of[at : at+size]
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

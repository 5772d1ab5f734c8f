package search

import (
	"cmp"
	"slices"
	"strings"
)

// A builder makes a segment of notes.
type builder struct {
	analyzer   *analyzer
	isThreaded bool
	scanner    *scanner
	signer     phraseFilter
	writer     *writer
	seg        *segment

	words map[string][]int // the terms of each word that came
	ids   map[string]int   // of terms
	terms []accumulator

	merged []byte // the term that mergedBody counts
	wasOdd bool   // the last run was odd
}

// An accumulator collects the postings of one term.
type accumulator struct {
	name string
	list postingList
	open posting // of the slot that is being read
	used bool    // whether there is an open one
}

// builder is one for the things of the index.
func (x *Index) builder() *builder {
	seg, a := &segment{}, x.analyzer
	return &builder{
		analyzer: a, isThreaded: x.profile.isThreaded(), scanner: a.scanner(), writer: &writer{seg: seg}, seg: seg,
		words: map[string][]int{}, ids: map[string]int{},
	}
}

// add adds a note. No other of this builder has its path.
func (b *builder) add(path string, n *Note) {
	head := b.slot(slot{})
	b.writer.note(path, uint32(head), uint32(head+1))
	b.writer.sign()
	if b.isThreaded {
		b.memory(head, n)
		return
	}
	b.seg.slots[head].lengths = [2]uint32{b.text(fieldTitle, n.Title), 0}
	b.text(fieldPath, strings.TrimSuffix(path, ".md"))
	for _, words := range n.Also {
		b.seg.slots[head].lengths[1] += b.text(fieldAlso, words)
	}
	for i, u := range units(n) {
		at := b.slot(slot{span: u.span, heading: b.writer.under(u.heading)})
		heading := b.text(fieldHeading, u.heading)
		body := b.body(n.Text[u.start:u.end], n.Unsure || int(u.start) < n.Body)
		b.seg.slots[at].lengths = [2]uint32{body, heading}
		if i > 0 && int(u.start) >= n.Body && int(b.seg.slots[at-1].start) < n.Body {
			b.seg.docs[len(b.seg.docs)-1].lead = uint32(at)
		}
	}
}

// slot adds a slot to the last note, or the head of the next one.
func (b *builder) slot(s slot) int {
	doc := len(b.seg.docs)
	if !s.isHead() {
		doc--
	}
	b.seg.slots = append(b.seg.slots, s)
	b.seg.docOf = append(b.seg.docOf, uint32(doc))
	return len(b.seg.slots) - 1
}

// text counts the terms of a text for a field of the last slot. It returns the number of words.
func (b *builder) text(field int, text string) (words uint32) {
	for r := range b.scanner.runs([]byte(text)) {
		words += b.run(field, r)
	}
	return words
}

// body is text for the body, of which there is a signature too. Of a unit that is unsure it does not follow that the
// body of its note has its words.
func (b *builder) body(text []byte, isUnsure bool) (words uint32) {
	for r := range b.scanner.runs(text) {
		words += b.run(fieldBody, r)
		b.mergedBody(r)
		isUnsure = isUnsure || b.wasOdd || r.changes(text)
		for _, a := range r.atoms {
			b.signer.add(a)
		}
	}
	if isUnsure {
		b.count(fieldBody, b.id([]byte(unsure)))
	}
	b.writer.signatures = b.signer.appendSignature(b.writer.signatures)
	b.writer.sign()
	return words
}

// run counts the terms of a run.
func (b *builder) run(field int, r *run) (words uint32) {
	for _, a := range r.atoms {
		words += b.atom(field, a)
	}
	if r.whole != nil {
		b.word(field, r.whole)
	}
	if b.wasOdd = b.isOdd(r); b.wasOdd {
		b.count(field, b.id([]byte(odd)))
	}
	return words
}

// isOdd reports whether letters stand side by side in a run that are in no term together.
func (b *builder) isOdd(r *run) bool {
	for i, a := range r.atoms {
		split := i > 0 && r.whole == nil && !a.spaceless && !r.atoms[i-1].spaceless
		if split || !a.spaceless && len(a.text) > longestTerm || b.isMixed(a) {
			return true
		}
	}
	return len(r.whole) > longestTerm
}

// isMixed reports whether an atom has characters of scripts with spaces and without: a mark of one on a
// character of the other.
func (b *builder) isMixed(a atom) bool {
	for i := 0; i < len(a.text); {
		k, n := b.scanner.at(a.text, i)
		if n > 1 && (k&spaceless != 0) != a.spaceless {
			return true
		}
		i += n
	}
	return false
}

// atom counts the terms of an atom.
func (b *builder) atom(field int, a atom) (words uint32) {
	if !a.spaceless {
		b.word(field, a.text)
		return 1
	}
	for _, term := range grams(a.text) {
		words++
		b.count(field, b.id(term))
	}
	return (words + 1) / 2 // of each two characters there is a pair
}

// word counts the terms of a word.
func (b *builder) word(field int, word []byte) {
	ids, ok := b.words[string(word)]
	if !ok {
		for _, term := range b.analyzer.terms(string(word)) {
			ids = append(ids, b.id([]byte(term)))
		}
		b.words[string(word)] = ids
	}
	for _, id := range ids {
		b.count(field, id)
	}
}

// id is the number of a term.
func (b *builder) id(term []byte) int {
	id, ok := b.ids[string(term)]
	if !ok {
		id = len(b.terms)
		name := string(term)
		b.ids[name] = id
		b.terms = append(b.terms, accumulator{name: name})
	}
	return id
}

// count counts one term for a field of the last slot.
func (b *builder) count(field, id int) {
	t := &b.terms[id]
	slot := uint32(len(b.seg.slots) - 1)
	if t.used && t.open.slot != slot {
		t.list.add(t.open)
		t.used = false
	}
	if !t.used {
		t.open, t.used = posting{slot: slot}, true
	}
	t.open.counts[field]++
}

// finish is the segment of the notes that were added.
func (b *builder) finish() *segment {
	names, lists := 0, 0
	for i := range b.terms {
		t := &b.terms[i]
		t.list.add(t.open)
		names, lists = names+len(t.name), lists+len(t.list.data)
	}
	slices.SortFunc(b.terms, func(a, b accumulator) int { return cmp.Compare(a.name, b.name) })
	b.writer.grow(len(b.terms), names, lists)
	for i := range b.terms {
		t := &b.terms[i]
		b.writer.add(t.name, t.list.data)
		t.list.data = nil
	}
	return b.writer.finish()
}

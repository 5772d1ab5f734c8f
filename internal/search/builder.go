package search

import (
	"cmp"
	"slices"
	"strings"
)

// A builder builds a segment from notes or memories. It must be used by one goroutine.
type builder struct {
	analyzer   *analyzer
	isThreaded bool
	scanner    *scanner
	filter     phraseFilter
	writer     *writer
	seg        *segment

	words map[string][]int // term numbers of each word that was seen
	ids   map[string]int   // term numbers, by term
	terms []accumulator    // by term number

	merged []byte // buffer of mergedBody for the name of a term
	wasOdd bool   // result of isOdd for the last run
}

// An accumulator collects the postings of one term.
//
// Postings of a term must be added in the order of their slots; so occurrences are collected until
// the next slot.
type accumulator struct {
	name string
	list postingList
	open posting // of the slot that is being added
	used bool    // whether open contains a posting
}

// builder returns an empty builder for the profile and the language of the index.
func (x *Index) builder() *builder {
	seg, a := &segment{}, x.analyzer
	return &builder{
		analyzer: a, isThreaded: x.profile.isThreaded(), scanner: a.scanner(), writer: &writer{seg: seg}, seg: seg,
		words: map[string][]int{}, ids: map[string]int{},
	}
}

// add adds a document. The caller must not add two documents with the same path.
//
// A memory is added if the profile is threaded, otherwise a note.
func (b *builder) add(path string, n *Note) {
	// Signatures are stored by slot; a head has an empty one.
	head := b.slot(slot{})
	b.writer.note(path, uint32(head), uint32(head+1))
	b.writer.endSignature()
	if b.isThreaded {
		b.memory(head, n)
		return
	}
	b.seg.slots[head].lengths = [2]uint32{b.text(fieldTitle, n.Title), 0}
	b.text(fieldPath, strings.TrimSuffix(path, ".md"))
	for _, words := range n.Keywords {
		b.seg.slots[head].lengths[1] += b.text(fieldKeywords, words)
	}
	for i, u := range units(n) {
		at := b.slot(slot{span: u.span, heading: b.writer.headingOffsets(u.heading)})
		heading := b.text(fieldHeading, u.heading)
		body := b.body(n.Text[u.start:u.end], n.Unsure || int(u.start) < n.Body)
		b.seg.slots[at].lengths = [2]uint32{body, heading}
		// The lead of a note is its first passage after the frontmatter, if there is one.
		if i > 0 && int(u.start) >= n.Body && int(b.seg.slots[at-1].start) < n.Body {
			b.seg.docs[len(b.seg.docs)-1].lead = uint32(at)
		}
	}
}

// slot appends a slot to the last document or, if it is a head, begins the next one. It returns
// the number of the slot in the segment.
func (b *builder) slot(s slot) int {
	doc := len(b.seg.docs)
	// A passage belongs to the last document that was added; a head to the one that is about to
	// be added.
	if !s.isHead() {
		doc--
	}
	b.seg.slots = append(b.seg.slots, s)
	b.seg.docOf = append(b.seg.docOf, uint32(doc))
	return len(b.seg.slots) - 1
}

// text counts the terms of a text for a field of the last slot. It returns the length of the text
// in words, which normalizes scores.
func (b *builder) text(field int, text string) (words uint32) {
	for r := range b.scanner.runs([]byte(text)) {
		words += b.run(field, r)
	}
	return words
}

// body counts the terms of the body of a passage, like text, and appends its signature. For an
// unsure passage, Proven cannot conclude that the body of the note has its words, so the passage
// also gets the term unsure.
func (b *builder) body(text []byte, isUnsure bool) (words uint32) {
	for r := range b.scanner.runs(text) {
		words += b.run(fieldBody, r)
		b.mergedBody(r)
		isUnsure = isUnsure || b.wasOdd || r.changes(text)
		for _, a := range r.atoms {
			b.filter.add(a)
		}
	}
	if isUnsure {
		b.count(fieldBody, b.id([]byte(unsure)))
	}
	b.writer.sign(&b.filter)
	return words
}

// run counts the terms of a run for a field of the last slot, and returns its number of words.
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

// isOdd reports whether a run has adjacent letters that no single term contains. See odd.
func (b *builder) isOdd(r *run) bool {
	for i, a := range r.atoms {
		// Two adjacent words are in a common term only if the run has a whole. Two spaceless
		// characters always are.
		split := i > 0 && r.whole == nil && !a.spaceless && !r.atoms[i-1].spaceless
		if split || !a.spaceless && len(a.text) > longestTerm || b.isMixed(a) {
			return true
		}
	}
	return len(r.whole) > longestTerm
}

// isMixed reports whether an atom mixes spaceless scripts with others: a mark of one kind on a
// character of the other kind.
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

// atom counts the terms of an atom for a field of the last slot, and returns its number of words.
// Two spaceless characters count as about one word.
func (b *builder) atom(field int, a atom) (words uint32) {
	if !a.spaceless {
		b.word(field, a.text)
		return 1
	}
	for _, term := range grams(a.text) {
		words++
		b.count(field, b.id(term))
	}
	return (words + 1) / 2 // grams yields about two terms for each character
}

// word counts the terms of a word for a field of the last slot.
func (b *builder) word(field int, word []byte) {
	// Most words occur often, so their terms are computed only once.
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

// id returns the number of a term, and assigns one to a new term.
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

// count counts one occurrence of a term for a field of the last slot.
func (b *builder) count(field, id int) {
	t := &b.terms[id]
	slot := uint32(len(b.seg.slots) - 1)
	// Occurrences of one slot are collected in open, because a posting is encoded with its final
	// counts.
	if t.used && t.open.slot != slot {
		t.list.add(t.open)
		t.used = false
	}
	if !t.used {
		t.open, t.used = posting{slot: slot}, true
	}
	t.open.counts[field]++
}

// finish returns the segment of the notes that were added. The builder must not be used
// afterwards.
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

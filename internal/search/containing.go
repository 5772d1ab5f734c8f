package search

import (
	"fmt"
	"iter"
	"math/bits"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// odd is the term of slots with adjacent letters that no single term contains: a word that is too
// long for a term, several words in one run with a spaceless script, or marks of a script with
// spaces on spaceless characters. A note with such a slot is always a candidate of Containing.
const odd = "!odd"

// A piece is a part of a text. A note that contains the text has the piece in one of its terms.
type piece struct {
	text  string
	whole bool // the piece is a term itself, not a part of one
}

// Containing yields the paths of all notes that contain a text, ignoring case, and of some that
// do not: the caller must check them. ok is false if the terms of the index allow no conclusion
// about the text, so that any note can contain it. Then paths yields every note.
func (x *Index) Containing(text string) (paths iter.Seq[string], ok bool) {
	pieces := x.pieces(text)
	return func(yield func(string) bool) {
		for i := range x.layers {
			l := &x.layers[i]
			docs := l.containing(pieces)
			for doc := range l.docs {
				if docs.has(doc) && l.has(doc) && !yield(l.path(doc)) {
					return
				}
			}
		}
	}, len(pieces) > 0
}

// pieces returns the pieces of a text: runs of letters and digits that the scanner reads the same
// way whatever is before and after the text. In a spaceless script they are pairs of characters.
//
// For example, the pieces of "ead_fi" are ead and fi. Each can be a part of a term, because the
// text can begin and end inside a word. The pieces of 東京都 are the terms 東京 and 京都.
func (x *Index) pieces(text string) []piece {
	var all []piece
	c, run, spaced := x.analyzer.classes, []rune(nil), false
	end := func() {
		all = appendPieces(all, run, spaced)
		run = nil
	}
	for _, r := range text {
		k := c.of(r)
		switch {
		case k&opening == 0 || !startsFresh(r):
			end()
			continue
		case len(run) > 0 && spaced != (k&spaceless == 0):
			end()
		}
		spaced = k&spaceless == 0
		run = append(run, []rune(string(fold(nil, r, k)))...)
	}
	end()
	return all
}

// startsFresh reports whether normalization leaves a character unchanged, whatever character is
// before it.
func startsFresh(r rune) bool {
	if r < utf8.RuneSelf {
		return true
	}
	c := string(r)
	return utf8.ValidRune(r) && norm.NFKC.IsNormalString(c) && norm.NFKC.PropertiesString(c).BoundaryBefore()
}

// appendPieces appends the pieces of a run of characters that are either all spaceless or all
// not. The last character is omitted if a mark after the text could be composed with it. For an
// ASCII run this is not necessary, because the terms without accents contain the plain character.
func appendPieces(all []piece, run []rune, spaced bool) []piece {
	if n := len(run); n > 0 && (!spaced || !isASCII(string(run))) &&
		!norm.NFKC.PropertiesString(string(run[n-1])).BoundaryAfter() {
		run = run[:n-1]
	}
	switch {
	case len(run) == 0:
		return all
	case spaced:
		return append(all, piece{text: string(run)})
	case len(run) == 1:
		return append(all, piece{string(run), true})
	}
	for i := range len(run) - 1 {
		all = append(all, piece{string(run[i : i+2]), true})
	}
	return all
}

// A set is a set of documents, or of slots, of one segment: one bit for each number.
type set []uint64

// set returns an empty set for the documents of the segment.
func (s *segment) set() set { return make(set, (len(s.docs)+63)/64) }

// add adds a number to the set.
func (s set) add(doc int) { s[doc/64] |= 1 << (doc % 64) }

// has reports whether a number is in the set.
func (s set) has(doc int) bool { return s[doc/64]&(1<<(doc%64)) != 0 }

// isEmpty reports whether the set has no members.
func (s set) isEmpty() bool {
	for _, b := range s {
		if bits.OnesCount64(b) > 0 {
			return false
		}
	}
	return true
}

// containing returns the documents that have all pieces in their terms. They include deleted
// documents.
func (s *segment) containing(pieces []piece) set {
	docs := s.set()
	for i := range docs {
		// Bits after the last document are set too, but no document has them.
		docs[i] = ^uint64(0)
	}
	for _, p := range pieces {
		with := s.set()
		s.termsWith(p, func(term int) {
			for r := s.list(term); r.read(); {
				with.add(int(s.docOf[r.slot]))
			}
		})
		for i := range docs {
			docs[i] &= with[i]
		}
		if docs.isEmpty() {
			break
		}
	}
	return docs
}

// termsWith calls f with each term that can contain a piece, including odd.
func (s *segment) termsWith(p piece, f func(term int)) {
	exact := []string{odd}
	if p.whole {
		exact = append(exact, p.text)
	}
	for _, name := range exact {
		if i := s.from(name); i < s.terms() && s.name(i) == name {
			f(i)
		}
	}
	if p.whole {
		return
	}
	for _, sign := range []string{asWritten, unaccented} {
		s.termsAround(sign, p.text, f)
	}
}

// termsAround calls f once with each term that begins with a sign and contains a text. The names
// of terms are adjacent in one string, which is searched as a whole; matches across the end of a
// name are skipped.
func (s *segment) termsAround(sign, text string, f func(term int)) {
	first, end := s.prefixed(sign)
	if first == end {
		return
	}
	// term is found by binary search over the ends of the names.
	to := int(s.nameEnds[end-1])
	for at := int(s.nameEnds[first]) - len(s.name(first)); ; {
		i := strings.Index(s.names[at:to], text)
		if i < 0 {
			return
		}
		at += i
		term := first + sort.Search(end-first, func(n int) bool { return int(s.nameEnds[first+n]) > at })
		if behind := int(s.nameEnds[term]); at+len(text) <= behind {
			f(term)
			at = behind
			continue
		}
		at++
	}
}

// A Part is one requirement of a query, which a text can meet on its own: a word in any of its
// forms, a prefix, or a phrase. It can be used only with the index that returned it.
type Part struct {
	Not bool // a matching text must not have it

	requirement *requirement
}

// A UnitPosition identifies a passage of a note by the line in which it begins, from 1.
type UnitPosition struct {
	Doc  string
	Line int
}

// Parts returns the requirements of a query. The spelling of words that are not in the index is
// not corrected. Clauses without searchable characters have no part.
//
// A caller can combine the passages of several parts, for example to find the notes that have all
// words of a query in one section.
func (x *Index) Parts(q Query) []Part {
	p := &planner{x: x, scan: x.analyzer.scanner(), seen: map[string]bool{}}
	var all []Part
	for _, c := range q.Clauses[:min(len(q.Clauses), maxWords)] {
		for _, r := range p.partsOf(c) {
			if len(r.parts) > 0 {
				all = append(all, Part{c.Not, r})
			}
		}
	}
	return all
}

// partsOf returns the requirements of a clause: one for each word of plain text, else one.
func (p *planner) partsOf(c Clause) []*requirement {
	if c.Kind == Phrase {
		return []*requirement{p.phrase(c.Text)}
	}
	if forms := p.prefixForms(c.Text); c.Kind == Prefix && forms != nil {
		return []*requirement{{parts: [][]form{forms}}}
	}
	var all []*requirement
	for run := range p.scan.runs([]byte(c.Text)) {
		r := &requirement{}
		r.add(run)
		// A run of plain text can match in any form, so its text is not verified.
		r.phrase = nil
		for i := range r.parts {
			r.parts[i] = p.anyForm(r.parts[i])
		}
		all = append(all, r)
	}
	return all
}

// anyForm appends to the forms of a word as written those of its other forms. It returns forms
// unchanged if the first one is not a word as written.
func (p *planner) anyForm(forms []form) []form {
	asIs := forms[0].term
	if len(asIs) == 0 || asIs[:1] != asWritten {
		return forms
	}
	word := asIs[len(asWritten):]
	if p.x.analyzer.stops[word] {
		return append(forms, p.x.analyzer.bareForms(word)...)
	}
	return append(forms, p.x.analyzer.wordForms(word)...)
}

// UnitsWith returns the passages that have a part, ignoring Part.Not. Matches in the names of a
// note do not count. text returns the text of a note, which is read to verify a phrase. The only
// errors are those of text.
func (x *Index) UnitsWith(p Part, text func(doc string) ([]byte, error)) ([]UnitPosition, error) {
	var all []UnitPosition
	for i := range x.layers {
		l := &x.layers[i]
		r := reader{scan: x.analyzer.scanner(), liveSegment: l, textOf: text}
		last := -1
		for _, slot := range slotsWith(p.requirement.parts, l.slotsOf) {
			doc := int(l.docOf[slot])
			if l.slots[slot].isHead() {
				continue
			}
			if doc != last {
				// The reader keeps the text of one note.
				last, r.read, r.text = doc, false, nil
			}
			if p.requirement.phrase != nil && !r.contains(&scored{path: l.path(doc)}, slot, p.requirement.phrase) {
				if r.err != nil {
					return nil, fmt.Errorf("read the text of a note found: %w", r.err)
				}
				continue
			}
			all = append(all, UnitPosition{l.path(doc), int(l.slots[slot].line)})
		}
	}
	return all, nil
}

package search

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// Unsigned is the index with signatures that leave nothing out: every phrase is looked for in every
// unit that has its words.
func (x *Index) Unsigned() *Index {
	y := &Index{x.profile, x.analyzer, slices.Clone(x.layers), x.totals}
	for i := range y.layers {
		was := y.layers[i].segment
		s := segment{
			paths: was.paths, docs: was.docs, byPath: was.byPath, order: was.order,
			headings: was.headings, slots: was.slots, docOf: was.docOf,
			signatures: strings.Repeat("\xff", len(was.slots)),
			names:      was.names, nameEnds: was.nameEnds, lists: was.lists, listEnds: was.listEnds,
		}
		for slot := range s.slots {
			s.signatureEnds = append(s.signatureEnds, uint32(slot+1))
		}
		y.layers[i].segment = &s
	}
	return y
}

// IsNormal is for a test of all characters.
func IsNormal(r rune) bool { return isNormal(r) }

// Aliases reports whether a text lies in some bytes.
func Aliases(data []byte, text string) bool {
	first, at := unsafe.Pointer(unsafe.SliceData(data)), unsafe.Pointer(unsafe.StringData(text))
	return uintptr(at) >= uintptr(first) && uintptr(at) < uintptr(first)+uintptr(len(data))
}

// HoldsPhrase reports whether a text holds a phrase, by its bytes and by all of its words, and whether it
// can be told by the bytes.
func HoldsPhrase(text, phrase string) (sought, cut, canSeek bool) {
	s := newAnalyzer("").scanner()
	var atoms []atom
	for r := range s.runs([]byte(phrase)) {
		for _, a := range r.atoms {
			a.text = []byte(string(a.text))
			atoms = characters(atoms, a)
		}
	}
	if len(atoms) == 0 {
		return false, false, false
	}
	return s.contains([]byte(text), atoms), s.containsBySplitting([]byte(text), atoms), s.canSeek(atoms[0].text, []byte(text))
}

// Unmarked returns the terms of the words of some texts that mark no word of their own text, after the text.
func Unmarked(language string, texts []string) (list []string) {
	a := newAnalyzer(language)
	for _, text := range texts {
		var words, terms []string
		for r := range a.scanner().runs([]byte(text)) {
			words = append(words, string(r.whole))
			for _, atom := range r.atoms {
				if !atom.spaceless { // its terms are not those of a word
					words = append(words, string(atom.text))
				}
			}
		}
		for _, word := range words {
			if word != "" {
				terms = append(terms, a.terms(word)...)
			}
		}
		for _, term := range terms {
			m := newMarker(a, []*concept{{forms: []form{{term: term}}}})
			if len(m.marks([]byte(text))) == 0 {
				list = append(list, text, term)
			}
		}
	}
	return list
}

// LoweredFor returns how many bytes of a text are copied in lower case to look for a phrase.
func LoweredFor(text, phrase string) int {
	s := newAnalyzer("").scanner()
	p := &planner{x: Empty(""), scan: s}
	s.contains([]byte(text), p.phrase(phrase).phrase)
	return len(s.low)
}

// Decoded returns how many occurrences are decoded for the words of a query.
func (x *Index) Decoded(query string) int {
	g := x.gatherer()
	defer g.release()
	g.plan(ParseQuery(query))
	return len(g.arena)
}

// NormalizedFor returns how many bytes of the last normalized word there are after the words of a text were
// compared with a term; 0 if none was normalized.
func NormalizedFor(text, term string) int {
	m := newMarker(newAnalyzer("english"), []*concept{{forms: []form{{term: term}}}})
	m.marks([]byte(text))
	return len(m.scan.raw)
}

// A Scanner is a scanner.
type Scanner = scanner

// NewScanner returns a scanner.
func NewScanner() *Scanner { return newAnalyzer("english").scanner() }

// SplitsAlike reports whether a run has the same atoms whether or not it is taken for a plain one.
func SplitsAlike(s *Scanner, text string) (alike, plain bool) {
	s.atoms, s.buf = s.atoms[:0], s.buf[:0]
	end, plain := s.extent([]byte(text), 0)
	if !plain || end < len(text) {
		return true, false
	}
	s.split([]byte(text), 0)
	return len(s.atoms) == 1 && string(s.atoms[0].text) == text && !s.atoms[0].spaceless, true
}

// ListedFor returns how many occurrences a search for the words of a query reads to score notes.
func (x *Index) ListedFor(query string) (n int) {
	g := x.gatherer()
	defer g.release()
	p := g.plan(ParseQuery(query))
	for i := range x.layers {
		for _, list := range newWalker(x, i, p.concepts).rest {
			n += len(list)
		}
	}
	return n
}

// LookedUpFor returns how many slots with the phrases of a query are found if the lists of its concepts are
// empty.
func (x *Index) LookedUpFor(query string) (n int) {
	g := x.gatherer()
	defer g.release()
	p := &planner{x: x, plan: g.plan(ParseQuery(query))}
	for _, c := range p.concepts {
		c.lists = make([][]weighted, len(x.layers))
	}
	p.lookUp(p.must)
	for _, r := range p.must {
		for _, list := range r.lists {
			n += len(list)
		}
	}
	return n
}

// IndexOf returns the offset of the first occurrence of a part in a text from an offset on, as a needle
// finds it.
func IndexOf(text, part string, from int) int {
	return newNeedle([]byte(part)).index([]byte(text), from)
}

// SplitFor returns how many atoms of a text are split to look for a phrase.
func SplitFor(text, phrase string) (found bool, atoms int) {
	s := newAnalyzer("").scanner()
	p := &planner{x: Empty(""), scan: s}
	found = s.contains([]byte(text), p.phrase(phrase).phrase)
	return found, len(s.found)
}

// Lowered returns a text with its ASCII letters in lower case.
func Lowered(text string) string {
	s := newAnalyzer("").scanner()
	for at := s.lowerASCII([]byte(text), 0); at < len(text); {
		at = s.lowerASCII([]byte(text), at+1)
	}
	return string(s.low)
}

// ExaminedFor returns how many words of a text are examined, and how many marks found, for a snippet with
// some words, and the snippet. has says whether the postings show that the text has all of these words.
func ExaminedFor(text string, has bool, words ...string) (examined, marks int, snippet string, ranges [][2]int) {
	var concepts []*concept
	var all []bool
	for i, w := range words {
		concepts = append(concepts, &concept{forms: []form{{term: asWritten + w}}, idf: 1 / float64(i+3)})
		all = append(all, has)
	}
	m := newMarker(newAnalyzer("english"), concepts)
	for range m.scan.runsIf([]byte(text), &m.starts.ascii, func([]byte, bool) bool { examined++; return false }) {
	}
	snippet, ranges = m.snippet([]byte(text), all)
	return examined, len(m.found), snippet, ranges
}

// SnippetAllocations returns how many pieces of memory a snippet with a word takes if the marker has made
// one before.
func SnippetAllocations(text, word string) float64 {
	m := newMarker(newAnalyzer("english"), []*concept{{forms: []form{{term: asWritten + word}}, idf: 1}})
	m.snippet([]byte(text), nil)
	return testing.AllocsPerRun(10, func() { m.snippet([]byte(text), nil) })
}

// VisitedFor returns how many notes with words of a query are visited to rank those with its phrases.
func (x *Index) VisitedFor(query string) (n int) {
	g := x.gatherer()
	defer g.release()
	s := &searcher{x: x, plan: g.plan(ParseQuery(query))}
	_, _ = s.narrow() // nothing cancels it
	for i := range x.layers {
		w := newWalker(x, i, s.concepts)
		w.required = s.rarest(i)
		for doc, ok := s.next(w, -1); ok; doc, ok = s.next(w, doc) {
			w.skip(doc)
			n++
		}
	}
	return n
}

// FirstFrom returns the index of the first number that is at least n among some numbers in ascending order.
func FirstFrom(numbers []uint32, n uint32) int {
	var list []weighted
	for _, slot := range numbers {
		list = append(list, weighted{slot: slot})
	}
	return firstFrom(list, n)
}

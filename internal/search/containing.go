package search

import (
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

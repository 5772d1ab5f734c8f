package search

import (
	"iter"
	"math/bits"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// odd is the term of notes in which letters stand side by side that are in no term together: a word that is
// too long for a term, several words in one run with a script without spaces, or marks on such a script.
const odd = "!odd"

// A piece is a part of a text that a note has in one of its terms, if the note has the text.
type piece struct {
	text  string
	whole bool // it is a term by itself
}

// Containing yields the paths of all notes that contain a text as it is, whatever its case, and of some that
// do not. It is not ok if the words of the index say nothing about the text: any note may contain it.
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

// pieces are the pieces of a text: its runs of letters and digits that are read as they are, whatever is
// before and behind the text. In a script without spaces they are pairs of characters.
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

// startsFresh reports whether normalization leaves a character as it is, whatever is before it.
func startsFresh(r rune) bool {
	if r < utf8.RuneSelf {
		return true
	}
	c := string(r)
	return utf8.ValidRune(r) && norm.NFKC.IsNormalString(c) && norm.NFKC.PropertiesString(c).BoundaryBefore()
}

// appendPieces appends the pieces of a run of characters of one kind of script. A mark behind the text may be
// composed with the last character. Terms without accents have it all the same, if they are of ASCII.
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

// A set is a set of the notes of a segment.
type set []uint64

func (s *segment) set() set { return make(set, (len(s.docs)+63)/64) }

func (s set) add(doc int) { s[doc/64] |= 1 << (doc % 64) }

func (s set) has(doc int) bool { return s[doc/64]&(1<<(doc%64)) != 0 }

func (s set) isEmpty() bool {
	for _, b := range s {
		if bits.OnesCount64(b) > 0 {
			return false
		}
	}
	return true
}

// containing are the notes that have all pieces.
func (s *segment) containing(pieces []piece) set {
	docs := s.set()
	for i := range docs {
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

// termsWith calls a function with the terms that a piece may be in.
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

// termsAround calls a function with the terms that begin with a sign and have a text in them, once each. The
// names of terms lie one behind the other, so they are searched as one text.
func (s *segment) termsAround(sign, text string, f func(term int)) {
	first, end := s.prefixed(sign)
	if first == end {
		return
	}
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

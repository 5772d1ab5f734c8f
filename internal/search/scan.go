package search

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An atom is the smallest unit of text that is searched: a word, a part of an identifier, or a
// stretch of a spaceless script.
type atom struct {
	text       []byte // NFKC, lower case
	start, end int    // offsets in the scanned text
	spaceless  bool
	soft       bool // only a joiner, or nothing, separates it from the atom before
}

// A run is a word, or an identifier such as readFile, read_file, read-file, read.file or O'Brien.
// It is valid until the next run is yielded.
//
//	text         atoms          whole
//	word         word           none
//	readFile     read, file     readfile
//	read-file    read, file     readfile
//	HTTPServer   http, server   httpserver
//	O'Brien      o, brien       obrien
//	Go語         go, 語         none
type run struct {
	atoms      []atom
	whole      []byte // all atoms joined, if there are several; nil if one is spaceless
	start, end int    // offsets in the scanned text
}

// A scanner splits texts into runs. It reuses its buffers and must be used by one goroutine.
type scanner struct {
	classes *classes
	atoms   []atom
	raw     []byte // input of normalization
	buf     []byte // memory of the atoms of a run
	whole   []byte // memory of run.whole

	found []atom // atoms of a text in which a phrase is searched
	kept  []byte // memory of the atoms in found
	low   []byte // that text in lower case, as canSeek sets it

	literal []byte // the phrase as containsLiterally searches for it
}

// runs yields the runs of a text. Invalid UTF-8 separates words.
func (s *scanner) runs(text []byte) iter.Seq[*run] {
	return s.runsIf(text, nil, func([]byte, bool) bool { return true })
}

// runsIf yields the runs of a text that are wanted. It does not split or normalize the others.
// wanted is called with the text of a run, and whether it is plain; see extent. It need not be called
// for a run of small ASCII letters whose first letter is not in starts; nil: all letters are.
func (s *scanner) runsIf(
	text []byte, starts *[utf8.RuneSelf]bool, wanted func(raw []byte, plain bool) bool,
) iter.Seq[*run] {
	return func(yield func(*run) bool) {
		var r run
		for at := 0; at < len(text); {
			// Skip everything that cannot begin a word, mostly a space.
			if text[at] <= ' ' {
				at++
				continue
			}
			letters := endOfSmall(text, at)
			if starts != nil && letters > at && !starts[text[at]] && (letters == len(text) || text[letters] <= ' ') {
				at = letters
				continue
			}
			if letters == at {
				if k, n := s.at(text, at); k&opening == 0 {
					at += n
					continue
				}
			}
			end, plain := s.extent(text, letters)
			if raw := text[at:end]; wanted(raw, plain) {
				r.start, r.end = at, end
				s.read(&r, raw, plain)
				if len(r.atoms) > 0 && !yield(&r) {
					return
				}
			}
			at = end
		}
	}
}

// endOfSmall returns the end of the small ASCII letters at an offset.
func endOfSmall(text []byte, at int) int {
	for at < len(text) && 'a' <= text[at] && text[at] <= 'z' {
		at++
	}
	return at
}

// at returns the class and the length in bytes of the character at an offset.
func (s *scanner) at(text []byte, i int) (class, int) {
	if text[i] < utf8.RuneSelf {
		return s.classes[text[i]], 1
	}
	r, n := decode(text, i)
	return s.classes.of(r), n
}

// decode returns the character at an offset of a text, which is not ASCII, and its length in bytes, as
// utf8.DecodeRune does. It is faster for characters of two bytes.
func decode(text []byte, i int) (rune, int) {
	if c := text[i]; 0xC2 <= c && c < 0xE0 && i+1 < len(text) && text[i+1]&0xC0 == 0x80 {
		return rune(c&0x1F)<<6 | rune(text[i+1]&0x3F), 2
	}
	return utf8.DecodeRune(text[i:])
}

// extent returns the end of the run that begins at an offset, or before it with small ASCII letters. A
// plain run is a single atom without any normalization: small ASCII letters and digits, and characters
// of class asIs.
//
// Joiners are part of a run only between words.
func (s *scanner) extent(text []byte, at int) (end int, plain bool) {
	plain = true
	for at < len(text) {
		// Most characters are small letters of ASCII, and most runs end at a space.
		c := text[at]
		if 'a' <= c && c <= 'z' {
			at++
			continue
		}
		if c <= ' ' {
			return at, plain
		}
		k, n := s.at(text, at)
		switch {
		case k&(inWord|silent) != 0:
			plain = plain && (n == 1 && k&upper == 0 || k&asIs != 0)
		case s.joins(text, at):
			plain, n = false, joiner(text[at:])
		default:
			return at, plain
		}
		at += n
	}
	return at, plain
}

// joiner returns the length of the joiner that a text begins with; 0 if there is none.
func joiner(text []byte) int {
	switch {
	case text[0] == '_', text[0] == '-', text[0] == '.', text[0] == '\'':
		return 1
	case len(text) > 2 && string(text[:3]) == "’":
		return 3
	}
	return 0
}

// joins reports whether there is a joiner at an offset with a word directly after it.
func (s *scanner) joins(text []byte, at int) bool {
	n := joiner(text[at:])
	if n == 0 || at+n >= len(text) {
		return false
	}
	k, _ := s.at(text, at+n)
	return k&opening != 0
}

// read sets the atoms and the whole of a run.
func (s *scanner) read(r *run, text []byte, plain bool) {
	s.atoms, s.buf, r.whole = s.atoms[:0], s.buf[:0], nil
	// A plain run needs no copy: its atom is a slice of the text.
	if plain {
		s.atoms = append(s.atoms, atom{text: text, start: r.start, end: r.end})
		r.atoms = s.atoms
		return
	}
	s.split(text, r.start)
	r.atoms = s.atoms
	if len(r.atoms) > 1 {
		r.whole = s.join()
	}
}

// join returns the joined atoms of the run; nil if one of them is spaceless.
func (s *scanner) join() []byte {
	s.whole = s.whole[:0]
	for _, a := range s.atoms {
		if a.spaceless {
			return nil
		}
		s.whole = append(s.whole, a.text...)
	}
	return s.whole
}

// split appends the atoms of a run. It splits at joiners, before capital letters, and between
// scripts with and without spaces.
func (s *scanner) split(text []byte, offset int) {
	var before class
	start := 0
	for at := 0; at < len(text); {
		k, n := s.at(text, at)
		switch k {
		case 0:
			s.part(text[start:at], offset+start)
			n = joiner(text[at:])
			start, before = at+n, 0
		case silent:
		default:
			if s.beginsPart(before, k, text[at+n:]) {
				s.part(text[start:at], offset+start)
				start = at
			}
			if k&opening != 0 {
				before = k
			}
		}
		at += n
	}
	s.part(text[start:], offset+start)
}

// beginsPart reports whether a new part begins at a character of class now: readFile, HTTPServer, Go語.
func (s *scanner) beginsPart(before, now class, rest []byte) bool {
	switch {
	case before == 0:
		return false
	case before&spaceless != now&spaceless:
		return now&opening != 0
	case now&upper == 0:
		return false
	// After a capital letter, another one begins a part only if a small letter follows: HTTP and
	// Server.
	case before&upper != 0 && len(rest) > 0:
		next, _ := s.at(rest, 0)
		return next&lower != 0
	}
	return before&lower != 0
}

// part normalizes one part and appends its atoms: one, except that a character such as ½ can
// decompose into several.
func (s *scanner) part(text []byte, offset int) {
	a := atom{start: offset, end: offset + len(text), soft: len(s.atoms) > 0}
	from := len(s.buf)
	for _, r := range string(s.normal(text)) {
		k := s.classes.of(r)
		// Normalization can produce characters that separate words, such as the fraction slash of
		// ½.
		if k&inWord == 0 {
			from = s.atom(a, from)
			a.soft = len(s.atoms) > 0
			continue
		}
		a.spaceless = k&spaceless != 0
		s.buf = fold(s.buf, r, k)
	}
	s.atom(a, from)
}

// atom appends the atom whose text is in the buffer from an offset on, unless it is empty. It
// returns the new end of the buffer.
func (s *scanner) atom(a atom, from int) int {
	if len(s.buf) > from {
		a.text = s.buf[from:len(s.buf):len(s.buf)]
		s.atoms = append(s.atoms, a)
	}
	return len(s.buf)
}

// normal returns a text in NFKC, without silent characters. The result is valid until the next
// call.
func (s *scanner) normal(text []byte) []byte {
	s.raw = s.raw[:0]
	normal := true
	for at := 0; at < len(text); {
		r, n := rune(text[at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[at:])
			normal = normal && isNormal(r)
		}
		if s.classes.of(r) != silent {
			s.raw = append(s.raw, text[at:at+n]...)
		}
		at += n
	}
	if normal || norm.NFKC.IsNormal(s.raw) {
		return s.raw
	}
	return norm.NFKC.Bytes(s.raw)
}

// isNormal reports whether NFKC leaves a character unchanged in a text that consists only of such
// characters. It recognizes the letters of most languages and returns false for others.
func isNormal(r rune) bool {
	switch {
	case r < 0x180:
		return r < utf8.RuneSelf || isItself(r)
	case r < 0x400:
		return r >= 0x388 && r <= 0x3CE // Greek
	case r < 0x482:
		return true // Cyrillic
	}
	return isWhole(r) || r >= 0x1EA0 && r <= 0x1EF9 // Vietnamese
}

// fold appends a character in the form that all its cases have in common.
//
// The sharp s is folded to ss, and the final sigma to the other one.
func fold(b []byte, r rune, k class) []byte {
	switch {
	case r == 'ß', r == 'ẞ':
		return append(b, "ss"...)
	case r == 'ς':
		return utf8.AppendRune(b, 'σ')
	case k&(lower|spaceless) != 0:
		return utf8.AppendRune(b, r)
	}
	return utf8.AppendRune(b, unicode.ToLower(r))
}

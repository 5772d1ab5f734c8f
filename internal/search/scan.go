package search

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An atom is the smallest thing that is searched: a word, a part of an identifier, or a stretch of
// a script without spaces.
type atom struct {
	text       []byte // NFKC, in lower case
	start, end int    // where it stands in the text that was scanned
	spaceless  bool
	soft       bool // nothing but a joiner parts it from the atom before it
}

// A run is what stands together: a word, or an identifier such as readFile, read_file, read-file,
// read.file, O'Brien. It is good until the next one is asked for.
type run struct {
	atoms      []atom
	whole      []byte // of several atoms, all in one; nil where one of them is spaceless
	start, end int
}

// A scanner cuts texts into runs. It is used by one goroutine.
type scanner struct {
	classes *classes
	atoms   []atom
	raw     []byte // what is normalized
	buf     []byte // what the atoms of a run are slices of
	whole   []byte

	found []atom // of a text in which a phrase is looked for
	kept  []byte // what these are slices of
	low   []byte // that text, its ASCII in lower case
}

// runs yields the runs of a text. Invalid UTF-8 parts words.
func (s *scanner) runs(text []byte) iter.Seq[*run] {
	return func(yield func(*run) bool) {
		var r run
		for at := 0; at < len(text); {
			k, n := s.at(text, at)
			if k&opening == 0 {
				at += n
				continue
			}
			end, plain := s.extent(text, at)
			r.start, r.end = at, end
			s.read(&r, text[at:end], plain)
			if len(r.atoms) > 0 && !yield(&r) {
				return
			}
			at = end
		}
	}
}

// at is the class of the character at an offset, and its length.
func (s *scanner) at(text []byte, i int) (class, int) {
	if text[i] < utf8.RuneSelf {
		return s.classes[text[i]], 1
	}
	r, n := utf8.DecodeRune(text[i:])
	return s.classes.of(r), n
}

// extent is where the run ends that begins at an offset. A plain one is an atom as it stands: small
// letters and digits of ASCII, and small letters that are searched as they are.
func (s *scanner) extent(text []byte, at int) (end int, plain bool) {
	plain = true
	for at < len(text) {
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

// joiner is the length of the joiner that a text begins with; 0 if there is none.
func joiner(text []byte) int {
	switch {
	case text[0] == '_', text[0] == '-', text[0] == '.', text[0] == '\'':
		return 1
	case len(text) > 2 && string(text[:3]) == "’":
		return 3
	}
	return 0
}

// joins reports whether a joiner stands at an offset, and a word follows it at once.
func (s *scanner) joins(text []byte, at int) bool {
	n := joiner(text[at:])
	if n == 0 || at+n >= len(text) {
		return false
	}
	k, _ := s.at(text, at+n)
	return k&opening != 0
}

// read reads the atoms of a run.
func (s *scanner) read(r *run, text []byte, plain bool) {
	s.atoms, s.buf, r.whole = s.atoms[:0], s.buf[:0], nil
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

// join is the run's atoms in one, if none of them is spaceless.
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

// split finds the parts of a run: at joiners, before capitals, and where the script turns from one
// with spaces to one without.
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
			if s.turns(before, k, text[at+n:]) {
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

// turns reports whether a new part begins with a character of a class: readFile, HTTPServer, Go語.
func (s *scanner) turns(before, now class, rest []byte) bool {
	switch {
	case before == 0:
		return false
	case before&spaceless != now&spaceless:
		return now&opening != 0
	case now&upper == 0:
		return false
	case before&upper != 0 && len(rest) > 0:
		next, _ := s.at(rest, 0)
		return next&lower != 0
	}
	return before&lower != 0
}

// part normalizes one part and adds what it has of atoms: one, unless a character such as ½ stands
// for several.
func (s *scanner) part(text []byte, offset int) {
	a := atom{start: offset, end: offset + len(text), soft: len(s.atoms) > 0}
	from := len(s.buf)
	for _, r := range string(s.normal(text)) {
		k := s.classes.of(r)
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

// atom adds the atom that the buffer holds from an offset on, if there is any.
func (s *scanner) atom(a atom, from int) int {
	if len(s.buf) > from {
		a.text = s.buf[from:len(s.buf):len(s.buf)]
		s.atoms = append(s.atoms, a)
	}
	return len(s.buf)
}

// normal is a text without what is silent, in NFKC.
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

// isNormal reports of the letters of most languages that NFKC leaves them as they are, if there is
// nothing else in a text.
func isNormal(r rune) bool {
	switch {
	case r < 0x180:
		return r < utf8.RuneSelf || isItself(r)
	case r < 0x400:
		return r >= 0x388 && r <= 0x3CE // Greek
	case r < 0x482:
		return true // Cyrillic
	}
	return isWhole(r)
}

// fold appends a character in the one case that all cases of it have.
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

package search

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// contains reports whether a text contains a phrase: the same letters, beginning and ending at word
// boundaries. A word of the phrase can be several words of the text, or the other way round, only
// inside an identifier: "github actions" is in GitHub Actions, but "the rapist" is not in
// therapist.
//
// The words of a phrase occur mostly outside the phrase, and splitting a text into words is slow.
// So contains searches for the bytes of the first atom, and splits only the text around each match.
// This misses nothing as long as no character of the text can normalize to another one; canSeek
// checks that.
func (s *scanner) contains(text []byte, phrase []atom) bool {
	if s.containsLiterally(text, phrase) {
		return true
	}
	first := phrase[0]
	if !s.canSeek(first.text, text) {
		return s.containsBySplitting(text, phrase)
	}
	for at := 0; ; at += len(first.text) {
		i := bytes.Index(s.low[at:], first.text)
		if i < 0 {
			return false
		}
		at += i
		if s.containsAt(text, at, phrase) {
			return true
		}
	}
}

// containsLiterally reports whether a text contains a phrase in small letters, with a single space
// between words. The first letter can be a capital one, as at the beginning of a sentence. It is much
// faster than contains, and true for most texts that contain the phrase.
func (s *scanner) containsLiterally(text []byte, phrase []atom) bool {
	first := phrase[0]
	r, n := utf8.DecodeRune(first.text)
	// Other spaceless characters can belong to the character before them; see containsAt.
	if first.spaceless && !isWhole(r) {
		return false
	}
	s.literal = s.literal[:0]
	for i, a := range phrase {
		if i > 0 && !a.soft && (!a.spaceless || !phrase[i-1].spaceless) {
			s.literal = append(s.literal, ' ')
		}
		s.literal = append(s.literal, a.text...)
	}
	literal := s.literal
	if len(first.text) > n {
		literal = literal[n:]
	}
	at := bytes.Index(text, literal)
	return at >= 0 && s.containsAt(text, at, phrase)
}

// containsAt reports whether a text contains a phrase in the runs from an offset on, which is in its
// first atom. It splits only these runs.
func (s *scanner) containsAt(text []byte, at int, phrase []atom) bool {
	// The phrase ends at most so many letters after its begin, which bounds the text to split.
	letters := 0
	for _, a := range phrase {
		letters += utf8.RuneCount(a.text)
	}
	start := at
	// The match can be inside a word; then the phrase does not begin there, which only the whole
	// run shows.
	if !phrase[0].spaceless {
		start = s.runStart(text, at)
	}
	return s.containsBySplitting(text[start:s.runEndAfter(text, at, letters)], phrase)
}

// canSeek reports whether an atom can be found by its bytes, and if so sets low to the text in
// lower case. It can if the atom is ASCII and longer than one byte, if it is one character that
// isWhole, or if all characters of the atom and of the text are steady. The rest of the text must
// not contain characters that normalize to others.
func (s *scanner) canSeek(first, text []byte) bool {
	r, n := utf8.DecodeRune(first)
	switch {
	case len(first) == 1:
		return false
	case isASCII(string(first)) || n == len(first) && isWhole(r):
		return s.lower(text)
	}
	return allSteady(first) && s.lowerSteady(text)
}

// steady returns a bit set of the characters of the Basic Multilingual Plane that NFKC leaves
// unchanged whatever characters are next to them. A text of such characters is normalized
// character by character.
var steady = sync.OnceValue(func() *[planes / 64]uint64 {
	bits := &[planes / 64]uint64{}
	for r := range rune(planes) {
		if steadyRune(r) {
			bits[r/64] |= 1 << (r % 64)
		}
	}
	return bits
})

// isSteady reports whether a character is steady.
func isSteady(r rune) bool { return r < planes && steady()[r/64]&(1<<(r%64)) != 0 }

// allSteady reports whether all characters of a text are steady.
func allSteady(text []byte) bool {
	for _, r := range string(text) {
		if !isSteady(r) {
			return false
		}
	}
	return true
}

// lowerSteady sets low to a text in lower case, at the same offsets. It returns false if the text
// cannot be normalized character by character at the same length.
func (s *scanner) lowerSteady(text []byte) bool {
	s.low = append(s.low[:0], text...)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				s.low[i] = c + 'a' - 'A'
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		k := s.classes.of(r)
		// Offsets in low must be the same as in the text, so the length of each character must
		// stay.
		if k != 0 && k&asIs == 0 && (k == silent || !isSteady(r) || len(fold(s.low[:i], r, k)) != i+n) {
			return false
		}
		i += n
	}
	return true
}

// lower sets low to a text with its ASCII letters in lower case. It returns false if a character
// of the text can normalize to ASCII, or to a character that isWhole.
func (s *scanner) lower(text []byte) bool {
	s.low = append(s.low[:0], text...)
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c < utf8.RuneSelf:
			if 'A' <= c && c <= 'Z' {
				s.low[i] = c + 'a' - 'A'
			}
			i++
		default:
			r, n := utf8.DecodeRune(text[i:])
			if s.classes.of(r) != 0 && !isWhole(r) && !isItself(r) {
				return false
			}
			i += n
		}
	}
	return true
}

// isWhole reports whether a character is one of those that Chinese, Japanese and Korean are
// mostly written in, none of which is composed of others or the normal form of another.
func isWhole(r rune) bool {
	return r >= 0x3005 && r <= 0x3007 || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FE ||
		r >= 0x3400 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3
}

// isItself reports whether the normal form of a character is a character of its own kind, in
// lower case or with an accent: never ASCII, and never one that isWhole.
func isItself(r rune) bool {
	switch r {
	case 0xDF, 0x130, 0x132, 0x133, 0x13F, 0x140, 0x149, 0x17F:
		return false // ß, İ, Ĳ, ĳ, Ŀ, ŀ, ŉ, ſ
	}
	return r >= 0xC0 && r < 0x180 || r >= 0x300 && r < 0x1100 || r >= 0x1200 && r < 0x1C00
}

// runStart returns the offset of the begin of the run that contains an offset, or of an earlier
// run.
func (s *scanner) runStart(text []byte, at int) int {
	for at > 0 {
		r, n := utf8.DecodeLastRune(text[:at])
		if s.classes.of(r)&(inWord|silent) == 0 && joiner(text[at-n:at]) == 0 {
			break
		}
		at -= n
	}
	return at
}

// runEndAfter returns the end of the run that contains the last of a number of letters from an offset
// on.
func (s *scanner) runEndAfter(text []byte, at, letters int) int {
	for at < len(text) {
		k, n := s.at(text, at)
		if k&opening != 0 {
			if letters--; letters <= 0 {
				end, _ := s.extent(text, at)
				return end
			}
		}
		at += n
	}
	return at
}

package search

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// holds reports whether a text holds a phrase: the same letters, beginning and ending with words. A
// word of one may be several of the other only inside an identifier: "github actions" stands in
// GitHub Actions, "the rapist" not in therapist.
//
// The words of a phrase are mostly not where the phrase is, and to cut a text into words takes long.
// So its first atom is looked for as it is, and only what stands there is cut. Nothing is missed as
// long as no character of the text may read as another one.
func (s *scanner) holds(text []byte, phrase []atom) bool {
	first := phrase[0]
	if !s.canSeek(first.text, text) {
		return s.cutHolds(text, phrase)
	}
	letters := 0
	for _, a := range phrase {
		letters += utf8.RuneCount(a.text)
	}
	for at := 0; ; at += len(first.text) {
		i := bytes.Index(s.low[at:], first.text)
		if i < 0 {
			return false
		}
		at += i
		start := at
		if !first.spaceless {
			start = s.runStart(text, at)
		}
		if s.cutHolds(text[start:s.behind(text, at, letters)], phrase) {
			return true
		}
	}
}

// canSeek reports whether an atom reads as it is wherever a text has it, and lowers the text for it: in
// ASCII, but for a single character; in a script whose characters are never composed of others; or where
// no character of either is read as others.
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

// steady are the characters of the first plane, as bits, that NFKC leaves as they are whatever is before
// or behind them, so that a text of them is read character by character.
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

// allSteady reports whether all characters of a text are.
func allSteady(text []byte) bool {
	for _, r := range string(text) {
		if !isSteady(r) {
			return false
		}
	}
	return true
}

// lowerSteady lowers a text, all in place. It reports false where it is not read character by character.
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
		if k != 0 && k&asIs == 0 && (k == silent || !isSteady(r) || len(fold(s.low[:i], r, k)) != i+n) {
			return false
		}
		i += n
	}
	return true
}

// lower lowers a text for the search of bytes. It reports false if some character may read as one
// that can be sought.
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

// isWhole reports whether a character is of those that Chinese, Japanese and Korean are mostly
// written in: none of them is composed of others, or reads as one.
func isWhole(r rune) bool {
	return r >= 0x3005 && r <= 0x3007 || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FE ||
		r >= 0x3400 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3
}

// isItself reports whether a character reads as itself, in lower case or with an accent: never as
// ASCII, nor as one that isWhole.
func isItself(r rune) bool {
	switch r {
	case 0xDF, 0x130, 0x132, 0x133, 0x13F, 0x140, 0x149, 0x17F:
		return false // ß, İ, Ĳ, ĳ, Ŀ, ŀ, ŉ, ſ
	}
	return r >= 0xC0 && r < 0x180 || r >= 0x300 && r < 0x1100 || r >= 0x1200 && r < 0x1C00
}

// runStart is an offset where the run begins that holds another, or some run before it.
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

// behind is where the run ends that has the last of so many letters behind an offset.
func (s *scanner) behind(text []byte, at, letters int) int {
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

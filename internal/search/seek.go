package search

import (
	"encoding/binary"
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
	sought := newNeedle(first.text)
	for at := sought.index(s.low, 0); at >= 0; {
		next := at + 1
		if !isInside(text, at, phrase) {
			if s.containsAt(text, at, phrase) {
				return true
			}
			next = at + len(first.text)
		}
		at = sought.index(s.low, next)
	}
	return false
}

// isInside reports whether the first atom of a phrase, which is at an offset of a text in lower case, is
// certainly only a part of a longer atom of the text, so that the phrase does not begin there. It
// decides by the bytes beside it, without splitting the text: no atom begins or ends between two ASCII
// letters or digits the second of which is not a capital letter.
func isInside(text []byte, at int, phrase []atom) bool {
	first := phrase[0]
	if first.spaceless {
		return false
	}
	if at > 0 && isPlainASCII(text[at]) && isPlainASCII(smallASCII(text[at-1])) {
		return true
	}
	// The next atom of the phrase can continue the one of the text if it is soft.
	end := at + len(first.text)
	return end < len(text) && isPlainASCII(text[end]) && (len(phrase) == 1 || !phrase[1].soft)
}

// isPlainASCII reports whether a byte is a small letter or a digit of ASCII.
func isPlainASCII(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// smallASCII returns a byte, or the small letter if it is a capital letter of ASCII.
func smallASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
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
	if len(first.text) == n {
		n = 0
	}
	plain := s.spell(phrase)
	literal := newNeedle(s.literal[n:])
	at := literal.index(text, 0)
	if at < n || isInside(text, at-n, phrase) {
		return false
	}
	return plain && s.isApart(text, at-n, at+len(literal.text)) || s.containsAt(text, at, phrase)
}

// spell sets literal to a phrase in small letters, with a single space between words. It reports
// whether each of its words is an atom of every text in which it is between spaces, because all of its
// characters are as in extent.
func (s *scanner) spell(phrase []atom) (plain bool) {
	s.literal, plain = s.literal[:0], true
	for i, a := range phrase {
		if i > 0 && !a.soft && (!a.spaceless || !phrase[i-1].spaceless) {
			s.literal = append(s.literal, ' ')
		}
		s.literal = append(s.literal, a.text...)
		end, isPlain := s.extent(a.text, 0)
		plain = plain && isPlain && end == len(a.text) && !a.spaceless
	}
	return plain
}

// isApart reports whether a part of a text whose first letter is in s.literal, and whose other
// characters follow there, is certainly not inside a longer word. It returns false if the characters
// beside it, or its first letter, are not ASCII.
func (s *scanner) isApart(text []byte, start, end int) bool {
	if start < 0 || smallASCII(text[start]) != s.literal[0] || s.literal[0] >= utf8.RuneSelf {
		return false
	}
	if start > 0 && !s.separates(text, start-1) || start > 0 && joiner(text[start-1:]) > 0 {
		return false
	}
	return end == len(text) || s.separates(text, end) && !s.joins(text, end)
}

// separates reports whether the character at an offset is one of ASCII that is not part of a word.
func (s *scanner) separates(text []byte, at int) bool {
	return text[at] < utf8.RuneSelf && s.classes[text[at]]&inWord == 0
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
	for i := s.lowerASCII(text, 0); i < len(text); {
		r, n := decode(text, i)
		k := s.classes.of(r)
		// Offsets in low must be the same as in the text, so the length of each character must
		// stay.
		if k != 0 && k&asIs == 0 && (k == silent || !isSteady(r) || len(fold(s.low[:i], r, k)) != i+n) {
			return false
		}
		i = s.lowerASCII(text, i+n)
	}
	return true
}

// lower sets low to a text with its ASCII letters in lower case. It returns false if a character
// of the text can normalize to ASCII, or to a character that isWhole.
func (s *scanner) lower(text []byte) bool {
	for i := s.lowerASCII(text, 0); i < len(text); {
		r, n := decode(text, i)
		if s.classes.of(r) != 0 && !isWhole(r) && !isItself(r) {
			return false
		}
		i = s.lowerASCII(text, i+n)
	}
	return true
}

// lowerASCII writes the ASCII characters of a text from an offset on to low, in lower case, and
// returns the offset of the first other character. With offset 0, it first sets low to the text.
//
// It converts eight bytes at a time while all of them are ASCII.
func (s *scanner) lowerASCII(text []byte, at int) int {
	if at == 0 {
		s.low = append(s.low[:0], text...)
	}
	low := s.low[:len(text)]
	for ; at+8 <= len(text); at += 8 {
		eight := binary.LittleEndian.Uint64(text[at:])
		if eight&highBits != 0 {
			break
		}
		// The high bit of each byte of the sums says whether it is at least A, and after Z.
		capitals := (eight + fromA) &^ (eight + afterZ) & highBits
		binary.LittleEndian.PutUint64(low[at:], eight|capitals>>2)
	}
	for ; at < len(text) && text[at] < utf8.RuneSelf; at++ {
		low[at] = smallASCII(text[at])
	}
	return at
}

// Numbers of eight bytes; see lowerASCII.
const (
	eachByte = 0x0101010101010101
	highBits = eachByte * 0x80
	fromA    = eachByte * (0x80 - 'A')
	afterZ   = eachByte * (0x80 - 'Z' - 1)
)

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

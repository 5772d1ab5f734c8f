package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class says what a character is to the analyzer: a set of the bits below.
type class uint8

const (
	inWord    class = 1 << iota // a letter, a digit, or a mark on one
	opening                     // may begin a word: no mark
	spaceless                   // of a script that is written without spaces between words
	silent                      // not seen, and not there for the search: a soft hyphen
	upper                       // a capital letter
	lower                       // a small letter
	asIs                        // a small letter that is searched as it is, whatever is before or behind it
)

// planes is the number of characters that a table lists. Others are looked up one by one.
const planes = 1 << 16

// classes are the classes of the characters of the first plane.
type classes [planes]class

// spacelessScripts are written without spaces, or, as Korean, with particles behind the words.
func spacelessScripts() []*unicode.RangeTable {
	return []*unicode.RangeTable{
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	}
}

// commonKana belong to the scripts above, but Unicode counts them as common to several: marks of
// voice and length, full and half width.
const commonKana = "ー゙゚゛゜ｰﾞﾟ"

// silentRunes are the soft hyphen, joiners, marks of direction, and what selects the look of a
// character. The space of no width is none of them: it parts words.
func silentRunes() *unicode.RangeTable {
	return &unicode.RangeTable{R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1},
		{Lo: 0x061C, Hi: 0x061C, Stride: 1},
		{Lo: 0x200C, Hi: 0x200F, Stride: 1},
		{Lo: 0x202A, Hi: 0x202E, Stride: 1},
		{Lo: 0x2060, Hi: 0x2069, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1},
		{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
	}, LatinOffset: 1}
}

func newClasses() *classes {
	c := &classes{}
	c.set(inWord|opening, unicode.L, unicode.N)
	c.set(inWord, unicode.Mn, unicode.Mc)
	c.set(spaceless, spacelessScripts()...)
	c.set(upper, unicode.Lu)
	c.set(lower, unicode.Ll)
	for _, r := range commonKana {
		c[r] = inWord | opening | spaceless
	}
	for r := range c {
		if c[r]&inWord == 0 {
			c[r] = 0 // a spaceless script's punctuation
		}
	}
	c.clear(silentRunes())
	for r := range c {
		if c[r]&(lower|spaceless) == lower && r != 'ß' && r != 'ς' && steadyRune(rune(r)) {
			c[r] |= asIs
		}
	}
	return c
}

// steadyRune reports whether NFKC leaves a character as it is, whatever is before or behind it.
func steadyRune(r rune) bool {
	c := string(r)
	return utf8.ValidRune(r) && norm.NFKC.IsNormalString(c) && norm.NFKC.PropertiesString(c).BoundaryBefore()
}

// set adds bits to the characters of some tables.
func (c *classes) set(bits class, tables ...*unicode.RangeTable) {
	for _, t := range tables {
		for _, part := range t.R16 {
			for r := int(part.Lo); r <= int(part.Hi); r += int(part.Stride) {
				c[r] |= bits
			}
		}
	}
}

// clear makes the characters of a table silent, and nothing else.
func (c *classes) clear(t *unicode.RangeTable) {
	for _, part := range t.R16 {
		for r := int(part.Lo); r <= int(part.Hi); r++ {
			c[r] = silent
		}
	}
}

// of is the class of any character.
func (c *classes) of(r rune) class {
	switch {
	case r < planes:
		return c[r]
	case unicode.In(r, unicode.Mn, unicode.Mc) && !unicode.Is(unicode.Variation_Selector, r):
		return inWord
	case !unicode.IsLetter(r) && !unicode.IsNumber(r):
		return 0
	}
	k := inWord | opening
	if unicode.In(r, spacelessScripts()...) {
		k |= spaceless
	}
	if unicode.IsUpper(r) {
		k |= upper
	}
	if unicode.IsLower(r) {
		k |= lower
	}
	return k
}

package search

import (
	"math"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class is a set of properties of a character that matter to the analyzer.
type class uint8

// The properties of a character.
const (
	inWord    class = 1 << iota // a letter, a digit, or a mark on one
	opening                     // can begin a word: a letter or digit, not a mark
	spaceless                   // of a script that is written without spaces between words
	silent                      // invisible, ignored by the search: such as a soft hyphen
	upper                       // a capital letter
	lower                       // a small letter
	asIs                        // inWord and not spaceless; NFKC and case folding never change it
)

// planes is the number of characters in the table of classes: the Basic Multilingual Plane. The
// class of any other character is computed at each use.
const planes = 1 << 16

// classes contains the class of each character of the Basic Multilingual Plane.
//
// It has 64 kB, and is shared by all scanners.
type classes [planes]class

// spacelessScripts returns the scripts that are indexed by pairs of characters: those written
// without spaces and, because particles are appended to words, Korean.
func spacelessScripts() []*unicode.RangeTable {
	return []*unicode.RangeTable{
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	}
}

// commonKana are characters of the scripts above that Unicode assigns to the script Common:
// voicing and length marks, full and half width.
const commonKana = "ー゙゚゛゜ｰﾞﾟ"

// silentRunes returns the characters that the search ignores: soft hyphen, joiners, direction
// marks and variation selectors. The zero width space is not one of them, because it separates
// words.
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

// sharedClasses returns the classes of all characters, which do not depend on the language. They are
// computed on first use.
var sharedClasses = sync.OnceValue(newClasses)

// newClasses computes the classes of the characters of the Basic Multilingual Plane.
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
			c[r] = 0 // punctuation of a spaceless script
		}
	}
	c.clear(silentRunes())
	for r := range c {
		if c[r]&(inWord|spaceless|upper) == inWord && foldsToItself(rune(r)) && steadyRune(rune(r)) {
			c[r] |= asIs
		}
	}
	return c
}

// foldsToItself reports whether fold leaves a character unchanged.
func foldsToItself(r rune) bool { return r != 'ß' && r != 'ς' && unicode.ToLower(r) == r }

// steadyRune reports whether NFKC leaves a character unchanged, whatever characters are next to
// it.
func steadyRune(r rune) bool {
	c := string(r)
	return utf8.ValidRune(r) && norm.NFKC.IsNormalString(c) && norm.NFKC.PropertiesString(c).BoundaryBefore()
}

// set adds bits to the classes of all characters of some tables, as far as they are in the Basic
// Multilingual Plane.
func (c *classes) set(bits class, tables ...*unicode.RangeTable) {
	for _, t := range tables {
		for _, part := range t.R16 {
			for r := int(part.Lo); r <= int(part.Hi); r += int(part.Stride) {
				c[r] |= bits
			}
		}
	}
}

// clear sets the class of all characters of a table to silent. It ignores strides, so each range
// must have stride 1.
func (c *classes) clear(t *unicode.RangeTable) {
	for _, part := range t.R16 {
		for r := int(part.Lo); r <= int(part.Hi); r++ {
			c[r] = silent
		}
	}
}

// of returns the class of any character.
//
// Characters outside of the Basic Multilingual Plane are never silent or asIs.
func (c *classes) of(r rune) class {
	if r < planes {
		return c[r]
	}
	return classBeyond(r)
}

// classBeyond returns the class of a character outside of the Basic Multilingual Plane.
func classBeyond(r rune) class {
	switch {
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

// An evidence contains the inputs of the confidence in a result.
type evidence struct {
	coverage                float64 // see Why.Coverage
	score, first, next      float64 // of this, the best and the next result; 0: none
	aboutPerson, aboutOther bool    // of the one person that the query names; of another person
	record                  bool    // a record, not a turn of a conversation
}

// A fit contains the coefficients of a logistic regression from evidence to the probability that
// a result is right. They were fitted to judged pairs of a question and a result.
type fit struct {
	name                                                 string
	base, coverage, share, lead, aboutPerson, aboutOther float64
}

// turnFit is the fit for turns of conversations (reference/retrieval.md §1). It is kept because a
// refit on other conversations was no better (reference/memory-build.md §0).
var turnFit = fit{"turns-1", -6.78, 1.06, 4.47, 5.21, .21, -2.14}

// recordFit is the fit for memories that are records. It was fitted to half of the questions of
// bench/retrieval about records; TestConfidence of that package evaluates it on the other half.
var recordFit = fit{name: "records-1", base: -10.29, coverage: 2.03, share: 8.09, lead: 5.63}

// noteFit is the fit for notes, fitted to half of the questions of bench/retrieval about notes.
var noteFit = fit{name: "notes-2", base: -14.93, coverage: 3.41, share: 13.23, lead: 3.61}

// The bounds of a confidence: a match of words never makes a result certain.
const (
	minConfidence = .01
	maxConfidence = .95
)

// confidence returns the probability, from minConfidence to maxConfidence, that a result is the one that
// was meant, and the name of the fit that computed it.
func (p *Profile) confidence(e evidence) (float64, string) {
	f := &p.fit
	if e.record {
		f = &p.recordFit
	}
	return f.confidence(e), f.name
}

// confidence returns the confidence by a fit, rounded to four decimal places.
//
//	x = base + coverage*e.coverage + share*e.score/e.first + lead*(e.score-e.next)/e.first
//	    + aboutPerson, if e.aboutPerson + aboutOther, if e.aboutOther
//	confidence = 1 / (1 + exp(-x)), between minConfidence and maxConfidence
func (f *fit) confidence(e evidence) float64 {
	x := f.base + float64(f.coverage*e.coverage)
	if e.first > 0 {
		x += float64(f.share*e.score/e.first) + float64(f.lead*(e.score-e.next)/e.first)
	}
	if e.aboutPerson {
		x += f.aboutPerson
	}
	if e.aboutOther {
		x += f.aboutOther
	}
	p := 1 / (1 + math.Exp(-x))
	return rounded(min(max(p, minConfidence), maxConfidence))
}

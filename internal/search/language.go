package search

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// A language is what the analyzer knows of one.
type language struct {
	names string // the English name and the codes
	stem  func(*snowballstem.Env) bool
	stops string // words that say nothing about what a note is of
	forms string // lines of words of which the others count as the first
	other string // likewise, in all their forms
}

// languages are the languages that Snowball stems.
func languages() []language {
	return []language{
		{"english en eng", english.Stem, englishStops, englishForms, englishVariants},
		{"arabic ar ara", arabic.Stem, "", "", ""},
		{"danish da dan", danish.Stem, danishStops, "", ""},
		{"dutch nl nld dut", dutch.Stem, dutchStops, "", ""},
		{"finnish fi fin", finnish.Stem, finnishStops, "", ""},
		{"french fr fra fre", french.Stem, frenchStops, "", ""},
		{"german de deu ger", german.Stem, germanStops, "", ""},
		{"hungarian hu hun", hungarian.Stem, hungarianStops, "", ""},
		{"irish ga gle", irish.Stem, "", "", ""},
		{"italian it ita", italian.Stem, italianStops, "", ""},
		{"norwegian no nb nn nor", norwegian.Stem, norwegianStops, "", ""},
		{"portuguese pt por", portuguese.Stem, portugueseStops, "", ""},
		{"romanian ro ron rum", romanian.Stem, romanianStops, "", ""},
		{"russian ru rus", russian.Stem, russianStops, "", ""},
		{"spanish es spa", spanish.Stem, spanishStops, "", ""},
		{"swedish sv swe", swedish.Stem, swedishStops, "", ""},
		{"tamil ta tam", tamil.Stem, "", "", ""},
		{"turkish tr tur", turkish.Stem, turkishStops, "", ""},
	}
}

// Stems reports whether words of a language are found in their other forms too.
func Stems(name string) bool { return languageOf(name).stem != nil }

// languageOf is the language of a name or code. Of another one nothing is known.
func languageOf(name string) language {
	name = strings.ToLower(strings.TrimSpace(name))
	name, _, _ = strings.Cut(strings.ReplaceAll(name, "_", "-"), "-")
	for _, l := range languages() {
		for n := range strings.FieldsSeq(l.names) {
			if n == name {
				return l
			}
		}
	}
	return language{}
}

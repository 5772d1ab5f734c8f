package search

import (
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

	"github.com/rookeryhq/rookery/internal/vault"
)

// A language contains the data of the analyzer for one language.
type language struct {
	name  string // English name, lower case
	stem  func(*snowballstem.Env) bool
	stops string // words too common to distinguish notes, separated by spaces
	forms string // lines of irregular forms: the other words of a line count as the first
	other string // lines of variants, likewise, but in all their forms
}

// mutates reports whether the forms of a word can begin with other letters than the word: a
// particle that is written with it, or a changed first sound.
func (l *language) mutates() bool {
	return l.name == "arabic" || l.name == "irish" || l.name == "tamil"
}

// languages returns the languages that Snowball stems: all that a vault can name.
//
// Arabic, Irish and Tamil have no stop words.
func languages() []language {
	return []language{
		{"english", english.Stem, englishStops, englishForms, englishVariants},
		{"arabic", arabic.Stem, "", "", ""},
		{"danish", danish.Stem, danishStops, "", ""},
		{"dutch", dutch.Stem, dutchStops, "", ""},
		{"finnish", finnish.Stem, finnishStops, "", ""},
		{"french", french.Stem, frenchStops, "", ""},
		{"german", german.Stem, germanStops, "", ""},
		{"hungarian", hungarian.Stem, hungarianStops, "", ""},
		{"irish", irish.Stem, "", "", ""},
		{"italian", italian.Stem, italianStops, "", ""},
		{"norwegian", norwegian.Stem, norwegianStops, "", ""},
		{"portuguese", portuguese.Stem, portugueseStops, "", ""},
		{"romanian", romanian.Stem, romanianStops, "", ""},
		{"russian", russian.Stem, russianStops, "", ""},
		{"spanish", spanish.Stem, spanishStops, "", ""},
		{"swedish", swedish.Stem, swedishStops, "", ""},
		{"tamil", tamil.Stem, "", "", ""},
		{"turkish", turkish.Stem, turkishStops, "", ""},
	}
}

// Stems reports whether the words of a language, given by name or code, are also found in their
// other forms.
func Stems(name string) bool { return languageOf(name).stem != nil }

// languageOf returns the language with a name or code; the zero value, which does not stem, if
// there is none.
func languageOf(name string) language {
	name, _ = vault.ParseLanguage(name)
	for _, l := range languages() {
		if l.name == name {
			return l
		}
	}
	return language{}
}

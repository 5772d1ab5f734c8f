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

// A language is what the analyzer knows of one.
type language struct {
	name  string // in English
	stem  func(*snowballstem.Env) bool
	stops string // words that say nothing about what a note is of
	forms string // lines of words of which the others count as the first
	other string // likewise, in all their forms
}

// mutates reports whether words of a language have forms that begin otherwise: by a particle that is
// written with them, or by another first sound.
func (l *language) mutates() bool {
	return l.name == "arabic" || l.name == "irish" || l.name == "tamil"
}

// languages are the languages that Snowball stems: all that a vault may name.
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

// Stems reports whether words of a language are found in their other forms too.
func Stems(name string) bool { return languageOf(name).stem != nil }

// languageOf is the language of a name or code. Of another one nothing is known.
func languageOf(name string) language {
	name, _ = vault.ParseLanguage(name)
	for _, l := range languages() {
		if l.name == name {
			return l
		}
	}
	return language{}
}

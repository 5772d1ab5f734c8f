package search

import (
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

// Terms are what the index lists. A word stands in it by its stem, as written, and without its
// accents; a stretch without spaces by its characters and by each two neighbours. Words hold
// letters, digits and marks only, so the signs before the further forms keep them apart.
const (
	asWritten  = "="
	unaccented = "~"
)

// The longest word that is stemmed, and the longest that is a term of its own, in bytes.
const (
	longestStemmed = 48
	longestTerm    = 96
)

// An analyzer turns words into terms, by the rules of a language, which never change.
type analyzer struct {
	language string // as it was given
	classes  *classes
	stem     func(*snowballstem.Env) bool // nil: not stemmed
	stops    map[string]bool
	forms    map[string]string // a word to the one that it counts as
	stems    map[string]string // a stem to the one that it counts as

	// What the forms of a stem begin with, beside its own first byte; of all words, if mutates.
	starts  map[string]string
	mutates bool

	gatherers sync.Pool     // what queries have left
	turns     chan struct{} // has room for the queries that run at once
}

func newAnalyzer(name string) *analyzer {
	l := languageOf(name)
	a := &analyzer{
		language: name, classes: newClasses(), stem: l.stem, turns: make(chan struct{}, mostQueries()),
		stops: map[string]bool{}, forms: map[string]string{},
		starts: map[string]string{}, mutates: l.mutates(),
	}
	for word := range strings.FieldsSeq(l.stops) {
		a.stops[word] = true
	}
	for base, word := range pairs(l.forms) {
		a.forms[word] = base
	}
	stems := map[string]string{}
	for base, word := range pairs(l.other) {
		stems[a.stemOf(word)] = a.stemOf(base)
	}
	for stem, base := range stems {
		a.starts[base] += stem[:1]
	}
	a.stems = stems
	for word := range a.forms {
		a.starts[a.stemOf(word)] += word[:1]
	}
	return a
}

// pairs yields the first word of each line with each of the others.
func pairs(lines string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(lines) {
			words := strings.Fields(line)
			for i := 1; i < len(words); i++ {
				if !yield(words[0], words[i]) {
					return
				}
			}
		}
	}
}

// scanner is a scanner for this analyzer's texts.
func (a *analyzer) scanner() *scanner { return &scanner{classes: a.classes} }

// terms are the terms that a word is listed by: each at most once.
func (a *analyzer) terms(word string) []string {
	word = shorten(word)
	list := []string{asWritten + word}
	if !a.stops[word] {
		list = append(list, a.stemOf(word))
	}
	bare := bareOf(word)
	if bare == word {
		return list
	}
	list = append(list, unaccented+bare)
	if stem := a.stemOf(bare); stem != bare && !a.stops[word] {
		list = append(list, unaccented+stem)
	}
	return list
}

// stemOf is what all forms of a word have in common.
func (a *analyzer) stemOf(word string) string {
	if a.stem == nil || len(word) > longestStemmed || !utf8.ValidString(word) {
		return word
	}
	if base, ok := a.forms[word]; ok {
		word = base
	}
	env := snowballstem.NewEnv(word)
	a.stem(env)
	stem := env.Current()
	if stem == "" {
		return word
	}
	if base, ok := a.stems[stem]; ok {
		return base
	}
	return stem
}

// shorten is a word that is no longer than a term may be. What is cut off stands in it as a digest,
// so that words differ which only differ there.
func shorten(word string) string {
	if len(word) <= longestTerm {
		return word
	}
	cut := longestTerm - 16
	for !utf8.RuneStart(word[cut]) {
		cut--
	}
	h := fnv.New64a()
	h.Write([]byte(word))
	return fmt.Sprintf("%s%016x", word[:cut], h.Sum64())
}

// bareOf is a word without accents and with the plain letters that people write who do not have
// others. In scripts where marks are vowels nothing changes but the points of Hebrew and Arabic.
func bareOf(word string) string {
	if isASCII(word) {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		if isAccent(r) {
			continue
		}
		if plain := plainLetter(r); plain != "" {
			b.WriteString(plain)
			continue
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return word
	}
	return norm.NFKC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isAccent reports whether a mark may be left out: accents of Latin, Greek and Cyrillic letters,
// the points of Hebrew, the short vowels of Arabic, the stroke that stretches an Arabic word.
func isAccent(r rune) bool {
	return r >= 0x0300 && r <= 0x036F || r >= 0x0591 && r <= 0x05C7 || r == 0x0640 ||
		r >= 0x064B && r <= 0x0652 || r == 0x0670
}

// plainLetter is what stands for a letter that has no accent to take off.
func plainLetter(r rune) string {
	switch r {
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ı':
		return "i"
	case 'ħ':
		return "h"
	case 'ŧ':
		return "t"
	}
	return ""
}

// grams yields the terms of a spaceless stretch, and where they stand in it: each character, and
// each two neighbours.
func grams(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		before := -1
		for at := 0; at < len(text); {
			_, n := utf8.DecodeRune(text[at:])
			if !yield(at, text[at:at+n]) || before >= 0 && !yield(before, text[before:at+n]) {
				return
			}
			before = at
			at += n
		}
	}
}

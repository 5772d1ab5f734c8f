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

// The terms of the index. A word is listed under up to four terms: its stem, the word as written,
// and both without accents. A stretch of a spaceless script is listed under each of its
// characters and each pair of neighbouring characters. A word contains only letters, digits and
// marks, so the prefixes below keep the kinds of terms apart.
const (
	asWritten  = "=" // prefix of a word as written
	unaccented = "~" // prefix of a word, or of a stem, without accents
)

// Maximum length, in bytes, of a word that is stemmed, and of a word that is a term as it is. See
// shorten for longer words.
const (
	longestStemmed = 48
	longestTerm    = 96
)

// An analyzer turns words into terms by the rules of one language. It is immutable after
// newAnalyzer, except for the pool and the semaphore, and can be used concurrently.
type analyzer struct {
	language string // as passed to New
	classes  *classes
	stem     func(*snowballstem.Env) bool // nil: words are not stemmed
	stops    map[string]bool
	forms    map[string]string // an irregular form, to the word that it counts as
	stems    map[string]string // a stem, to the stem that it counts as

	// The first letters of words that have a stem, besides the first letter of the stem itself. They
	// are ASCII. With mutates, a form of a word can begin with any letter. See initials.
	starts  map[string]string
	mutates bool

	gatherers sync.Pool     // *gatherer values that earlier queries released
	slots     chan struct{} // semaphore: its capacity is the number of concurrent queries
}

// newAnalyzer returns the analyzer for a language, given by its English name or its code. Words
// of an unknown language are not stemmed.
func newAnalyzer(name string) *analyzer {
	l := languageOf(name)
	a := &analyzer{
		language: name, classes: sharedClasses(), stem: l.stem, slots: make(chan struct{}, maxQueries()),
		stops: map[string]bool{}, forms: map[string]string{},
		starts: map[string]string{}, mutates: l.mutates(),
	}
	for word := range strings.FieldsSeq(l.stops) {
		a.stops[word] = true
	}
	for base, word := range pairs(l.forms) {
		a.forms[word] = base
	}
	// Stems of variants are computed while a.stems is nil, so that they are those of Snowball
	// alone.
	stems := map[string]string{}
	for base, word := range pairs(l.other) {
		stems[a.stemOf(word)] = a.stemOf(base)
	}
	for stem, base := range stems {
		a.starts[base] += stem[:1]
	}
	a.stems = stems
	// An irregular form can begin with another letter than the stem under which it is found.
	for word := range a.forms {
		a.starts[a.stemOf(word)] += word[:1]
	}
	return a
}

// pairs yields, for each line, the first word together with each of the other words.
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

// scanner returns a new scanner for texts in the analyzer's language.
func (a *analyzer) scanner() *scanner { return &scanner{classes: a.classes} }

// terms returns the terms under which a word is listed, without duplicates. A stop word has no
// stem.
//
// In English, running has the terms "=running" and "run". A word with accents has two more terms,
// with the prefix unaccented: the word without accents, and its stem if that differs.
func (a *analyzer) terms(word string) []string {
	word = shorten(word)
	list := []string{asWritten + word}
	if !a.stops[word] {
		list = append(list, a.stemOf(word))
	}
	bare := stripAccents(word)
	if bare == word {
		return list
	}
	list = append(list, unaccented+bare)
	if stem := a.stemOf(bare); stem != bare && !a.stops[word] {
		list = append(list, unaccented+stem)
	}
	return list
}

// stemOf returns the stem that the forms of a word have in common. It returns the word itself if
// the language has no stemmer, or if the word is too long or not valid UTF-8.
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

// shorten returns a word that is at most longestTerm bytes long. A longer word keeps its
// beginning, and a digest of the whole word replaces the rest, so that words that differ only in
// the rest have different terms.
func shorten(word string) string {
	if len(word) <= longestTerm {
		return word
	}
	cut := longestTerm - 16
	for !utf8.RuneStart(word[cut]) {
		cut--
	}
	// The digest is part of the index, so the hash function must not change.
	h := fnv.New64a()
	h.Write([]byte(word))
	return fmt.Sprintf("%s%016x", word[:cut], h.Sum64())
}

// stripAccents returns a word without accents, and with letters such as ø replaced by plain ones, as
// people without these letters on their keyboard write it. In scripts where marks are vowels,
// only the points of Hebrew and Arabic are removed. If nothing would be left, it returns the word
// unchanged.
func stripAccents(word string) string {
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
	// The word consisted of accents only.
	if b.Len() == 0 {
		return word
	}
	return norm.NFKC.String(b.String())
}

// isASCII reports whether a text consists of ASCII characters only.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isAccent reports whether a mark can be omitted in writing: accents of Latin, Greek and Cyrillic
// letters, the points of Hebrew, the short vowels of Arabic, and the Arabic tatweel.
func isAccent(r rune) bool {
	return r >= 0x0300 && r <= 0x036F || r >= 0x0591 && r <= 0x05C7 || r == 0x0640 ||
		r >= 0x064B && r <= 0x0652 || r == 0x0670
}

// plainLetter returns the ASCII letters that replace a letter which has no decomposition into a
// base letter and an accent; "" for any other character.
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

// grams yields the terms of a spaceless stretch with their byte offsets: each character, and each
// pair of neighbouring characters.
func grams(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		// before is the offset of the previous character; -1 at the first one.
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

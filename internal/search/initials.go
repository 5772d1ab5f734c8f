package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// initials is the set of the first letters of the words that can have one of some terms. It
// excludes most words of a text by a look at their first letter, and never a word that has one of
// the terms.
//
// Letters are compared without accents, because a word is listed both with and without them.
type initials struct {
	analyzer *analyzer
	ascii    [utf8.RuneSelf]bool
	others   map[rune]bool // whether the set has a letter: a cache for letters that are not ASCII
	bare     map[rune]bool // the letters of the set, without accents
	all      bool          // a word with any first letter can have one of the terms
}

// newInitials returns an empty set for words in the analyzer's language.
func newInitials(a *analyzer) initials {
	return initials{analyzer: a, others: map[rune]bool{}, bare: map[rune]bool{}}
}

// add adds the first letters of the words that can have a term: that of the term, and those of
// irregular forms. All terms must be added before the first call of has.
func (s *initials) add(term string) {
	word := term
	if term != "" && (term[:1] == asWritten || term[:1] == unaccented) {
		word = term[1:]
	}
	s.all = s.all || s.analyzer.mutates || word == ""
	first, _ := utf8.DecodeRuneInString(word)
	s.addLetter(first)
	for _, r := range s.analyzer.starts[word] {
		s.addLetter(r)
	}
}

// addLetter adds a first letter.
func (s *initials) addLetter(r rune) {
	r = bareLetter(r)
	s.bare[r] = true
	if r < utf8.RuneSelf {
		s.ascii[r] = true
	}
}

// has reports whether a word can have one of the terms. The word must not be empty, and must be
// normalized as in an atom.
func (s *initials) has(word []byte) bool {
	if c := word[0]; c < utf8.RuneSelf {
		return s.all || s.ascii[c]
	}
	r, _ := utf8.DecodeRune(word)
	return s.hasLetter(r)
}

// hasLetter reports whether a word that begins with a letter can have one of the terms.
func (s *initials) hasLetter(r rune) bool {
	if s.all || r < utf8.RuneSelf {
		return s.all || s.ascii[r]
	}
	has, ok := s.others[r]
	if !ok {
		// All accents at the beginning of a word can be omitted, so any letter can follow.
		has = isAccent(r) || s.bare[bareLetter(r)]
		s.others[r] = has
	}
	return has
}

// bareLetter returns a letter without its marks, or the first of the letters that replace it. It is the
// same for the first letter of a normalized word and for that of the word without accents.
func bareLetter(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
	if plain := plainLetter(base); plain != "" {
		return rune(plain[0])
	}
	return base
}

// isSimple reports whether a character that is not ASCII is one of most letters of Latin, Greek and
// Cyrillic. A text of such letters and ASCII is normalized character by character, by simpleFold.
func isSimple(r rune) bool { return isNormal(r) && !isWhole(r) }

// simpleFold returns a simple or ASCII character in lower case, as fold does.
func simpleFold(r rune) rune {
	if r == 'ς' {
		return 'σ'
	}
	return unicode.ToLower(r)
}

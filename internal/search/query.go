package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Query is what somebody looks for. A note is found that has any of its words, all of its
// phrases, and nothing that it excludes.
type Query struct {
	Clauses []Clause

	quoted []string // phrases that make an exact match of what has them
}

// A Clause is one part of a query.
type Clause struct {
	Kind Kind
	Not  bool   // exclude the notes that have it
	Text string // as typed, without the signs that say what it is; its edges are letters or digits
}

// A Kind is a kind of clause.
type Kind byte

// The kinds of clauses.
const (
	Word   Kind = iota // a word, or an identifier; in all its forms
	Prefix             // words that begin so: `word*`
	Phrase             // these words in this order, as written: `"two words"`
)

// ParseQuery reads a query. Words in a pair of double quotes are a phrase; a word with one `*`
// behind it stands for all words that begin so; `-` before a word, phrase or prefix excludes it.
// All else is text: there is no wrong query. What holds no letter and no digit is left out.
func ParseQuery(text string) Query {
	p := queryParser{rest: clean(text)}
	var q Query
	for p.skip(); p.rest != ""; p.skip() {
		c := p.clause()
		if c.Text != "" {
			q.Clauses = append(q.Clauses, c)
		}
	}
	return q
}

// String is the query as ParseQuery reads it: ParseQuery(q.String()) is q, for a q that ParseQuery
// made.
func (q Query) String() string {
	parts := make([]string, len(q.Clauses))
	for i, c := range q.Clauses {
		parts[i] = c.String()
	}
	return strings.Join(parts, " ")
}

// String is the clause as it is typed.
func (c Clause) String() string {
	text := c.Text
	switch c.Kind {
	case Prefix:
		text += "*"
	case Phrase:
		text = `"` + text + `"`
	}
	if c.Not {
		return "-" + text
	}
	return text
}

// clean is a text with plain quotes, in which a space is all that parts words.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '“', r == '”', r == '„':
			return '"'
		case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
			return ' '
		}
		return r
	}, text)
}

// A queryParser reads the clauses of a clean text.
type queryParser struct{ rest string }

func (p *queryParser) skip() { p.rest = strings.TrimLeft(p.rest, " ") }

// clause reads what comes next. Its text is empty if nothing can be searched of it.
func (p *queryParser) clause() Clause {
	word, not := strings.CutPrefix(p.rest, "-")
	if inner, ok := strings.CutPrefix(word, `"`); ok {
		if phrase, rest, closed := strings.Cut(inner, `"`); closed {
			p.rest = rest
			return Clause{Phrase, not, trim(strings.Join(strings.Fields(phrase), " "))}
		}
	}
	word, p.rest, _ = strings.Cut(p.rest, " ")
	word, not = strings.CutPrefix(word, "-")
	not = not && trimLeft(word) == word
	if stem, ok := strings.CutSuffix(word, "*"); ok && stem != "" && trim(stem) == stem {
		return Clause{Prefix, not, stem}
	}
	return Clause{Word, not, trim(word)}
}

func trim(s string) string { return strings.TrimRightFunc(trimLeft(s), notInWord) }

// trimLeft cuts off what cannot begin a word.
func trimLeft(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

func notInWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

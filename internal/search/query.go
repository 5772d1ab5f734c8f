package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Query is a parsed query. It matches a note that has any of its words, all of its phrases, and
// nothing that it excludes. The zero value matches nothing.
type Query struct {
	Clauses []Clause

	quoted []string // a note that contains all of them is an Exact match
}

// A Clause is one part of a query.
type Clause struct {
	Kind Kind
	Not  bool   // exclude notes that have it
	Text string // as typed, without the operators; begins and ends with a letter or digit
}

// A Kind is a kind of clause.
type Kind byte

// The kinds of clauses.
const (
	Word   Kind = iota // a word or an identifier, in all its forms
	Prefix             // all words with this prefix: `word*`
	Phrase             // these words in this order, as written: `"two words"`
)

// ParseQuery parses a query. Words in double quotes are a phrase; a word followed by `*` is a
// prefix; `-` before a word, phrase or prefix excludes it. Everything else is text, so every
// query is valid. Words without a letter or digit are dropped.
//
//	go modules         notes with a form of go or of modules
//	"go modules"       notes with these two words in this order, as written
//	config*            notes with a word that begins with config
//	go -draft          notes with a form of go, and without any form of draft
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

// String returns the query in the syntax of ParseQuery: for a q that ParseQuery returned,
// ParseQuery(q.String()) equals q.
func (q Query) String() string {
	parts := make([]string, len(q.Clauses))
	for i, c := range q.Clauses {
		parts[i] = c.String()
	}
	return strings.Join(parts, " ")
}

// String returns the clause in the syntax of ParseQuery.
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

// clean returns a text with typographic quotes replaced by plain ones, and every white space,
// control character and invalid byte replaced by a space.
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

// A queryParser parses the clauses of a text that clean returned.
type queryParser struct{ rest string }

// skip skips spaces.
func (p *queryParser) skip() { p.rest = strings.TrimLeft(p.rest, " ") }

// clause parses the next clause. Its text is empty if it has no searchable characters.
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

// trim cuts characters that are not part of a word off both ends.
func trim(s string) string { return strings.TrimRightFunc(trimLeft(s), notInWord) }

// trimLeft cuts characters that cannot begin a word off the left end.
func trimLeft(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// notInWord reports whether a character is not a letter, number or mark.
func notInWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// PlainQuery returns a query for the words of a text, without operators. It matches documents
// that have any of the words. A document that contains all parts of the text in double quotes is
// an Exact match, but others are found too.
func PlainQuery(text string) Query {
	if text = clean(text); text == "" {
		return Query{}
	}
	return Query{Clauses: []Clause{{Kind: Word, Text: text}}, quoted: quotedIn(text)}
}

// quotedIn returns the parts of a text in pairs of double quotes, at most maxPhrases.
func quotedIn(text string) []string {
	var all []string
	for _, rest, ok := strings.Cut(text, `"`); ok && len(all) < maxPhrases; _, rest, ok = strings.Cut(rest, `"`) {
		var phrase string
		if phrase, rest, ok = strings.Cut(rest, `"`); !ok {
			break
		}
		if phrase = trim(phrase); phrase != "" {
			all = append(all, phrase)
		}
	}
	return all
}

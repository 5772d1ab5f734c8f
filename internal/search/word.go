package search

import "strings"

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

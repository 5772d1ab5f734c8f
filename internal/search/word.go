package search

import "strings"

// PlainQuery is a query of a text as it is: no sign in it means anything. A thing is found that has any of its words. One
// that has all texts in double quotes as they are is an Exact match, but nothing is left out that has them not.
func PlainQuery(text string) Query {
	if text = clean(text); text == "" {
		return Query{}
	}
	return Query{Clauses: []Clause{{Kind: Word, Text: text}}, quoted: quotedIn(text)}
}

// quotedIn are the texts in pairs of double quotes.
func quotedIn(text string) []string {
	var all []string
	for _, rest, ok := strings.Cut(text, `"`); ok && len(all) < mostSigned; _, rest, ok = strings.Cut(rest, `"`) {
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

package query

import (
	"slices"
	"strconv"
	"strings"
)

// keywords are words that cannot be values without quotes.
var keywords = []string{"_"}

// String returns the query in the syntax of Parse, in one line, with single spaces between its
// parts.
//
// Parse(q.String()) is equal to q for each q that Parse returned.
func (q Query) String() string {
	var b printer
	b.union(q.Branches)
	for i, k := range q.Sort {
		b.WriteString([]string{" sort:", ","}[min(i, 1)])
		if k.Descending {
			b.WriteByte('-')
		}
		b.WriteString("." + k.Field)
	}
	if q.Limit > 0 {
		b.WriteString(" limit:" + strconv.Itoa(q.Limit))
	}
	if q.Count {
		b.WriteString(" count")
	}
	return b.String()
}

// A printer builds the text of a query. Its methods write without a space before or after.
type printer struct{ strings.Builder }

// union writes branches with | between them.
func (b *printer) union(all []Branch) {
	for i, branch := range all {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(string(branch.Kind))
		if branch.Name != "" {
			b.WriteString(":" + branch.Name)
		}
		if branch.Where != nil {
			b.WriteByte(' ')
			b.test(branch.Where)
		}
	}
}

// test writes a test without parentheses around it.
func (b *printer) test(t *Test) {
	switch {
	case t.Op == And || t.Op == Or:
		b.joined(t)
	case t.Op == Not:
		b.WriteByte('!')
		// A ! applies to an atom or to a test in parentheses.
		b.inner(t.Parts[0], t.Parts[0].Op == And || t.Parts[0].Op == Or || t.Parts[0].Op == Not)
	case t.Op.compares():
		b.WriteString(subject(t) + string(t.Op))
		b.value(t.Values[0])
	default:
		b.function(t)
	}
}

// subject returns the text for the subject of a test: a field, or _ for the element of a list.
func subject(t *Test) string {
	if t.Field == "" {
		return "_"
	}
	return "." + t.Field
}

// joined writes the parts of an And or Or.
func (b *printer) joined(t *Test) {
	for i, part := range t.Parts {
		switch {
		case i > 0 && t.Op == Or:
			b.WriteString(" | ")
		case i > 0:
			b.WriteByte(' ')
		}
		// Or binds weaker than And. A nested And keeps its parentheses, so that parsing returns
		// the same tree.
		b.inner(part, part.Op == Or || part.Op == And && t.Op == And)
	}
}

// inner writes a part of a test, in parentheses if brackets is set.
func (b *printer) inner(t *Test, brackets bool) {
	if !brackets {
		b.test(t)
		return
	}
	b.WriteByte('(')
	b.test(t)
	b.WriteByte(')')
}

// function writes a function with its arguments, in the order in which parser.function parses them.
// A regular expression is written in quotes, not between slashes.
func (b *printer) function(t *Test) {
	b.WriteString(strings.TrimSuffix(string(t.Op), "(") + "(")
	switch {
	case t.Op == Exists:
		b.WriteString(subject(t))
	case t.Op == OneOf:
		b.WriteString(subject(t) + ", [")
		for i, v := range t.Values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.value(v)
		}
		b.WriteByte(']')
	case t.Op.matchesText():
		b.WriteString(subject(t) + ", " + quote(t.Text))
		if t.Case {
			b.WriteString(", true")
		}
	case t.Op.quantifies():
		b.WriteString(subject(t) + ", ")
		b.test(t.Parts[0])
	case t.Op == LinksTo && len(t.Parts) > 0:
		b.test(t.Parts[0])
	case t.Op == Content:
		b.WriteString(quote(t.Text))
	case t.Target != "":
		b.target(t.Target)
	default:
		b.union(t.Query)
	}
	b.WriteByte(')')
}

// value writes a value, without quotes if possible.
//
// Quotes are needed for other characters than those of words, for an empty text, and for _.
func (b *printer) value(v Value) {
	switch {
	case v.Ref:
		b.WriteString("[[" + v.Text + "]]")
	// The lexer reads it as one token.
	case isWord(v.Text) && !slices.Contains(keywords, v.Text), isArgument(v.Text):
		b.WriteString(v.Text)
	default:
		b.WriteString(quote(v.Text))
	}
}

// target writes an id or a name, in brackets if it is not a word or could be parsed as a root.
func (b *printer) target(text string) {
	lower := strings.ToLower(text)
	if isArgument(text) || isWord(text) && lower != "section" && lower != "link" {
		b.WriteString(text)
		return
	}
	b.WriteString("[[" + text + "]]")
}

// quote returns a text in quotes.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

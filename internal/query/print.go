package query

import (
	"slices"
	"strconv"
	"strings"
)

// keywords are words that are no value as they are.
var keywords = []string{"_"}

// String is the query as Parse reads it, in one line, with one space between its parts.
func (q Query) String() string {
	var b printer
	b.union(q.Branches)
	for i, k := range q.Sort {
		b.WriteString([]string{" sort:", ","}[min(i, 1)])
		if k.Down {
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

// A printer writes the text of a query.
type printer struct{ strings.Builder }

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

// test writes a test as it is written without brackets around it.
func (b *printer) test(t *Test) {
	switch {
	case t.Op == And || t.Op == Or:
		b.joined(t)
	case t.Op == Not:
		b.WriteByte('!')
		b.inner(t.Parts[0], t.Parts[0].Op == And || t.Parts[0].Op == Or || t.Parts[0].Op == Not)
	case t.Op.compares():
		b.WriteString(subject(t) + string(t.Op))
		b.value(t.Values[0])
	default:
		b.function(t)
	}
}

// subject is what a test is of: a field, or the element of a list.
func subject(t *Test) string {
	if t.Field == "" {
		return "_"
	}
	return "." + t.Field
}

func (b *printer) joined(t *Test) {
	for i, part := range t.Parts {
		switch {
		case i > 0 && t.Op == Or:
			b.WriteString(" | ")
		case i > 0:
			b.WriteByte(' ')
		}
		b.inner(part, part.Op == Or || part.Op == And && t.Op == And)
	}
}

// inner writes a part of a test, in brackets where it needs them.
func (b *printer) inner(t *Test, brackets bool) {
	if !brackets {
		b.test(t)
		return
	}
	b.WriteByte('(')
	b.test(t)
	b.WriteByte(')')
}

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

// value writes a value: a word where it is one.
func (b *printer) value(v Value) {
	switch {
	case v.Ref:
		b.WriteString("[[" + v.Text + "]]")
	case isWord(v.Text) && !slices.Contains(keywords, v.Text), isArgument(v.Text):
		b.WriteString(v.Text)
	default:
		b.WriteString(quote(v.Text))
	}
}

// target writes an id or a name: in brackets, unless it is a word that begins no query.
func (b *printer) target(text string) {
	lower := strings.ToLower(text)
	if isArgument(text) || isWord(text) && lower != "section" && lower != "link" {
		b.WriteString(text)
		return
	}
	b.WriteString("[[" + text + "]]")
}

// quote writes a text in quotes.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

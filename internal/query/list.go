package query

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// FromList is the query of a list of types, traits and tags, as a saved query of the document's form has
// them: the objects of the types, the traits, and the notes with all of the tags. filters are values of
// traits, parted by commas; any of them will do.
func FromList(types, traits []string, filters map[string]string, tags []string) Query {
	var q Query
	for _, name := range types {
		if name == vault.Section {
			q.Branches = append(q.Branches, Branch{Kind: Sections})
			continue
		}
		q.Branches = append(q.Branches, Branch{Kind: Objects, Name: vault.TypeName(name)})
	}
	for _, name := range traits {
		b := Branch{Kind: Traits, Name: name}
		if values := FilterValues(filters[name]); len(values) > 0 {
			b.Where = &Test{Op: OneOf, Field: "value", Values: values}
		}
		q.Branches = append(q.Branches, b)
	}
	var tests []*Test
	for _, tag := range tags {
		tests = append(tests, &Test{Op: Equal, Field: "tags", Values: []Value{{Text: tag}}})
	}
	if len(tests) > 0 {
		inside := &Test{Op: Exists, Field: "heading"} // what is under a heading has the tags of its note
		tests = append(tests, &Test{Op: Not, Parts: []*Test{inside}})
		q.Branches = append(q.Branches, Branch{Kind: Objects, Name: Any, Where: allOf(tests, Place{})})
	}
	return q
}

// FilterValues are the parts of a text between commas; empty ones are left out.
func FilterValues(text string) []Value {
	var values []Value
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			values = append(values, valueOf(part, Place{}))
		}
	}
	return values
}

// ParseKeys reads what an answer is sorted by: fields, each with - before it for the largest first. The
// dot of a field may be left out.
func ParseKeys(texts []string) ([]Key, error) {
	var keys []Key
	for _, text := range texts {
		name, down := strings.CutPrefix(strings.TrimSpace(text), "-")
		name = strings.TrimPrefix(name, ".")
		if !isWord(name) {
			return nil, fault.New(fault.InvalidValue, "a sort key must be a field, such as .due or -.due").
				With("argument", "sort")
		}
		keys = append(keys, Key{Field: name, Down: down})
	}
	return keys, nil
}

// Searches reports whether the search index is needed to answer the query.
func (q Query) Searches() bool { return slices.ContainsFunc(q.Branches, Branch.searches) }

func (b Branch) searches() bool { return b.Where.searches(b.Kind) }

func (t *Test) searches(k Kind) bool {
	if t == nil {
		return false
	}
	return t.Op == Content && k != Traits || slices.ContainsFunc(t.Query, Branch.searches) ||
		slices.ContainsFunc(t.Parts, func(part *Test) bool { return part.searches(k) })
}

// KindOf is the kind of what a query finds; "mixed" of several.
func (q Query) KindOf() Kind {
	for _, b := range q.Branches {
		if b.Kind != q.Branches[0].Kind {
			return "mixed"
		}
	}
	return q.Branches[0].Kind
}

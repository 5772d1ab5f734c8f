package query

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// FromList returns a query for the objects of some types, the traits of some types and the notes
// that have all tags: the old form of saved queries. filters contains the allowed values of
// traits, by trait, separated by commas. Each list can be empty.
//
// For types project, traits due and tags work, with the filter due: "today, past", it is
//
//	type:project | trait:due oneof(.value, [today, past]) | type:* .tags==work !exists(.heading)
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
		inside := &Test{Op: Exists, Field: "heading"} // an object under a heading
		tests = append(tests, &Test{Op: Not, Parts: []*Test{inside}})
		q.Branches = append(q.Branches, Branch{Kind: Objects, Name: Any, Where: allOf(tests, Place{})})
	}
	return q
}

// FilterValues returns the values of a list separated by commas, without empty ones.
func FilterValues(text string) []Value {
	var values []Value
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			values = append(values, valueOf(part, Place{}))
		}
	}
	return values
}

// ParseKeys parses sort keys: names of fields, each with a - in front for descending order. The
// dot of a field is optional.
func ParseKeys(texts []string) ([]Key, error) {
	var keys []Key
	for _, text := range texts {
		name, down := strings.CutPrefix(strings.TrimSpace(text), "-")
		name = strings.TrimPrefix(name, ".")
		if !isWord(name) {
			return nil, fault.New(fault.InvalidValue, "a sort key must be a field, such as .due or -.due").
				With("argument", "sort")
		}
		keys = append(keys, Key{Field: name, Descending: down})
	}
	return keys, nil
}

// Searches reports whether the query needs the search index.
func (q Query) Searches() bool { return slices.ContainsFunc(q.Branches, Branch.searches) }

// searches reports whether the branch needs the search index.
func (b Branch) searches() bool { return b.Where.searches(b.Kind) }

// searches reports whether a test of items of a kind needs the search index. t can be nil.
// content() of traits does not need it, because the index has their lines.
func (t *Test) searches(k Kind) bool {
	if t == nil {
		return false
	}
	return t.Op == Content && k != Traits || slices.ContainsFunc(t.Query, Branch.searches) ||
		slices.ContainsFunc(t.Parts, func(part *Test) bool { return part.searches(k) })
}

// KindOf returns the kind of the items that a query finds; "mixed" if there are several. The
// query must have a branch.
func (q Query) KindOf() Kind {
	for _, b := range q.Branches {
		if b.Kind != q.Branches[0].Kind {
			return "mixed"
		}
	}
	return q.Branches[0].Kind
}

// A Condition is a test of items that a program makes of its own arguments, because the language has
// no word for it. All fields are optional: the zero value holds for every item. It must hold for the
// items of one state of a vault.
type Condition struct {
	// Holds reports whether an item passes, if Says and Near do.
	Holds func(Item) bool

	// Says reports whether traits with a value can pass.
	Says func(*index.TraitValue) bool

	// Near reports whether an item in a note can pass. It is called before the items are visited.
	Near func(*index.Note) bool

	// Notes yields, by path and from a path on, notes that contain all items that pass. Most is about
	// how many these are at most.
	Notes func(from string) iter.Seq[*index.Note]
	Most  int

	// Count returns the number of items of the branch that pass. If it is set, the condition does not
	// depend on Holds and Near.
	Count func() int

	// In is the part of the vault with all items that pass.
	In Area
}

// An Area is a part of a vault: one note, a folder or, as the zero value, everything.
type Area struct {
	Path string // of the note, or of the folder with a slash at its end
	Note bool   // the area is the note
}

// IsWhole reports whether the area is the whole vault.
func (a Area) IsWhole() bool { return a.Path == "" }

// Has reports whether a path is in the area.
func (a Area) Has(path string) bool {
	if a.Note {
		return path == a.Path
	}
	return strings.HasPrefix(path, a.Path)
}

// Where returns the test that holds where all of these conditions do; nil if there are none. It must
// be the whole test of a branch.
func Where(all ...Condition) *Test {
	var tests []*Test
	for i := range all {
		tests = append(tests, &Test{Op: condition, given: &all[i]})
	}
	return allOf(tests, Place{})
}

// ofCondition returns the term of a condition.
func ofCondition(c *Condition) term {
	t := term{most: unknown, cost: cheap, holds: c.Holds, passesValue: c.Says, near: c.Near, in: c.In, count: c.Count}
	if t.holds == nil {
		t.holds = func(i Item) bool { return c.Says == nil || i.Kind != Traits || c.Says(i.Trait.TraitValue) }
	}
	if c.Notes != nil {
		t.most, t.walk = c.Most, c.Notes
		t.notes = func() []*index.Note { return slices.Collect(c.Notes("")) }
	}
	return t
}

// List is Find for a query that a program made, whose names and values it has checked: List does not
// check them. There is no limit of visits unless the state has one.
func List(q Query, s State, page Page) (Answer, error) {
	s.Visits = cmp.Or(s.Visits, int(^uint(0)>>1))
	return answer(q, s, page)
}

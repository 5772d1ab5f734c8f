package query

import (
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

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
	if s.Visits == 0 {
		s.Visits = int(^uint(0) >> 1)
	}
	return answer(q, s, page)
}

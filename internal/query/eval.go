package query

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// MaxVisits is the default limit of the visits of a query.
const MaxVisits = 1_000_000

// How visits are counted, and how often Canceled is called.
const (
	matchedBytes = 100  // bytes that a regular expression reads per additional visit
	lookEvery    = 1024 // visits between calls of Ended
)

// A State is the state of a vault on which queries are answered.
//
// A State can be used by several queries at the same time if Search and Canceled allow it.
type State struct {
	Index *index.Index
	Clock vault.Clock

	// Search returns the search index of the same version, and a function for the texts of notes.
	// It is called only for queries with content(). If it is nil, content() of objects and
	// sections matches nothing.
	Search func() (*search.Index, func(path string) ([]byte, error), error)

	// Visits is the maximum number of visits of a query, which is about the number of items that
	// it tests; 0: MaxVisits.
	Visits int

	// Canceled is called from time to time. If it returns an error, the query stops with that error.
	// Nil: the query is never stopped.
	Canceled func() error

	// AsWritten disables the check of references: a reference in the query that does not resolve
	// is compared as text.
	AsWritten bool
}

// An evaluator answers one query on one state. It must be used by one goroutine.
//
// A failure stops it: visit returns false from then on, and Find returns failed. Functions of the
// evaluator therefore return no errors; their results after a failure have no meaning.
type evaluator struct {
	State
	schema schemaFields
	refs   *index.Resolver
	zone   *time.Location

	search *search.Index
	textOn func(path string) ([]byte, error)

	visits int
	failed error // why it stopped; nil while it runs

	// targets and plans are caches.
	targets map[*index.Mention]refTarget
	plans   map[*Branch]*plan
}

// newEvaluator returns an evaluator, with defaults for the limit of visits and the time zone.
func newEvaluator(s State) *evaluator {
	s.Visits = cmp.Or(s.Visits, MaxVisits)
	return &evaluator{
		State: s, schema: schemaFields{s.Index.Schema()}, refs: s.Index.Resolver(),
		zone:    cmp.Or(s.Clock.Zone, time.UTC),
		targets: map[*index.Mention]refTarget{}, plans: map[*Branch]*plan{},
	}
}

// visit counts n visits. It returns false if the query must stop: the limit is exceeded, or Ended
// returned an error. Callers then end their loops.
func (e *evaluator) visit(n int) bool {
	if e.failed != nil {
		return false
	}
	before := e.visits
	e.visits += n
	if e.visits > e.Visits {
		e.failed = tooExpensive(e.Visits)
		return false
	}
	// n can be greater than lookEvery, so compare quotients and not remainders.
	if e.Canceled != nil && before/lookEvery != e.visits/lookEvery {
		e.failed = e.Canceled()
	}
	return e.failed == nil
}

// tooExpensive returns the fault of a query that exceeds the limit of visits.
func tooExpensive(budget int) *fault.Fault {
	return fault.New(fault.InvalidQuery,
		"the query would read more than %d objects; narrow it", budget).
		With("reason", "cost").With("budget", budget).With("visits", budget+1).
		Fix("use a type or a trait instead of type:*, section or link").
		Fix("add a condition that few objects match, such as .tags==…, .modified>=… or within(…)").
		Fix("use an id in refs(…) or within(…) instead of a nested query")
}

// A term is a compiled test of the items of a branch.
//
// A term can be evaluated in two ways: holds tests a single item, and notes, set and traits
// restrict the items that must be tested. Only holds is required. The others are an optimization:
// except for set, each of them can return too much but never too little, and holds decides.
type term struct {
	holds func(Item) bool

	// most is the maximum number of notes with items for which the term holds. notes returns
	// these notes, and possibly others, sorted by path. If most is unknown (-1), notes must not
	// be called.
	most  int
	notes func() []*index.Note

	cost int // terms with lower prices are evaluated first

	// walk yields the same notes from a path on, if they need not be computed; nil: see notes.
	walk func(from string) iter.Seq[*index.Note]

	// near reports whether an item in a note can pass; nil: it can. in is the part of the vault with
	// all items that can.
	near func(*index.Note) bool
	in   Area

	// passesValue reports whether traits with a value can pass; nil: all can. count returns the number of
	// items that pass, if the index knows it; then passesValue is exact, and all other items pass.
	passesValue func(*index.TraitValue) bool
	count       func() int

	// traits returns the traits of a note that can pass, in reading order; nil: all can.
	traits func(*index.Note) []*index.Trait

	// countIn returns the number of items of the branch in a note that pass, with the same visits as
	// tests of all of them, but without reading the items; nil: they must be tested.
	countIn func(*index.Note) int
}

// The prices of terms.
const (
	cheap     = iota // reads a field
	expensive        // reads a list, or matches a pattern
	nested           // needs the answer of a nested query
)

// unknown is the value of most if the number of notes is not known.
const unknown = -1

// all returns the term that holds where all of some terms hold. It sorts them by price, so that a
// cheap term that fails saves an expensive one. says and traits are those of the first term that
// has them. It has no set, because other terms may fail for a trait in it.
func all(terms []term) term {
	slices.SortStableFunc(terms, func(a, b term) int { return a.cost - b.cost })
	t := term{most: unknown}
	for _, each := range terms {
		// All terms must pass, so the notes of any one suffice: take the fewest.
		if each.most != unknown && (t.most == unknown || each.most < t.most) {
			t.most, t.notes, t.walk = each.most, each.notes, each.walk
		}
		if t.in.IsWhole() {
			t.in = each.in
		}
		t.near = bothNear(t.near, each.near)
		t.cost = max(t.cost, each.cost)
		if t.passesValue == nil {
			t.passesValue = each.passesValue
		}
		if t.traits == nil {
			t.traits = each.traits
		}
	}
	t.holds = func(i Item) bool {
		for _, each := range terms {
			if !each.holds(i) {
				return false
			}
		}
		return true
	}
	return t
}

// bothNear returns the function that returns true where two do. nil returns true everywhere.
func bothNear(a, b func(*index.Note) bool) func(*index.Note) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(n *index.Note) bool { return a(n) && b(n) }
}

// anyOf returns the term that holds where at least one of some terms holds. Its notes are known
// if those of all terms are.
func anyOf(terms []term) term {
	slices.SortStableFunc(terms, func(a, b term) int { return a.cost - b.cost })
	t := term{}
	for _, each := range terms {
		if each.most == unknown || t.most == unknown {
			// Items of any note can pass the term whose notes are unknown.
			t.most = unknown
		} else {
			t.most += each.most
		}
		t.cost = max(t.cost, each.cost)
	}
	t.notes = func() []*index.Note {
		var notes []*index.Note
		for _, each := range terms {
			notes = append(notes, each.notes()...)
		}
		return byPath(notes)
	}
	t.holds = func(i Item) bool {
		return slices.ContainsFunc(terms, func(each term) bool { return each.holds(i) })
	}
	return t
}

// not returns the term that holds where another one does not.
func not(t term) term {
	// The notes of t do not limit the items for which it does not hold.
	return term{holds: func(i Item) bool { return !t.holds(i) }, most: unknown, cost: t.cost}
}

// compile returns the term of a test of the items of a branch.
//
// It can use the index already, to find the notes of the term. Nested queries are answered when
// the term is first tested.
func (e *evaluator) compile(b Branch, t *Test) term {
	switch {
	case t.Op == And || t.Op == Or:
		var terms []term
		for _, part := range t.Parts {
			terms = append(terms, e.compile(b, part))
		}
		if t.Op == And {
			return all(terms)
		}
		return anyOf(terms)
	case t.Op == Not:
		return not(e.compile(b, t.Parts[0]))
	case t.Op == condition:
		return ofCondition(t.given)
	case t.Field != "":
		return e.ofField(b, t)
	case t.Op == LinksTo:
		return e.links(t)
	case t.Op == Content:
		return e.content(b, t)
	}
	return e.nested(b, t)
}

package query

import (
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// MaxVisits is how many visits a query makes at most, where nothing else is said.
const MaxVisits = 1_000_000

// What visits count, and how often they look whether the call goes on.
const (
	matchedBytes = 100  // that a regular expression reads are one visit more
	lookEvery    = 1024 // visits
)

// A State is the state of a vault that queries are answered on.
type State struct {
	Index *index.Index
	Clock vault.Clock

	// Search is the search index of the same version, and the texts of the notes. It is asked for by queries
	// with content() alone. Nil: these find nothing.
	Search func() (*search.Index, func(path string) ([]byte, error), error)

	// Visits is how many visits a query makes at most; 0: MaxVisits.
	Visits int

	// Ended is asked from time to time why to stop. Nil: nothing stops a query.
	Ended func() error

	// AsWritten says that a reference in the query that leads nowhere is compared as it is written, and is no
	// problem.
	AsWritten bool
}

// An evaluator answers one query on one state.
type evaluator struct {
	State
	schema schemaFields
	refs   *index.Resolver
	zone   *time.Location

	search *search.Index
	textOn func(path string) ([]byte, error)

	visits int
	failed error // why it stopped

	targets map[*index.Mention]aim
	plans   map[*Branch]*plan
}

func newEvaluator(s State) *evaluator {
	if s.Visits == 0 {
		s.Visits = MaxVisits
	}
	e := &evaluator{
		State: s, schema: schemaFields{s.Index.Schema()}, refs: s.Index.Resolver(), zone: s.Clock.Zone,
		targets: map[*index.Mention]aim{}, plans: map[*Branch]*plan{},
	}
	if e.zone == nil {
		e.zone = time.UTC
	}
	return e
}

// visit counts visits. It reports whether to go on: loops over what is visited end when it does not.
func (e *evaluator) visit(n int) bool {
	if e.failed != nil {
		return false
	}
	before := e.visits
	e.visits += n
	if e.visits > e.Visits {
		e.failed = costs(e.Visits)
		return false
	}
	if e.Ended != nil && before/lookEvery != e.visits/lookEvery {
		e.failed = e.Ended()
	}
	return e.failed == nil
}

// costs is the fault of a query that would make more visits than it may.
func costs(budget int) *fault.Fault {
	return fault.New(fault.InvalidQuery,
		"the query would read more than %d objects; narrow it", budget).
		With("reason", "cost").With("budget", budget).With("visits", budget+1).
		Fix("use a type or a trait instead of type:*, section or link").
		Fix("add a condition that few objects match, such as .tags==…, .modified>=… or within(…)").
		Fix("use an id in refs(…) or within(…) instead of a nested query")
}

// A term is a test of a branch, as the evaluator runs it.
type term struct {
	holds func(Item) bool

	// most is how many notes at most have things for which it holds; notes are these notes, or more, by
	// path. -1: that is not known, and there are no notes.
	most  int
	notes func() []*index.Note

	price int // the terms with the lowest are tried first

	// says reports whether traits that say this may pass; nil: they may. set are the traits that pass, if
	// that is known: then says is exact.
	says func(*index.TraitValue) bool
	set  *index.TraitSet

	// traits are the traits of the branch in a note that may pass, in reading order; nil: any may.
	traits func(*index.Note) []*index.Trait
}

// The prices of terms.
const (
	cheap  = iota // it looks at a field
	dear          // it looks at a list, a pattern
	nested        // it needs the answer of a nested query
)

const unknown = -1

// all is the term of several that must all hold.
func all(terms []term) term {
	slices.SortStableFunc(terms, func(a, b term) int { return a.price - b.price })
	t := term{most: unknown}
	for _, each := range terms {
		if each.most != unknown && (t.most == unknown || each.most < t.most) {
			t.most, t.notes = each.most, each.notes
		}
		t.price = max(t.price, each.price)
		if t.says == nil {
			t.says = each.says
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

// any is the term of several of which one must hold. Its notes are theirs, if each has some.
func anyOf(terms []term) term {
	slices.SortStableFunc(terms, func(a, b term) int { return a.price - b.price })
	t := term{}
	for _, each := range terms {
		if each.most == unknown || t.most == unknown {
			t.most = unknown
		} else {
			t.most += each.most
		}
		t.price = max(t.price, each.price)
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

// not is the term that holds where another does not.
func not(t term) term {
	return term{holds: func(i Item) bool { return !t.holds(i) }, most: unknown, price: t.price}
}

// compile makes the term of a test of the things of a branch.
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
	case t.Field != "":
		return e.ofField(b, t)
	case t.Op == LinksTo:
		return e.links(t)
	case t.Op == Content:
		return e.content(b, t)
	}
	return e.nested(b, t)
}

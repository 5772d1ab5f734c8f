package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Page selects a part of an answer. The zero Page has no items, only the total.
type Page struct {
	Limit int    // maximum number of items
	After string // Answer.Mark of the last item of the previous page; "": the first page
}

// An Answer is a page of the items that a query finds.
//
// Items are in the order of the query: by its sort keys, then by location.
type Answer struct {
	Items  []Item
	Total  int  // number of items on all pages
	More   bool // there is a next page
	Visits int  // cost of the answer; see State.Visits

	sorter *sorter
}

// Mark returns the position of an item in the order of the answer, for Page.After. It is not
// bound to a version, so a listing can continue after a write.
func (a Answer) Mark(i Item) string { return a.sorter.mark(i).String() }

// Find returns a page of the items that a query finds. It checks the query against the schema of
// the state first; see Check. If the answer needs more visits than State.Visits, the error is
// INVALID_QUERY with reason "cost". A page costs as much as the whole answer, unless the index
// knows the total.
func Find(q Query, s State, page Page) (Answer, error) {
	if err := Check(q, s.Env()); err != nil {
		return Answer{}, err
	}
	return answer(q, s, page)
}

// answer is Find without the check.
func answer(q Query, s State, page Page) (Answer, error) {
	e := newEvaluator(s)
	after, err := q.mark(page.After)
	if err != nil {
		return Answer{}, err
	}
	a, streamed := e.stream(q, page, after)
	if !streamed {
		a = e.answerAll(q, page, after)
	}
	a.Visits, a.sorter = e.visits, e.sorter(q)
	return a, e.failed
}

// Select returns all items that a query finds, in the order of the query. The errors are those of
// Find.
func Select(q Query, s State) ([]Item, error) {
	if err := Check(q, s.Env()); err != nil {
		return nil, err
	}
	e := newEvaluator(s)
	items := e.ordered(q)
	return items, e.failed
}

// Env returns the World against which queries on the state are checked.
//
// If s.AsWritten, references are not checked.
func (s State) Env() Env {
	w := Env{Schema: s.Index.Schema(), Clock: s.Clock}
	if !s.AsWritten {
		w.Resolve = func(text string) (string, []string, []string) {
			to := s.Index.ResolveArg(text, s.Clock)
			if to.ID != "" || len(to.Matches) > 0 {
				return to.ID, to.Matches, nil
			}
			return "", nil, s.Index.Nearest(text)
		}
	}
	return w
}

// stream answers a query with a single branch whose total the index knows. It visits only the items
// of the page. It returns false if the query needs whole.
//
// The total is known if the branch has no test, or one that the index answers with a set of traits.
// after is the mark of the previous page; nil: the first page.
func (e *evaluator) stream(q Query, page Page, after *mark) (Answer, bool) {
	// Several branches can find the same item, and sorting needs all items.
	if len(q.Branches) != 1 || len(q.Sort) > 0 || q.Limit > 0 {
		return Answer{}, false
	}
	p := e.planOf(&q.Branches[0])
	total, known := p.knownCount()
	if !known {
		return Answer{}, false
	}
	a := Answer{Total: total}
	from := index.Location{}
	if after != nil {
		from = after.location()
	}
	for i := range p.after(e, from) {
		// One item more than the page is visited, to know whether there is a next page.
		if a.More = len(a.Items) >= page.Limit; a.More {
			break
		}
		a.Items = append(a.Items, i)
	}
	return a, true
}

// onPage answers a query with a single branch in the order of locations. It finds all items,
// because the total is not known otherwise, but keeps only those of the page. So a query with many
// results needs no memory for them.
func (e *evaluator) onPage(q Query, page Page, after *mark) Answer {
	a, from := Answer{}, index.Location{}
	if after != nil {
		from = after.location()
	}
	add := func(i Item) bool {
		a.Total++
		switch {
		case after != nil && !i.Location().After(from):
		case len(a.Items) < page.Limit:
			a.Items = append(a.Items, i)
		default:
			a.More = true
		}
		return true
	}
	p := e.planOf(&q.Branches[0])
	for n := range p.walk("") {
		if e.failed != nil || !p.in.Has(n.Path) {
			break
		}
		before, behind := n.Path < from.Path, n.Path > from.Path
		switch {
		case p.countIn != nil && (before || behind && len(a.Items) == page.Limit):
			// The items of this note are on other pages.
			count := p.countIn(n)
			a.Total += count
			a.More = a.More || behind && count > 0
		case !p.inNote(e, n, index.Location{}, add):
			return a
		}
	}
	return a
}

// answerAll answers a query by finding all items first.
//
// The next page begins after the mark, even if the item of the mark is gone or has moved.
func (e *evaluator) answerAll(q Query, page Page, after *mark) Answer {
	if len(q.Branches) == 1 && len(q.Sort) == 0 && q.Limit == 0 {
		return e.onPage(q, page, after)
	}
	items := e.ordered(q)
	a := Answer{Total: len(items)}
	if after != nil {
		s := e.sorter(q)
		// The item of the mark can be gone; then the page begins with the next one in the order.
		first, exact := slices.BinarySearchFunc(items, after, func(i Item, m *mark) int {
			return s.compare(s.mark(i), m)
		})
		if exact {
			first++
		}
		items = items[first:]
	}
	a.More = len(items) > page.Limit
	a.Items = items[:min(len(items), page.Limit)]
	return a
}

// ordered returns all items that a query finds, without duplicates, in order, and at most
// q.Limit. It returns nil on a failure.
//
// A query without sort keys needs no sorting if it has one branch, which yields items by location.
func (e *evaluator) ordered(q Query) []Item {
	var items []Item
	for i := range q.Branches {
		e.planOf(&q.Branches[i]).run(e, func(i Item) { items = append(items, i) })
	}
	if e.failed != nil {
		return nil
	}
	if len(q.Branches) > 1 {
		// An item that several branches find is adjacent to itself after sorting.
		slices.SortFunc(items, compareLocations)
		items = slices.CompactFunc(items, func(a, b Item) bool { return compareLocations(a, b) == 0 })
	}
	if len(q.Sort) > 0 {
		items = e.sorter(q).sort(items)
	}
	if q.Limit > 0 {
		items = items[:min(len(items), q.Limit)]
	}
	return items
}

// An Item is one result of a query. Only the fields of its kind are set.
type Item struct {
	Kind   Kind
	Object index.Object    // of an object or a section; for a link, its source
	Trait  *index.Trait    // of a trait
	Link   *index.NoteLink // of a link
}

// ID returns the id of the item; for a link, that of its source.
func (i Item) ID() string {
	if i.Kind == Traits {
		return i.Trait.ID
	}
	return i.Object.ID()
}

// Location returns the location of the item, which determines its position in lists.
func (i Item) Location() index.Location {
	switch i.Kind {
	case Traits:
		return i.Trait.Location()
	case Links:
		return index.Location{Path: i.Object.Note.Path, Line: i.Link.Line, Position: i.Link.Span.Start}
	}
	return i.Object.Location()
}

// note returns the note that contains the item.
func (i Item) note() *index.Note {
	if i.Kind == Traits {
		return i.Trait.Note
	}
	return i.Object.Note
}

// scope returns the position, in its note, of the section that the item is or is in; -1 if it is
// the note.
//
// It is the index of the section in Note.Sections.
func (i Item) scope() int {
	if i.Kind == Traits {
		return i.Trait.Scope()
	}
	return i.Object.Number()
}

// kinds contains the kinds in the order in which items at the same location are sorted.
var kinds = []Kind{Objects, Sections, Traits, Links}

// compareLocations compares items by location, then by kind.
//
// The order is by path, line, position and kind.
func compareLocations(a, b Item) int {
	s, t := a.Location(), b.Location()
	return cmp.Or(strings.Compare(s.Path, t.Path), s.Line-t.Line, s.Position-t.Position,
		slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
}

// isPlain reports whether an object is a section without a declaration.
func isPlain(o index.Object) bool { return o.Section != nil && o.Type() == vault.Section }

// itemOf returns an object as an item.
func itemOf(o index.Object) Item {
	if isPlain(o) {
		return Item{Kind: Sections, Object: o}
	}
	return Item{Kind: Objects, Object: o}
}

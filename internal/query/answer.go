package query

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// A Page says which part of an answer is wanted.
type Page struct {
	Limit int    // things, at most
	After string // Answer.Mark of the last thing of the page before; "": the first page
}

// An Answer is a page of what a query finds.
type Answer struct {
	Items  []Item
	Total  int  // on all pages
	More   bool // there is a page behind this one
	Visits int  // that the answer took

	sorter *sorter
}

// Mark is where a page begins that comes behind a thing, for Page.After. It is of no version.
func (a Answer) Mark(i Item) string { return a.sorter.mark(i).String() }

// Find answers a query, which is checked against the schema of the state first. A query that would look
// at more things than it may is INVALID_QUERY with the reason `cost`, whatever page is asked for.
func Find(q Query, s State, page Page) (Answer, error) {
	if err := Check(q, s.World()); err != nil {
		return Answer{}, err
	}
	e := newEvaluator(s)
	after, err := q.mark(page.After)
	if err != nil {
		return Answer{}, err
	}
	a, streamed := e.stream(q, page, after)
	if !streamed {
		a = e.whole(q, page, after)
	}
	a.Visits, a.sorter = e.visits, e.sorter(q)
	return a, e.failed
}

// Select returns everything that a query finds, in the order of the query.
func Select(q Query, s State) ([]Item, error) {
	if err := Check(q, s.World()); err != nil {
		return nil, err
	}
	e := newEvaluator(s)
	items := e.ordered(q)
	return items, e.failed
}

// World is what queries on the state are checked against.
func (s State) World() World {
	w := World{Schema: s.Index.Schema(), Clock: s.Clock}
	if !s.AsWritten {
		w.Leads = func(text string) (string, []string, []string) {
			to := s.Index.ResolveArg(text, s.Clock)
			if to.ID != "" || len(to.Matches) > 0 {
				return to.ID, to.Matches, nil
			}
			return "", nil, s.Index.Nearest(text)
		}
	}
	return w
}

// stream answers a query of one branch of which the index knows how much it finds: it looks only at what
// is on the page.
func (e *evaluator) stream(q Query, page Page, after *mark) (Answer, bool) {
	if len(q.Branches) != 1 || len(q.Sort) > 0 || q.Limit > 0 {
		return Answer{}, false
	}
	p := e.planOf(&q.Branches[0])
	total, known := p.known()
	if !known {
		return Answer{}, false
	}
	a := Answer{Total: total}
	from := index.Location{}
	if after != nil {
		from = after.spot()
	}
	for i := range p.behind(e, from) {
		if a.More = len(a.Items) >= page.Limit; a.More {
			break
		}
		a.Items = append(a.Items, i)
	}
	return a, true
}

// onPage answers a query of one branch by the order of places: it finds everything, and keeps what is on the page.
func (e *evaluator) onPage(q Query, page Page, after *mark) Answer {
	a, from := Answer{}, index.Location{}
	if after != nil {
		from = after.spot()
	}
	e.planOf(&q.Branches[0]).run(e, func(i Item) {
		a.Total++
		switch {
		case after != nil && !i.Spot().After(from):
		case len(a.Items) < page.Limit:
			a.Items = append(a.Items, i)
		default:
			a.More = true
		}
	})
	return a
}

// whole answers a query by finding everything first.
func (e *evaluator) whole(q Query, page Page, after *mark) Answer {
	if len(q.Branches) == 1 && len(q.Sort) == 0 && q.Limit == 0 {
		return e.onPage(q, page, after)
	}
	items := e.ordered(q)
	a := Answer{Total: len(items)}
	if after != nil {
		s := e.sorter(q)
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

// ordered is everything that a query finds, each thing once, in order, and cut to the limit of the query.
func (e *evaluator) ordered(q Query) []Item {
	var items []Item
	for i := range q.Branches {
		e.planOf(&q.Branches[i]).run(e, func(i Item) { items = append(items, i) })
	}
	if e.failed != nil {
		return nil
	}
	if len(q.Branches) > 1 {
		slices.SortFunc(items, compareSpots)
		items = slices.CompactFunc(items, func(a, b Item) bool { return compareSpots(a, b) == 0 })
	}
	if len(q.Sort) > 0 {
		items = e.sorter(q).sorted(items)
	}
	if q.Limit > 0 {
		items = items[:min(len(items), q.Limit)]
	}
	return items
}

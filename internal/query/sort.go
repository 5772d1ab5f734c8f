package query

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A mark is a position in the order of an answer: the sort keys and the location of an item. It
// is not bound to a version, so that the next page can be read after a write.
type mark struct {
	Keys     []sortKey `json:"k,omitempty"`
	Path     string    `json:"p"`
	Line     int       `json:"l,omitempty"`
	Position int       `json:"o,omitempty"`
	Kind     Kind      `json:"t"`
}

// A sortKey is a value in the form in which it is sorted. Missing values come last, in both
// directions. Its JSON is part of page tokens, so it is short.
type sortKey struct {
	Kind   int     `json:"k"`
	Number float64 `json:"n,omitempty"`
	Text   string  `json:"s,omitempty"`
}

// The kinds of sort keys, in ascending order.
const (
	numberKey = iota
	timeKey
	textKey
	noKey
)

// location returns the location of the mark.
func (m *mark) location() index.Location {
	return index.Location{Path: m.Path, Line: m.Line, Position: m.Position}
}

// String returns the mark as JSON, which Query.mark parses.
func (m *mark) String() string {
	data, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(data)
}

// mark parses the output of mark.String for a query with the same number of sort keys. It returns
// nil for "".
//
// The error for other texts is INVALID_VALUE. Marks are not authenticated here: a forged mark can
// only select another position in the order.
func (q Query) mark(s string) (*mark, error) {
	if s == "" {
		return nil, nil
	}
	m := &mark{}
	if json.Unmarshal([]byte(s), m) != nil || len(m.Keys) != len(q.Sort) || m.Path == "" {
		return nil, fault.New(fault.InvalidValue, "page_token is from another list").
			With("argument", "page_token").Fix("use meta.next_page_token of the previous page")
	}
	return m, nil
}

// A sorter compares items by the sort keys of a query, then by location.
//
// Getters are cached, because a page can have items of many types.
type sorter struct {
	e    *evaluator
	keys []Key
	get  map[sortField]func(Item) any // getters of fields
}

// A sortField is a field of the items of one branch.
type sortField struct {
	kind Kind
	name string // of the type or the trait
	key  string
}

// sorter returns a sorter for a query.
func (e *evaluator) sorter(q Query) *sorter {
	return &sorter{e, q.Sort, map[sortField]func(Item) any{}}
}

// mark returns the position of an item.
func (s *sorter) mark(i Item) *mark {
	spot := i.Location()
	m := &mark{Path: spot.Path, Line: spot.Line, Position: spot.Position, Kind: i.Kind}
	for _, k := range s.keys {
		m.Keys = append(m.Keys, s.key(i, k.Field))
	}
	return m
}

// branchFor returns a branch that finds an item, to look up its fields.
func branchFor(i Item) Branch {
	b := Branch{Kind: i.Kind}
	switch i.Kind {
	case Objects:
		b.Name = i.Object.Type()
	case Traits:
		b.Name = i.Trait.Type
	}
	return b
}

// key returns the sort key of a field of an item. A list is sorted by its first element. An item of
// another branch that does not have the field has no value.
func (s *sorter) key(i Item, name string) sortKey {
	b := branchFor(i)
	d, ok := s.e.schema.field(b, name)
	if !ok && !d.open {
		return sortKey{Kind: noKey}
	}
	at := sortField{b.Kind, b.Name, name}
	get := s.get[at]
	if get == nil {
		get = s.e.getter(b, name)
		s.get[at] = get
	}
	v := get(i)
	if list, isList := v.([]any); isList {
		// A list is sorted by its first element, and an empty one like a missing value.
		if v = nil; len(list) > 0 {
			v = list[0]
		}
	}
	return s.e.sortKey(v, d, i)
}

// sortKey returns the sort key of a value: the rank of a choice, a number, a time, else a text
// without case.
//
// Keys of different kinds are sorted by kind: numbers, times, texts, then missing values.
func (e *evaluator) sortKey(v any, d fieldDef, i Item) sortKey {
	if v == nil {
		return sortKey{Kind: noKey}
	}
	if d.class == choice && len(d.values) > 0 {
		// A declared choice is sorted in the order of its declaration. Built-in choices are
		// sorted as text.
		if rank := rankOf(e.textOf(v, nil, false), d.values); rank >= 0 && d.get == nil {
			return sortKey{Kind: numberKey, Number: float64(rank)}
		}
	}
	if _, is := v.(float64); is || d.class == numeric {
		if n, ok := numberOf(v); ok {
			return sortKey{Kind: numberKey, Number: n}
		}
	}
	if d.class == moment {
		if day, at, clock, ok := e.momentOf(v); ok {
			if !clock {
				at = day.Start(e.zone)
			}
			// The layout has a fixed width, so that texts sort like times.
			return sortKey{Kind: timeKey, Text: at.UTC().Format("2006-01-02T15:04:05.000000000")}
		}
	}
	// References in traits are resolved independently of the note.
	n := i.note()
	if i.Kind == Traits {
		n = nil
	}
	return sortKey{Kind: textKey, Text: vault.Fold(e.textOf(v, n, d.class == refClass))}
}

// compare compares two positions. Both must have a key for each sort key of the query. Equal keys
// are ordered by location and kind, so no two items are at the same position.
func (s *sorter) compare(a, b *mark) int {
	for i, k := range s.keys {
		x, y := a.Keys[i], b.Keys[i]
		// Missing values come last, also in descending order.
		if x.Kind == noKey || y.Kind == noKey {
			if order := boolean(x.Kind == noKey) - boolean(y.Kind == noKey); order != 0 {
				return order
			}
			continue
		}
		order := cmp.Or(x.Kind-y.Kind, compareNumbers(x.Number, y.Number), strings.Compare(x.Text, y.Text))
		if k.Descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Position-b.Position,
		slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
}

// boolean returns 1 for true and 0 for false.
func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sort sorts items in place and returns them. It computes the keys of each item once, before it
// compares them.
func (s *sorter) sort(items []Item) []Item {
	type marked struct {
		item Item
		mark *mark
	}
	all := make([]marked, len(items))
	for i, item := range items {
		all[i] = marked{item, s.mark(item)}
	}
	slices.SortStableFunc(all, func(a, b marked) int { return s.compare(a.mark, b.mark) })
	for i := range all {
		items[i] = all[i].item
	}
	return items
}

package state

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Listing is a list that is answered in pages, ordered by path, line and position.
type Listing[T any] struct {
	// Behind yields the items after a location, in order. The zero Location yields all.
	After func(index.Location) iter.Seq[T]
	// Spot returns the location of an item.
	Location func(T) index.Location
	// Count returns the number of all items; nil: Total counts them.
	Count func() int
}

// Total returns the number of items in the whole list. Without a Count it counts them and stops as
// soon as goOn returns false; the result is then too small.
func (l Listing[T]) Total(goOn func() bool) int {
	if l.Count != nil {
		return l.Count()
	}
	n := 0
	for range l.After(index.Location{}) {
		if n++; !goOn() {
			break
		}
	}
	return n
}

// lookEvery is the number of steps of a loop between two checks whether its call has ended.
const lookEvery = 256

// KeepGoing returns a function that a loop calls at each step, and that reports whether to continue. It
// checks the context at every lookEvery-th step, and returns false there once the context has
// ended. The caller of the loop must then return the context's error. The function is for one
// goroutine.
func KeepGoing(ctx context.Context) func() bool {
	step := 0
	return func() bool {
		step++
		return step%lookEvery != 0 || ctx.Err() == nil
	}
}

// A Pager is a request for a page.
type Pager struct {
	// Aside is the part of the answer that receives the meta and the warnings of the page.
	Aside *tool.Aside
	// Family determines the code of the fault of an invalid page token.
	Family *tool.Family
	// Page contains the limit and the page token of the call.
	Page tool.Page
}

// Page returns one page of a listing, each item converted by show. It records in the meta the
// count, the total, has_more and the token of the next page (CONTRACT §1), and warns with
// NO_RESULTS if the whole list is empty. A page ends at p.Page.Limit items, or earlier at the
// maximum size of an answer; it has at least one item if there is one. An invalid page token is a
// fault with the family's Malformed code. If the context ends, Page returns its error.
func Page[T, Item any](
	ctx context.Context, p Pager, l Listing[T], show func(T) Item,
) ([]Item, error) {
	items := []Item{}
	after, err := LocationAfter(p.Family, p.Page)
	if err != nil {
		return items, err
	}
	more, last := false, index.Location{}
	for v := range l.After(after) {
		if more = len(items) == p.Page.Limit; more {
			break
		}
		item := show(v)
		// The first item is always listed, so that each page makes progress.
		if more = !p.Aside.Fits(item) && len(items) > 0; more {
			break
		}
		items, last = append(items, item), l.Location(v)
	}
	total := len(items)
	// The total of a list with a single page is the number of its items.
	if more || p.Page.PageToken != "" {
		total = l.Total(KeepGoing(ctx))
	}
	if err := ctx.Err(); err != nil {
		return items, err // counting stopped early
	}
	p.Aside.Paged(len(items), total, more, locationKey(last))
	if total == 0 {
		p.Aside.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}

// ListAfter returns a value for Listing.Behind: the function that lists the items of one key, `of`,
// after a location.
func ListAfter[K, T any](list func(K, index.Location) iter.Seq[T], of K) func(index.Location) iter.Seq[T] {
	return func(after index.Location) iter.Seq[T] { return list(of, after) }
}

// locationKey returns a location in the form that page tokens contain: LINE:POSITION:PATH.
func locationKey(s index.Location) string {
	return fmt.Sprintf("%d:%d:%s", s.Line, s.Position, s.Path)
}

// LocationAfter returns the location after which the requested page begins: the zero Location for the
// first page. A token that another kind of list wrote is the fault of OtherList.
func LocationAfter(f *tool.Family, in tool.Page) (index.Location, error) {
	key, err := in.After(f)
	if err != nil || key == "" {
		return index.Location{}, err
	}
	parts := strings.SplitN(key, ":", 3)
	if len(parts) == 3 {
		line, err1 := strconv.Atoi(parts[0])
		position, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			return index.Location{Path: parts[2], Line: line, Position: position}, nil
		}
	}
	return index.Location{}, OtherList(f)
}

// OtherList returns the fault of a page token that another list wrote.
func OtherList(f *tool.Family) error {
	return fault.New(f.Malformed, "page_token is from another list").
		With("argument", "page_token").Fix("use meta.next_page_token of the previous page")
}

// PageOf returns one page of a list that is small enough to be built completely. key returns the
// key of an item for the page token. begins returns the index in `all` of the first item after a
// key, and false if the key is from another list. The meta and the warning are those of Page.
func PageOf[T any](
	p Pager, all []T, key func(T) string, begins func(string) (int, bool),
) ([]T, error) {
	after, err := p.Page.After(p.Family)
	if err != nil {
		return nil, err
	}
	first, known := 0, true
	if after != "" {
		first, known = begins(after)
	}
	if !known {
		return nil, OtherList(p.Family)
	}
	last := min(first+p.Page.Limit, len(all))
	items, end := slices.Clone(all[first:last]), ""
	if last > first {
		end = key(all[last-1])
	}
	p.Aside.Paged(len(items), len(all), last < len(all), end)
	if len(all) == 0 {
		p.Aside.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}

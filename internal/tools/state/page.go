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

// A Listing is something that is answered in pages, by path, line and position.
type Listing[T any] struct {
	Behind func(index.Location) iter.Seq[T] // what is behind a spot, in order
	Spot   func(T) index.Location
	Count  func() int // how many there are in all; nil: count them
}

// Total is how many there are in all, as far as it may go on counting.
func (l Listing[T]) Total(goOn func() bool) int {
	if l.Count != nil {
		return l.Count()
	}
	n := 0
	for range l.Behind(index.Location{}) {
		if n++; !goOn() {
			break
		}
	}
	return n
}

// lookEvery is after how many steps a loop over the things of a vault looks whether its call has ended.
const lookEvery = 256

// Going returns a function that each step of a loop asks whether to go on. It reports false after the context of
// the call has ended; who loops returns the error of the context then.
func Going(ctx context.Context) func() bool {
	step := 0
	return func() bool {
		step++
		return step%lookEvery != 0 || ctx.Err() == nil
	}
}

// A Pager is a page that a call asks for: where the answer notes it, and whose faults are a family's.
type Pager struct {
	Aside  *tool.Aside
	Family *tool.Family
	Page   tool.Page
}

// Page takes one page of a listing, and notes in the meta what CONTRACT §1 wants of a list.
func Page[T, Item any](
	ctx context.Context, p Pager, l Listing[T], show func(T) Item,
) ([]Item, error) {
	items := []Item{}
	after, err := SpotAfter(p.Family, p.Page)
	if err != nil {
		return items, err
	}
	more, last := false, index.Location{}
	for v := range l.Behind(after) {
		if more = len(items) == p.Page.Limit; more {
			break
		}
		item := show(v)
		if more = !p.Aside.Fits(item) && len(items) > 0; more {
			break
		}
		items, last = append(items, item), l.Spot(v)
	}
	total := len(items)
	if more || p.Page.PageToken != "" {
		total = l.Total(Going(ctx))
	}
	if err := ctx.Err(); err != nil {
		return items, err // what is listed is cut off
	}
	p.Aside.Paged(len(items), total, more, spotKey(last))
	if total == 0 {
		p.Aside.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}

// Ahead is what lists of one thing yield behind a spot.
func Ahead[K, T any](list func(K, index.Location) iter.Seq[T], of K) func(index.Location) iter.Seq[T] {
	return func(after index.Location) iter.Seq[T] { return list(of, after) }
}

// spotKey is a spot as a page token keeps it.
func spotKey(s index.Location) string {
	return fmt.Sprintf("%d:%d:%s", s.Line, s.Position, s.Path)
}

// SpotAfter is the spot that a page begins behind.
func SpotAfter(f *tool.Family, in tool.Page) (index.Location, error) {
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

// OtherList is the fault of a page token that some other list gave.
func OtherList(f *tool.Family) error {
	return fault.New(f.Malformed, "page_token is from another list").
		With("argument", "page_token").Fix("use meta.next_page_token of the previous page")
}

// PageOf takes one page of a list that is short enough to be made whole. begins finds where what is
// behind a key begins; it is false if the key is of another list.
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

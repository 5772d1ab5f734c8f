package raven

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/tool"
)

// A listing is something that is answered in pages, by path, line and position.
type listing[T any] struct {
	behind func(index.Spot) iter.Seq[T] // what is behind a spot, in order
	spot   func(T) index.Spot
	count  func() int // how many there are in all; nil: count them
}

// total is how many there are in all, as far as it may go on counting.
func (l listing[T]) total(goOn func() bool) int {
	if l.count != nil {
		return l.count()
	}
	n := 0
	for range l.behind(index.Spot{}) {
		if n++; !goOn() {
			break
		}
	}
	return n
}

// lookEvery is after how many steps a loop over the things of a vault looks whether its call has ended.
const lookEvery = 256

// going returns a function that each step of a loop asks whether to go on. It reports false after the context of
// the call has ended; who loops returns the error of the context then.
func going(ctx context.Context) func() bool {
	step := 0
	return func() bool {
		step++
		return step%lookEvery != 0 || ctx.Err() == nil
	}
}

// page takes one page of a listing, and notes in the meta what CONTRACT §1 wants of a list.
func page[T, Item any](
	ctx context.Context, a *tool.Aside, in tool.Page, l listing[T], show func(T) Item,
) ([]Item, error) {
	items := []Item{}
	after, err := spotAfter(in)
	if err != nil {
		return items, err
	}
	more, last := false, index.Spot{}
	for v := range l.behind(after) {
		if more = len(items) == in.Limit; more {
			break
		}
		item := show(v)
		if more = !a.Fits(item) && len(items) > 0; more {
			break
		}
		items, last = append(items, item), l.spot(v)
	}
	total := len(items)
	if more || in.PageToken != "" {
		total = l.total(going(ctx))
	}
	if err := ctx.Err(); err != nil {
		return items, err // what is listed is cut off
	}
	a.Paged(len(items), total, more, spotKey(last))
	if total == 0 {
		a.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items, nil
}

// ahead is what lists of one thing yield behind a spot.
func ahead[K, T any](list func(K, index.Spot) iter.Seq[T], of K) func(index.Spot) iter.Seq[T] {
	return func(after index.Spot) iter.Seq[T] { return list(of, after) }
}

// spotKey is a spot as a page token keeps it.
func spotKey(s index.Spot) string {
	return fmt.Sprintf("%d:%d:%s", s.Line, s.Position, s.Path)
}

// spotAfter is the spot that a page begins behind.
func spotAfter(in tool.Page) (index.Spot, error) {
	key, err := in.After(Family)
	if err != nil || key == "" {
		return index.Spot{}, err
	}
	parts := strings.SplitN(key, ":", 3)
	if len(parts) == 3 {
		line, err1 := strconv.Atoi(parts[0])
		position, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			return index.Spot{Path: parts[2], Line: line, Position: position}, nil
		}
	}
	return index.Spot{}, otherList()
}

// otherList is the fault of a page token that some other list gave.
func otherList() error {
	return fault.New(fault.InvalidValue, "page_token is of another list").
		With("argument", "page_token").Fix("use meta.next_page_token of the page before")
}

package audit

import (
	"context"
	"iter"
	"math"
	"time"
)

// A block is the entries in the table with keys in a range. The ranges of consecutive blocks share
// their bound.
type block struct {
	from, to string
	entries  []keyedEntry // oldest first
}

// Sizes of blocks.
const (
	// firstBlock is the approximate maximum number of entries in the first block. Each following
	// block may have twice as many, because a caller that continues wants more.
	firstBlock = 100

	// firstWidth is the initial time range of the first block, and leastWidth the minimum time
	// range of a block.
	firstWidth = time.Second
	leastWidth = time.Millisecond
)

// blocks yields the entries in the table with keys in the closed interval from `from` to `to`, in
// blocks from newest to oldest that together cover the interval. The table can only be read
// forward, so a block is a range of time that is guessed, read, and made smaller if it has too many
// entries. The cost of the first blocks depends on the number of their entries, not on that of all
// entries. now is approximately the time of the newest entry. An interval without entries is one
// empty block.
func (r Refusals) blocks(
	ctx context.Context, from, to string, now time.Time,
) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		first, err := r.first(ctx, from, to)
		if err != nil || first == "" {
			yield(block{from: from, to: to}, err)
			return
		}
		w := walk{Refusals: r, from: from, to: to, first: first, end: now}
		if at := timeOf(to); to < headKey && at.Before(now) {
			w.end = at
		}
		w.width, w.most = firstWidth, firstBlock
		for w.to != from {
			if b, err := w.next(ctx); !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// first returns the key of the oldest entry in the table with a key in the interval, or "" if there
// is none.
func (r Refusals) first(ctx context.Context, from, to string) (string, error) {
	for k, err := range r.unarchived(ctx, from, to) {
		return k.Key, err
	}
	return "", nil
}

// A walk reads the entries in the table in blocks, newest first. It is used by one goroutine.
type walk struct {
	Refusals
	from  string // lower end of the keys
	to    string // upper end of the keys that remain
	first string // key of the oldest entry
	end   time.Time

	// The time range of the next block before end, and the maximum number of its entries.
	width time.Duration
	most  int
}

// next returns the next block. Its time range is adapted to the density of the entries so far; if
// there are too many, it tries a smaller one, down to leastWidth, which is then read whatever its
// size. The last block ends at the lower end of the interval.
func (w *walk) next(ctx context.Context) (block, error) {
	for {
		begin := w.end.Add(-w.width)
		b := block{from: keyAt(begin), to: w.to}
		if b.from <= w.first {
			b.from = w.from
		}
		most := w.most
		if w.width == leastWidth {
			most = math.MaxInt
		}
		var whole bool
		var err error
		if b.entries, whole, err = w.between(ctx, b.from, b.to, most); err != nil {
			return b, err
		}
		if !whole {
			w.width = max(w.width/4, leastWidth)
			continue
		}
		w.to, w.end, w.most = b.from, begin, min(2*w.most, maxCost)
		w.width *= time.Duration(min(max(w.most/max(2*len(b.entries), 1), 1), 8))
		return b, nil
	}
}

// between returns the entries in the table with keys in the interval, oldest first. whole is false,
// and there is no result, if there are more than most. It reads at most one entry more than that.
func (r Refusals) between(
	ctx context.Context, from, to string, most int,
) (all []keyedEntry, whole bool, err error) {
	for k, err := range r.unarchived(ctx, from, to) {
		if err != nil || len(all) == most {
			return nil, false, err
		}
		all = append(all, k)
	}
	return all, true, nil
}

package audit

import (
	"context"
	"iter"
	"math"
	"time"
)

// A block is what was in the table with keys from one up to another.
type block struct {
	from, to string
	entries  []kept // oldest first
}

const (
	// firstBlock is about how many entries the first block has at most. Each one that follows may have
	// twice as many as the one before: who reads on wants more.
	firstBlock = 100

	// firstWidth is how much time the first block is tried with, and leastWidth how little a block has.
	firstWidth = time.Second
	leastWidth = time.Millisecond
)

// blocks yields what is in the table with keys from one up to another, newest first, block by block: all
// of them together reach from the one to the other. What is read for the first ones follows from how many
// entries they have, and not from how many there are. now is about when the newest were written.
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

// first is the key of the oldest entry in the table with a key from one up to another; empty: there is
// none.
func (r Refusals) first(ctx context.Context, from, to string) (string, error) {
	for k, err := range r.waiting(ctx, from, to) {
		return k.Key, err
	}
	return "", nil
}

// A walk goes over the entries in the table, newest first.
type walk struct {
	Refusals
	from  string // nothing before is wanted
	to    string // nothing behind is wanted any more
	first string // the key of the oldest entry
	end   time.Time

	// How much time before the end the next block is tried with, and how many entries are too many for it.
	width time.Duration
	most  int
}

// next is the next block. The time that it has follows from how dense the entries were so far; where there
// are too many it is tried with less.
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
		w.to, w.end, w.most = b.from, begin, min(2*w.most, mostSpent)
		w.width *= time.Duration(min(max(w.most/max(2*len(b.entries), 1), 1), 8))
		return b, nil
	}
}

// between are the entries in the table with keys from one up to another, oldest first, unless they are more
// than most.
func (r Refusals) between(
	ctx context.Context, from, to string, most int,
) (all []kept, whole bool, err error) {
	for k, err := range r.waiting(ctx, from, to) {
		if err != nil || len(all) == most {
			return nil, false, err
		}
		all = append(all, k)
	}
	return all, true, nil
}

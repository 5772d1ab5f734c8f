package repotest

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A timedBucket dates its objects by the clock of the test, as a store dates them by the time that
// the processes go by.
type timedBucket struct {
	blob.Bucket
	now func() time.Time

	mu    sync.Mutex
	dates map[string]time.Time
}

// Put implements blob.Bucket.
func (b *timedBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tag, err := b.Bucket.Put(ctx, key, data, c)
	if err == nil {
		b.dates[key] = b.now()
	}
	return tag, err
}

// List implements blob.Bucket.
func (b *timedBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range b.Bucket.List(ctx, prefix) {
			b.mu.Lock()
			o.Modified = b.dates[o.Key]
			b.mu.Unlock()
			if !yield(o, err) {
				return
			}
		}
	}
}

// A flakyBucket is a bucket that fails as planned, and counts its calls.
type flakyBucket struct {
	blob.Bucket
	plan func(call int) tabletest.Fault // of the calls, from 1; nil: none

	mu    sync.Mutex
	calls int
	asked requested
	late  []lateChange
}

// What was asked of a bucket.
type requested struct{ puts, gets, lists, deletes int }

// A lateChange is a Put or Delete that failed and is still to be done.
type lateChange struct {
	do   func()
	next bool // before the next call
}

// begin delivers what the call makes due, counts it, and says what happens to it.
func (b *flakyBucket) begin(n *int) tabletest.Fault {
	b.deliverIf(func(l lateChange) bool { return l.next })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	*n++
	if b.plan == nil {
		return tabletest.None
	}
	return b.plan(b.calls)
}

// Put implements blob.Bucket.
func (b *flakyBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	fault := b.begin(&b.asked.puts)
	if fault == tabletest.None {
		return b.Bucket.Put(ctx, key, data, c)
	}
	data = bytes.Clone(data)
	b.change(fault, func() { _, _ = b.Bucket.Put(context.WithoutCancel(ctx), key, data, c) })
	return "", tabletest.ErrInjected
}

// Delete implements blob.Bucket.
func (b *flakyBucket) Delete(ctx context.Context, key string) error {
	fault := b.begin(&b.asked.deletes)
	if fault == tabletest.None {
		return b.Bucket.Delete(ctx, key)
	}
	b.change(fault, func() { _ = b.Bucket.Delete(context.WithoutCancel(ctx), key) })
	return tabletest.ErrInjected
}

// change does what a fault leaves of a change: nothing, all of it now, or later.
func (b *flakyBucket) change(fault tabletest.Fault, do func()) {
	switch fault {
	case tabletest.After:
		do()
	case tabletest.Late, tabletest.LateNext:
		b.mu.Lock()
		b.late = append(b.late, lateChange{do, fault == tabletest.LateNext})
		b.mu.Unlock()
	}
}

// Get implements blob.Bucket.
func (b *flakyBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if b.begin(&b.asked.gets) != tabletest.None {
		return nil, "", tabletest.ErrInjected
	}
	return b.Bucket.Get(ctx, key, off, n)
}

// List implements blob.Bucket. Of the faults, After lets it yield everything before the error.
func (b *flakyBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		fault := b.begin(&b.asked.lists)
		if fault == tabletest.None || fault == tabletest.After {
			for o, err := range b.Bucket.List(ctx, prefix) {
				if !yield(o, err) || err != nil {
					return
				}
			}
		}
		if fault != tabletest.None {
			yield(blob.Object{}, tabletest.ErrInjected)
		}
	}
}

// deliver does what is late.
func (b *flakyBucket) deliver() { b.deliverIf(func(lateChange) bool { return true }) }

// deliverIf does what is late and due.
func (b *flakyBucket) deliverIf(due func(lateChange) bool) {
	b.mu.Lock()
	var now, later []lateChange
	for _, l := range b.late {
		if due(l) {
			now = append(now, l)
		} else {
			later = append(later, l)
		}
	}
	b.late = later
	b.mu.Unlock()
	for _, l := range now {
		l.do()
	}
}

// counts are the calls since the last call of counts.
func (b *flakyBucket) counts() requested {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = requested{}
	return asked
}

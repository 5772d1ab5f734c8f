package repotest

import (
	"bytes"
	"context"
	"sync"

	"rookery/internal/blob"
	"rookery/internal/tabletest"
)

// A flakyBucket is a bucket that fails as planned, and counts its calls.
type flakyBucket struct {
	blob.Bucket
	plan func(call int) tabletest.Fault // of the calls, from 1; nil: none

	mu         sync.Mutex
	calls      int
	puts, gets int
	late       func()
}

// begin counts a call and says what happens to it.
func (b *flakyBucket) begin(n *int) tabletest.Fault {
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
	fault := b.begin(&b.puts)
	data = bytes.Clone(data)
	put := func() { _, _ = b.Bucket.Put(context.WithoutCancel(ctx), key, data, c) }
	switch fault {
	case tabletest.None:
		return b.Bucket.Put(ctx, key, data, c)
	case tabletest.After:
		put()
	case tabletest.Late, tabletest.LateNext:
		b.mu.Lock()
		b.late = put
		b.mu.Unlock()
	}
	return "", tabletest.ErrInjected
}

// Get implements blob.Bucket.
func (b *flakyBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if b.begin(&b.gets) != tabletest.None {
		return nil, "", tabletest.ErrInjected
	}
	return b.Bucket.Get(ctx, key, off, n)
}

// deliver does the Put that is late.
func (b *flakyBucket) deliver() {
	b.mu.Lock()
	late := b.late
	b.late = nil
	b.mu.Unlock()
	if late != nil {
		late()
	}
}

// counts are the Puts and Gets since the last call of counts.
func (b *flakyBucket) counts() (puts, gets int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	puts, gets = b.puts, b.gets
	b.puts, b.gets = 0, 0
	return puts, gets
}

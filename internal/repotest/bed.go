package repotest

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// A bed is an engine whose user falls asleep in one call: before anything of it is done. It sleeps until
// the test wakes it.
type bed struct {
	e      Engine
	left   atomic.Int64 // calls until then; 0 or less: none
	asleep chan struct{}
	wake   chan struct{}
}

func newBed(e Engine) *bed {
	return &bed{e: e, asleep: make(chan struct{}), wake: make(chan struct{})}
}

// sleepAt makes the n-th call from now on the one.
func (b *bed) sleepAt(n int) { b.left.Store(int64(n)) }

// call is the beginning of every call.
func (b *bed) call() {
	if b.left.Add(-1) == 0 {
		close(b.asleep)
		<-b.wake
	}
}

func (b *bed) engine() Engine { return Engine{bedTable{b}, bedBucket{b}, b.e.Items} }

type bedTable struct{ *bed }

var _ table.Table = bedTable{}

// Get implements table.Table.
func (b bedTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	b.call()
	return b.e.Table.Get(ctx, k)
}

// Query implements table.Table.
func (b bedTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		b.call()
		b.e.Table.Query(ctx, part, from, to)(yield)
	}
}

// Commit implements table.Table.
func (b bedTable) Commit(ctx context.Context, ops ...table.Op) error {
	b.call()
	return b.e.Table.Commit(ctx, ops...)
}

type bedBucket struct{ *bed }

var _ blob.Bucket = bedBucket{}

// Put implements blob.Bucket.
func (b bedBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	b.call()
	return b.e.Bucket.Put(ctx, key, data, c)
}

// Get implements blob.Bucket.
func (b bedBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	b.call()
	return b.e.Bucket.Get(ctx, key, off, n)
}

// Delete implements blob.Bucket.
func (b bedBucket) Delete(ctx context.Context, key string) error {
	b.call()
	return b.e.Bucket.Delete(ctx, key)
}

// List implements blob.Bucket.
func (b bedBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		b.call()
		b.e.Bucket.List(ctx, prefix)(yield)
	}
}

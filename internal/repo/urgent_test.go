package repo_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A slowBucket does not store an image while slow is set: it waits until the context has ended.
type slowBucket struct {
	blob.Bucket
	slow    atomic.Bool
	waiting chan struct{}
}

func (b *slowBucket) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	if b.slow.Load() && strings.HasPrefix(key, "image/") {
		b.waiting <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}
	return b.Bucket.Put(ctx, key, data, c)
}

// TestUrgentPass checks that a pass that a caller waits for does not wait for the image of another
// pass, and that the image is written by the next one.
func TestUrgentPass(t *testing.T) {
	s := newShelf(t)
	s.write(t, 5)
	slow := &slowBucket{Bucket: s.Bucket, waiting: make(chan struct{})}
	s.Bucket = slow
	v := s.open(t)
	_, err := v.Read(t.Context())
	require.NoError(t, err)

	slow.slow.Store(true)
	first := make(chan error)
	go func() { first <- v.Compact(t.Context(), eventlog.Compaction{All: true}) }()
	<-slow.waiting
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{Later: true}))
	require.NoError(t, <-first, "an interrupted image is no failure")
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Nil(t, c.Image)

	slow.slow.Store(false)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{}))
	c, err = v.Control(t.Context())
	require.NoError(t, err)
	require.NotNil(t, c.Image, "it was left to the next pass")
}

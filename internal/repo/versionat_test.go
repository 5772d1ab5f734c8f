package repo_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A countingBucket counts the reads of objects.
type countingBucket struct {
	blob.Bucket
	gets atomic.Int64
}

func (b *countingBucket) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	b.gets.Add(1)
	return b.Bucket.Get(ctx, key, off, n)
}

// TestVersionAtReadsOneRun checks that the search for the version at a time reads no run of a segment
// but the one that it finds, whatever the length of the log.
func TestVersionAtReadsOneRun(t *testing.T) {
	s := newShelf(t)
	begin := s.clock.Now()
	s.write(t, 60)
	s.fold(t)
	s.write(t, 3)
	s.empty(t)
	counted := &countingBucket{Bucket: s.Bucket}
	s.Bucket = counted
	v := s.open(t)
	for i := range 60 {
		at := begin.Add(time.Duration(i)*time.Second + time.Millisecond)
		_, err := v.VersionAt(t.Context(), at) // reads the index and the directory of the segment
		require.NoError(t, err)
		counted.gets.Store(0)
		version, err := v.VersionAt(t.Context(), at)
		require.NoError(t, err)
		require.EqualValues(t, 1+i, version)
		require.LessOrEqual(t, counted.gets.Load(), int64(1))
	}
}

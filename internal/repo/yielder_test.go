package repo_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A signalBucket calls segment when a segment was written, and records when an image is.
type signalBucket struct {
	blob.Bucket
	segment func()

	mu    sync.Mutex
	image time.Time
}

func (b *signalBucket) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	if strings.HasPrefix(key, "image/") {
		b.mu.Lock()
		b.image = time.Now()
		b.mu.Unlock()
	}
	tag, err := b.Bucket.Put(ctx, key, data, c)
	if strings.HasPrefix(key, "segment/") {
		b.segment()
	}
	return tag, err
}

// imageAt returns when an image was written.
func (b *signalBucket) imageAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.image
}

// TestAPassYields checks that a pass of a Compactor, once it has begun, writes its image when the
// call that writes meanwhile has ended, but after ten seconds at the latest; and that it does not let
// a search, another pass and its own end wait.
func TestAPassYields(t *testing.T) {
	newShelf(t) // the encoders that all logs share must be made outside of the bubble
	for _, test := range []struct {
		name  string
		write time.Duration // how long the call takes
		awake func(t *testing.T, v *repo.Vault, k *repo.Compactor)
		image time.Duration // when the image is written after the begin of the call; 0: at any time
	}{
		{"short call", 3 * time.Second, nil, 3 * time.Second},
		{"long call", time.Minute, nil, 10 * time.Second},
		{"a search", time.Minute, func(t *testing.T, v *repo.Vault, _ *repo.Compactor) {
			_, err := v.Searchable(t.Context())
			require.NoError(t, err)
		}, 0},
		{"its end", time.Minute, func(_ *testing.T, _ *repo.Vault, k *repo.Compactor) { k.Close() }, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t)
				s.write(t, 500)
				var call sync.WaitGroup
				bucket, v, begun := &signalBucket{Bucket: s.Bucket}, (*repo.Vault)(nil), time.Time{}
				bucket.segment = sync.OnceFunc(func() {
					begun = time.Now()
					started := make(chan struct{})
					call.Go(func() {
						_, err := v.Update(context.Background(), caller(),
							func(ctx context.Context, tx *repo.Tx) (any, error) {
								close(started)
								time.Sleep(test.write)
								return nil, tx.Put(ctx, "late.md", []byte("late"))
							})
						require.NoError(t, err)
					})
					<-started
				})
				s.Bucket = bucket
				v = s.open(t)
				_, err := v.Read(t.Context())
				require.NoError(t, err)
				k := v.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
				time.Sleep(2 * time.Second) // the first check is after a second
				synctest.Wait()
				require.False(t, begun.IsZero())
				require.True(t, bucket.imageAt().IsZero())
				if test.awake != nil {
					from := time.Now()
					test.awake(t, v, k)
					require.Less(t, time.Since(from), time.Second/10)
				}
				time.Sleep(15 * time.Second)
				synctest.Wait()
				require.False(t, bucket.imageAt().IsZero())
				if test.image > 0 {
					require.InDelta(t, test.image.Seconds(), bucket.imageAt().Sub(begun).Seconds(), 0.1)
				}
				call.Wait()
				k.Close()
			})
		})
	}
}

// TestAPassThatIsAwaited checks that a pass does not wait for a call while another pass waits for it.
// It runs in real time, because a pass waits for another one with a mutex.
func TestAPassThatIsAwaited(t *testing.T) {
	s := newShelf(t)
	s.write(t, 500)
	v := s.open(t)
	ended, started := make(chan struct{}), make(chan struct{})
	bucket := &signalBucket{Bucket: s.Bucket}
	bucket.segment = sync.OnceFunc(func() {
		go func() {
			_, err := v.Update(context.Background(), caller(), func(context.Context, *repo.Tx) (any, error) {
				close(started)
				<-ended
				return nil, nil
			})
			assert.NoError(t, err)
		}()
		<-started
	})
	s.Bucket = bucket
	v = s.open(t)
	_, err := v.Read(t.Context())
	require.NoError(t, err)
	k := v.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
	defer k.Close()
	<-started
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{}))
	require.False(t, bucket.imageAt().IsZero(), "the first pass is complete")
	close(ended)
}

package repo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// A full bucket refuses all writes. It counts the attempts to write segments.
type full struct {
	blob.Bucket
	tries atomic.Int64
}

func (f *full) Put(_ context.Context, key string, _ []byte, _ blob.Cond) (blob.Tag, error) {
	if strings.HasPrefix(key, "segment/") {
		f.tries.Add(1)
	}
	return "", errors.New("no space left")
}

// TestKeeperWithoutRoom checks that a failed pass is retried once a minute, not once a second.
func TestKeeperWithoutRoom(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	for i := range 500 {
		change(t, v, edit{"a.md", fmt.Sprintf("line %d", i)})
	}
	bucket := &full{Bucket: e.Bucket}
	synctest.Test(t, func(t *testing.T) {
		late, err := repo.NewVault(repo.VaultOptions{
			Name: "team", Part: "v", Table: e.Table, Bucket: bucket, Texts: repo.NewTexts(1 << 20),
			Now: repotest.NewClock().Now,
		})
		require.NoError(t, err)
		_, err = late.Read(t.Context())
		require.NoError(t, err)
		k := late.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
		time.Sleep(10*time.Minute + time.Second/2)
		require.EqualValues(t, 11, bucket.tries.Load()) // after a second, and each minute
		k.Close()
	})
}

// TestAVaultAtRestIsGathered checks that the index of a large vault is replaced by that of an image
// once, as soon as the vault is at rest after many of its notes were changed.
func TestAVaultAtRestIsGathered(t *testing.T) {
	newShelf(t) // the encoders that all logs share must be made outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		large := strings.Repeat("# A heading\n\nA paragraph with [[a-link]].\n\n", 3000)
		write := func(first, last int, more string) {
			for i := first; i < last; i++ {
				change(t, s.vault, edit{fmt.Sprintf("n%d.md", i), large + more})
			}
		}
		write(0, 20, "")
		require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{All: true}))
		s.vault = s.open(t)
		_, err := s.vault.Read(t.Context())
		require.NoError(t, err)
		k := s.vault.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
		defer k.Close()
		imageAfter := func(seconds int) uint64 {
			time.Sleep(time.Duration(seconds)*time.Second + time.Second/2)
			synctest.Wait()
			c, err := s.vault.Control(t.Context())
			require.NoError(t, err)
			return c.Image.Seq
		}
		before := imageAfter(20)
		write(0, 1, "more")
		require.Equal(t, before, imageAfter(20), "little is new")
		write(1, 4, "more")
		scattered := s.vault.Known()
		require.Equal(t, before, imageAfter(7), "it may go on")
		require.Equal(t, scattered.Version(), imageAfter(20))
		require.NotSame(t, scattered, s.vault.Known())
		gathered := s.vault.Known()
		imageAfter(30)
		require.Same(t, gathered, s.vault.Known())
	})
}

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

package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestRelease checks when images of an earlier format are kept: for a quarter of an hour after the
// first process of a release with a new format has started, in all processes of this release;
// always in a process of an earlier release; and while the release is unknown.
func TestRelease(t *testing.T) {
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	now := time.Now().UTC()
	begin := func(to table.Table) *release {
		return &release{table: to, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	}
	set := func(format int, since time.Time) {
		data, err := json.Marshal(releaseItem{format, since})
		require.NoError(t, err)
		require.NoError(t, db.Commit(t.Context(), table.Set(table.Item{Key: releaseKey(), Data: data})))
	}
	first := begin(db)
	require.True(t, first.keepsOldFormat(t.Context()), "it has just begun")
	now = now.Add(10 * time.Minute)
	second := begin(db)
	require.True(t, second.keepsOldFormat(t.Context()))
	now = now.Add(5 * time.Minute)
	require.False(t, first.keepsOldFormat(t.Context()))
	require.False(t, second.keepsOldFormat(t.Context()))
	require.False(t, begin(db).keepsOldFormat(t.Context()), "a process that begins later")

	set(index.ImageFormat-1, now.Add(-time.Hour))
	upgraded := begin(db)
	require.True(t, upgraded.keepsOldFormat(t.Context()), "an earlier release ran")
	now = now.Add(releasePause)
	require.False(t, upgraded.keepsOldFormat(t.Context()))

	set(index.ImageFormat+1, now.Add(-time.Hour))
	require.True(t, begin(db).keepsOldFormat(t.Context()), "a later release runs")

	broken := &brokenTable{db, true}
	late := begin(broken)
	require.True(t, late.keepsOldFormat(t.Context()), "it is not known")
	broken.broken = false
	set(index.ImageFormat, now.Add(-time.Hour))
	require.True(t, late.keepsOldFormat(t.Context()), "it is not asked again at once")
	now = now.Add(releaseAgain)
	require.False(t, late.keepsOldFormat(t.Context()))
}

// A brokenTable cannot be read while broken is set.
type brokenTable struct {
	table.Table
	broken bool
}

func (b *brokenTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if b.broken {
		return table.Item{}, errors.New("it is broken")
	}
	return b.Table.Get(ctx, k)
}

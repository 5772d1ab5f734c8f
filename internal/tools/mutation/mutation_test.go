package mutation_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// TestCallThatGaveUp holds that nobody looks at the output of a call that gave up: its function may
// still be filling it. The race detector tells.
func TestCallThatGaveUp(t *testing.T) {
	dir := t.TempDir()
	table, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, table.Close()) }()
	bucket, err := fileblob.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, bucket.Close()) }()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "v", Part: "v/1", Table: table, Bucket: blob.Sub(bucket, "log"),
		Texts: repo.NewTexts(1 << 20), Now: time.Now,
	})
	require.NoError(t, err)
	require.NoError(t, v.Create(t.Context(), eventlog.Call{Request: []byte("r")}, nil))

	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan struct{})
	out, err := mutation.ChangeVault(ctx, v, eventlog.Call{}, mutation.Change[[64]int]{
		Draft: func(_ context.Context, _ *repo.Tx, out *[64]int) error {
			defer close(ended)
			giveUp()
			out[0] = 1
			return nil
		}})
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, out)
	}
	<-ended
	_, err = mutation.ChangeVault(t.Context(), v, eventlog.Call{}, mutation.Change[[64]int]{
		Draft: func(context.Context, *repo.Tx, *[64]int) error { return nil },
	})
	require.NoError(t, err, "the worker is done with the first")
}

package bolttable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestSnapshot checks that a copy has the commits before the moment at which it was frozen and none
// after it, whatever is written and compacted meanwhile.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	b, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	var done atomic.Int64 // commits that were acknowledged
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				it := table.Item{Key: table.Key{Part: fmt.Sprint(w), Sort: fmt.Sprintf("%08d", i)}, Data: []byte("x")}
				if b.Commit(t.Context(), table.Create(it)) != nil {
					return
				}
				done.Add(1)
				if i%64 == 63 && w == 0 && b.Compact(t.Context()) != nil {
					return
				}
			}
		})
	}
	for round := range 8 {
		var before, after int64
		path, err := b.Snapshot(func() error {
			before = done.Load()
			after = done.Load() // unchanged: no commit was made meanwhile
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, before, after)
		copied := filepath.Join(dir, fmt.Sprint("copy", round))
		require.NoError(t, os.Rename(path, copied))
		own, err := bolttable.Open(copied, bolttable.Options{})
		require.NoError(t, err)
		n := 0
		for w := range 4 {
			next := 0
			for it, err := range own.Query(t.Context(), fmt.Sprint(w), "", "~") {
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("%08d", next), it.Sort, "a prefix of what one writer wrote")
				next++
			}
			n += next
		}
		require.GreaterOrEqual(t, int64(n), before)
		require.LessOrEqual(t, int64(n), before+4, "at most one of each writer was written, and not answered")
		require.NoError(t, own.Close())
	}
	stop.Store(true)
	writers.Wait()

	broken := errors.New("cannot be copied")
	_, err = b.Snapshot(func() error { return broken })
	require.ErrorIs(t, err, broken)
	require.NoFileExists(t, filepath.Join(dir, "table.db.snapshot"))
	require.NoError(t, b.Close())
	_, err = b.Snapshot(func() error { return nil })
	require.ErrorIs(t, err, bolttable.ErrClosed)

	left := filepath.Join(dir, "table.db.snapshot")
	require.NoError(t, os.WriteFile(left, []byte("cut off"), 0o600))
	b, err = bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	require.NoFileExists(t, left, "what a process left that was killed in it")
	require.NoError(t, b.Close())
}

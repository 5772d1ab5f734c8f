package checkout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/vault"
)

func TestFilesFollowTheLog(t *testing.T) {
	p := newPlace(t, nil)
	v, _ := p.open(t)
	write(t, v, "a.md", "one\n")
	require.Equal(t, "one\n", p.file(t, "a.md"))
	write(t, v, "a.md", "two\r\nwithout an end")
	require.Equal(t, "two\r\nwithout an end", p.file(t, "a.md"))
	write(t, v, "deep/er/b.md", "")
	require.Empty(t, p.file(t, "deep/er/b.md"))
	write(t, v, ".trash/c.md", "three\n")
	require.Equal(t, "three\n", p.file(t, ".trash/c.md"))
	require.NoError(t, put(t.Context(), v, "deep/er/b.md", nil))
	require.Equal(t, []string{".trash", ".trash/c.md", "a.md"}, p.paths(t),
		"folders that became empty are gone")
	write(t, v, "deep/er/b.md", "again\n")
	p.inStep(t, v)
}

// TestManyFiles checks that the files of a commit are there when it is answered, that each is written
// once, and that the answer does not wait until they are synced: a process that starts after a power
// loss writes them again from the log.
func TestManyFiles(t *testing.T) {
	p := newPlace(t, nil)
	v, _ := p.open(t)
	p.files.mu.Lock()
	p.files.stuck = errFull
	p.files.mu.Unlock()
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("n/%03d.md", i))
	}
	for _, text := range []string{"one\n", "", "two\n"} {
		p.files.mu.Lock()
		p.files.put = nil
		p.files.mu.Unlock()
		_, err := v.Update(t.Context(), eventlog.Call{Who: eventlog.Who{Principal: "ann"}, Tool: "tool"},
			func(ctx context.Context, tx *repo.Tx) (any, error) {
				for _, path := range slices.Backward(want) {
					if err := tx.Put(ctx, vault.Path(path), []byte(text)); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
		require.NoError(t, err)
		for _, path := range want {
			require.Equal(t, text, p.file(t, path))
		}
		p.files.mu.Lock()
		require.ElementsMatch(t, want, p.files.put)
		p.files.mu.Unlock()
	}
	p.inStep(t, v)
}

// TestSweepWritesNothingNew checks that a sweep with the same result as the one before writes
// nothing.
func TestSweepWritesNothingNew(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "ours\n")
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	folder.Close() // its cursors move no more
	before, err := v.Control(t.Context())
	require.NoError(t, err)
	_, err = folder.Sweep(t.Context())
	require.NoError(t, err)
	after, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

var errFull = errors.New("no space left on device")

// TestFolderThatFails checks that a commit is durable although its file cannot be written, and that
// the file is written when that is possible again.
func TestFolderThatFails(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "gone.md", "one\n")
	folder.Close()
	v, folder = p.open(t)
	synced := cursor(t, v, "checkout")
	p.files.failing(errFull)
	write(t, v, "a.md", "two\n")
	write(t, v, "b.md", "new\n")
	require.NoError(t, put(t.Context(), v, "gone.md", nil))
	require.Equal(t, "one\n", p.file(t, "a.md"))
	err := put(t.Context(), v, "a.md", []byte("three\n"))
	require.True(t, fault.Is(err, fault.StorageError), "%v", err)
	require.NotContains(t, err.Error(), p.dir)
	found, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	require.Contains(t, found.Missing, "b.md", "a file that cannot be written is told")
	require.Equal(t, repo.Stale, freshness(t, v))
	folder.Close()
	require.Equal(t, synced, cursor(t, v, "checkout"), "the cursor passed files that are behind")

	v, folder = p.open(t)
	p.files.failing(nil)
	write(t, v, "c.md", "other\n")
	write(t, v, "a.md", "three\n")
	idx := p.inStep(t, v)
	require.Equal(t, "(none)", p.file(t, "gone.md"))
	folder.Close()
	require.Equal(t, idx.Version(), cursor(t, v, "checkout"))
}

// TestCursorPassesOnlySyncedFiles checks that files which are not synced are written again by the
// next process.
func TestCursorPassesOnlySyncedFiles(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "deep/b.md", "one\n")
	require.NoError(t, put(t.Context(), v, "deep/b.md", nil))
	p.files.mu.Lock()
	p.files.stuck = errFull
	p.files.synced = nil // a tick of the background may have come already
	p.files.mu.Unlock()
	write(t, v, "c.md", "one\n")
	last := v.Known().Version()
	folder.Close()
	require.Less(t, cursor(t, v, "checkout"), last)
	require.Less(t, cursor(t, v, "audit"), last)

	p.files.stuck = nil
	v, folder = p.open(t)
	folder.Close()
	require.Contains(t, p.files.synced, "c.md")
	require.Contains(t, p.files.synced, ".raven/audit.log")
	require.Equal(t, last, cursor(t, v, "checkout"))
	require.Equal(t, last, cursor(t, v, "audit"))
}

// TestCloseSyncsEverything checks that each written path is synced before the cursor passes it.
func TestCloseSyncsEverything(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "deep/b.md", "one\n")
	require.NoError(t, put(t.Context(), v, "a.md", nil))
	folder.Close()
	require.Subset(t, p.files.synced, []string{"a.md", "deep/b.md", ".raven/audit.log"})
	require.Equal(t, v.Known().Version(), cursor(t, v, "checkout"))
	folder.Close()
}

// TestUnknownOutcome checks that a commit with an unknown outcome which did take effect is not
// taken for an outside edit.
func TestUnknownOutcome(t *testing.T) {
	var late atomic.Bool
	var flaky *tabletest.Flaky
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := newPlace(t, func(below table.Table) table.Table {
		flaky = tabletest.NewFlaky(below, func(c tabletest.Call) tabletest.Fault {
			if c.Method == tabletest.Commit && late.Load() {
				if strings.HasPrefix(c.Ops[0].Item.Sort, "log/0") {
					cancel() // the caller that waits for the outcome has waited long enough
				}
				return tabletest.Late
			}
			return tabletest.None
		})
		return flaky
	})
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	folder.Close() // nothing of its own is late
	v, _ = p.open(t)
	late.Store(true)
	err := put(ctx, v, "a.md", []byte("two\n"))
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	late.Store(false)
	require.NotEmpty(t, flaky.Deliver(t.Context()))
	write(t, v, "a.md", "three\n")
	p.inStep(t, v)
}

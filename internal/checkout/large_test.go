package checkout_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
)

// TestHugeFileIsNotRead checks that a file which is too large for a note is reported without being
// read, because it may be larger than the memory.
func TestHugeFileIsNotRead(t *testing.T) {
	p := newPlace(t, nil)
	files := &nosy{Files: p.files.Files, read: func(key string) { require.NotEqual(t, "huge.md", key) }}
	p.files.Files = files
	v := p.vault(t)
	folder := p.follow(t, v)
	p.edit(t, "huge.md", "")
	require.NoError(t, os.Truncate(filepath.Join(p.dir, "huge.md"), repo.MaxNote+1))
	reindex(t, folder, "")
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, []repo.LeftFile{{Path: "huge.md", Why: repo.LeftSize}}, control.Left.Files)
}

// TestMuchIsDiscarded discards a batch with more unknown text than one commit can contain.
func TestMuchIsDiscarded(t *testing.T) {
	const large = 40
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close() // no more background sweeps
	many(t, v, 30)
	for i := range 30 {
		p.remove(t, fmt.Sprintf("n/%02d.md", i))
	}
	for i := range large {
		p.edit(t, fmt.Sprintf("large/%02d.md", i), fmt.Sprint(i, strings.Repeat("x", repo.MaxNote-10)))
	}
	require.Equal(t, 30, reindex(t, folder, "").Held.Removed)
	require.Equal(t, 30+large, reindex(t, folder, checkout.Discard).Restored)
	require.Equal(t, 30, p.inStep(t, v).Totals().Notes)
	for i := range large {
		require.Len(t, text(t, v, fmt.Sprintf(".trash/large/%02d.md", i)), len(fmt.Sprint(i))+repo.MaxNote-10)
	}
}

// A losing folder reports a displaced text as lost when loses is set.
type losing struct {
	checkout.Files
	loses atomic.Bool
	lost  blob.Displaced
}

func (f *losing) Due(context.Context) iter.Seq2[blob.Displaced, error] {
	return func(yield func(blob.Displaced, error) bool) {
		if f.loses.Load() {
			yield(f.lost, nil)
		}
	}
}

func (f *losing) Settle(context.Context, blob.Displaced) error {
	f.loses.Store(false)
	return nil
}

// TestHeldBesideWhatWasDisplaced checks that a held batch keeps waiting for a decision when a
// displaced text is ingested, even if it would not be held now.
func TestHeldBesideWhatWasDisplaced(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	files := &losing{Files: p.files, lost: blob.Displaced{
		Key: "n/30.md", Data: []byte("# 30\n\ntext\nmine\n"), Written: time.Now().Add(time.Hour),
	}}
	folder, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: files, Log: slog.New(slog.DiscardHandler), Now: p.now,
	}.Hurried(20))
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	many(t, v, 40)
	for i := range 25 {
		p.remove(t, fmt.Sprintf("n/%02d.md", i))
	}
	require.Equal(t, 25, reindex(t, folder, "").Held.Removed)
	for i := range 10 {
		p.edit(t, fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n", i))
	}
	require.Equal(t, 15, reindex(t, folder, "").Held.Removed, "it waits on, though it takes away less")

	files.loses.Store(true)
	require.Eventually(t, func() bool { return !files.loses.Load() }, time.Minute, time.Millisecond)
	require.Equal(t, "# 30\n\ntext\nmine\n", text(t, v, "n/30.md"))
	require.Equal(t, 15, reindex(t, folder, "").Held.Removed)
	require.Equal(t, 40, v.Known().Totals().Notes)
}

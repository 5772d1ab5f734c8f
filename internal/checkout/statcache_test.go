package checkout_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
)

// calm are files that have not changed for a long time. It counts how many are read.
type calm struct {
	checkout.Files
	read atomic.Int64
}

func (c *calm) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	c.read.Add(1)
	return c.Files.Get(ctx, key, off, n)
}

func (c *calm) Look(ctx context.Context, key string) (blob.Object, error) {
	o, err := c.Files.Look(ctx, key)
	o.Changed = o.Changed.Add(-time.Hour)
	return o, err
}

func (c *calm) Walk(
	ctx context.Context, prefix string, enter func(string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range c.Files.Walk(ctx, prefix, enter) {
			o.Changed = o.Changed.Add(-time.Hour)
			if !yield(o, err) {
				return
			}
		}
	}
}

// openCalm opens the folder over calm files, and waits until it was compared once.
func (p *place) openCalm(t *testing.T, files *calm) (*repo.Vault, *checkout.Checkout) {
	t.Helper()
	v := p.vault(t)
	c, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: files, Log: slog.New(slog.DiscardHandler), Now: p.now, Memory: blob.Sub(p.whole, "log"),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.Ready(t.Context()))
	return v, c
}

// TestMemory checks that a start does not read a file whose attributes are those of its last
// reading, that it finds later changes, and that the stored attributes may be missing, truncated or
// of another format.
func TestMemory(t *testing.T) {
	p := newPlace(t, nil)
	files := &calm{Files: p.files.Files}
	v, folder := p.openCalm(t, files)
	for i := range 20 {
		write(t, v, fmt.Sprintf("%d.md", i), song)
	}
	reindex(t, folder, "")
	folder.Close()

	files.read.Store(0)
	_, folder = p.openCalm(t, files)
	require.Zero(t, files.read.Load())
	p.edit(t, "3.md", "mine\n")
	folder.Close()
	v, folder = p.openCalm(t, files)
	require.Equal(t, "mine\n", text(t, v, "3.md"))
	folder.Close()

	memory := blob.Sub(p.whole, "log")
	for _, found := range []string{"", `{"format":1,"seen":{"3.md"`, `{"format":99}`, "\x00"} {
		_, err := memory.Put(t.Context(), "checkout/seen.json", []byte(found), blob.Always)
		require.NoError(t, err)
		files.read.Store(0)
		_, folder = p.openCalm(t, files)
		require.NotZero(t, files.read.Load())
		folder.Close()
	}
	require.NoError(t, memory.Delete(t.Context(), "checkout/seen.json"))
	v, _ = p.openCalm(t, files)
	p.inStep(t, v)
}

package checkout_test

import (
	"context"
	"iter"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/checkout"
)

// interrupted are files that end a context before one of the reads, and fail as the operating system does for a
// read whose context has ended.
type interrupted struct {
	checkout.Files
	left int // reads until then; negative: it is not ended
	end  func()
}

func (e *interrupted) read(ctx context.Context) error {
	if e.left == 0 {
		e.end()
	}
	e.left--
	return ctx.Err()
}

func (e *interrupted) Look(ctx context.Context, key string) (blob.Object, error) {
	if err := e.read(ctx); err != nil {
		return blob.Object{}, err
	}
	return e.Files.Look(ctx, key)
}

func (e *interrupted) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	if err := e.read(ctx); err != nil {
		return nil, "", err
	}
	return e.Files.Get(ctx, key, off, n)
}

func (e *interrupted) Walk(
	ctx context.Context, prefix string, enter func(folder string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for o, err := range e.Files.Walk(ctx, prefix, enter) {
			if ended := e.read(ctx); ended != nil {
				yield(blob.Object{}, &blob.WalkError{Folder: "n", Err: ended})
				return
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// TestEndedReadsAreNoFindings: a comparison that is ended at any read, as Close does, tells of no file that
// it cannot be read.
func TestEndedReadsAreNoFindings(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	files := &interrupted{Files: p.files, left: -1}
	folder, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: files, Log: slog.New(slog.DiscardHandler), Now: p.now,
	}.Slowed(1000))
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	require.NoError(t, folder.Ready(t.Context()))
	many(t, v, 4)
	p.edit(t, "n/00.md", "mine\n")
	p.remove(t, "n/01.md")
	p.edit(t, "n/new.md", "new\n")

	for n, ended := 0, true; ended; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		files.left, files.end = n, cancel
		_, err := folder.Reindex(ctx, checkout.Taking{DryRun: true})
		if ended = ctx.Err() != nil; ended {
			require.ErrorIs(t, err, context.Canceled, "at read %d", n)
		}
		files.left = -1
		cancel()
		folder.Settled(t.Context())
		control, err := v.Control(t.Context())
		require.NoError(t, err)
		require.Nil(t, control.Left, "at read %d", n)
	}
	taken := reindex(t, folder, "")
	require.Equal(t, 3, taken.Created+taken.Changed+taken.Removed)
}

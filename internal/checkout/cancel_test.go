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
)

// interrupted are files that end a context before one of the reads, and then fail as the operating
// system does for a read whose context has ended.
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

// TestEndedReadsAreNoFindings checks that a comparison which ends at any read, as Close causes it,
// reports no file as unreadable.
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
		_, err := folder.Reindex(ctx, checkout.IngestOptions{DryRun: true})
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

// stuck are files whose reads, from one on, last until their context ends.
type stuck struct {
	checkout.Files
	left    atomic.Int64 // reads until then
	reached chan struct{}
}

func newStuck(files checkout.Files, left int) *stuck {
	s := &stuck{Files: files, reached: make(chan struct{})}
	s.left.Store(int64(left))
	return s
}

func (s *stuck) read(ctx context.Context) error {
	n := s.left.Add(-1)
	if n == -1 {
		close(s.reached)
	}
	if n < 0 {
		<-ctx.Done()
	}
	return ctx.Err()
}

// Touched returns a time long ago, so that missing files count as removed for longer than any wait.
func (s *stuck) Touched(context.Context, string) (time.Time, error) {
	return time.Now().Add(-24 * time.Hour), nil
}

func (s *stuck) Look(ctx context.Context, key string) (blob.Object, error) {
	if err := s.read(ctx); err != nil {
		return blob.Object{}, err
	}
	return s.Files.Look(ctx, key)
}

func (s *stuck) Walk(
	ctx context.Context, prefix string, enter func(folder string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		if err := s.read(ctx); err != nil {
			yield(blob.Object{}, err)
			return
		}
		s.Files.Walk(ctx, prefix, enter)(yield)
	}
}

// TestHeldThroughACutStart checks that a process which is closed at any read of its first
// comparison does not forget the edits that wait for a decision, even if they are now too few to be
// held for their number.
func TestHeldThroughACutStart(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	many(t, v, 40)
	texts := map[string]string{}
	for i := range 25 {
		path := fmt.Sprintf("n/%02d.md", i)
		texts[path] = p.file(t, path)
		p.remove(t, path)
	}
	require.Equal(t, 25, reindex(t, folder, "").Held.Removed)
	for i := range 20 {
		path := fmt.Sprintf("n/%02d.md", i)
		p.edit(t, path, texts[path])
	}
	require.Equal(t, 5, reindex(t, folder, "").Held.Removed)
	folder.Close()

	cut := 0
	for n := 0; ; n++ {
		v := p.vault(t)
		files := newStuck(p.files, n)
		folder, err := checkout.Open(t.Context(), v, checkout.Options{
			Files: files, Log: slog.New(slog.DiscardHandler), Now: p.now,
		}.Slowed(1000))
		require.NoError(t, err)
		ready := make(chan struct{})
		go func() {
			_ = folder.Ready(t.Context())
			close(ready)
		}()
		over := false
		select {
		case <-files.reached:
			cut++
		case <-ready:
			over = true
		}
		folder.Close()
		control, err := v.Control(t.Context())
		require.NoError(t, err)
		require.NotNil(t, control.Held, "at read %d", n)
		require.Equal(t, 5, control.Held.Removed, "at read %d", n)
		if over {
			break
		}
	}
	require.GreaterOrEqual(t, cut, 5)
	v, folder = p.open(t)
	require.Equal(t, 5, reindex(t, folder, "").Held.Removed)
	require.Equal(t, 40, v.Known().Totals().Notes)
}

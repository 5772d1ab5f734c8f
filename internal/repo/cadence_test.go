package repo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// TestCadence checks that processes that start for one pass each write no more images than one that
// keeps running (one for each 1 + size/16 MiB minutes while little is appended), and that none
// reads runs for segments that are not due.
func TestCadence(t *testing.T) {
	size, wait, passes := 17<<20, 2, 6
	if os.Getenv("ROOKERY_SOAK") != "" {
		size, wait, passes = 40<<20, 3, 20
	}
	e, clock := engine(t), repotest.NewClock()
	open := func() *eventlog.Log[*repotest.State] {
		o := repotest.LogOptions(e, clock.Now)
		o.SilentUpTo, o.Imaging = func() uint64 { return 1 << 62 }, large(size)
		l, err := eventlog.New(o, &repotest.State{})
		require.NoError(t, err)
		return l
	}
	writer := open()
	require.NoError(t, writer.Create(t.Context()))
	var images []uint64
	for pass := range passes {
		var writing sync.WaitGroup
		for n := range 50 {
			writing.Go(func() {
				for i := range 10 {
					record(t, writer, fmt.Sprintf("n%d", n%9), fmt.Sprint(pass, n, i))
				}
			})
		}
		writing.Wait()
		clock.Move(time.Minute)
		l := open()
		require.NoError(t, l.Compact(t.Context(), eventlog.Compaction{}))
		require.False(t, l.CompactDue(eventlog.Compaction{}))
		c, err := l.Control(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 500*(pass+1), c.Cursors["segments"].Seq)
		if n := len(images); n == 0 || images[n-1] != c.Image.Seq {
			images = append(images, c.Image.Seq)
		}
		want, got := writer.Known().State.String(), open()
		s, err := got.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, s.State.String())
	}
	require.Len(t, images, (passes+wait-1)/wait)
}

// TestWaitingImage checks that an image that followers have not passed yet is written once, and
// that any process puts it in use when they have.
func TestWaitingImage(t *testing.T) {
	s := newShelf(t)
	s.write(t, 30)
	f := eventlog.Compaction{All: true, Behind: []string{"checkout"}}
	for range 3 {
		require.NoError(t, s.open(t).Compact(t.Context(), f))
		s.write(t, 5)
		s.clock.Move(time.Minute)
		require.Len(t, s.objects(t, "image/"), 1)
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		require.Nil(t, c.Image)
		require.EqualValues(t, 31, c.Waiting.Seq)
	}
	s.clock.Move(25 * time.Hour) // a waiting image is not an orphan
	require.NoError(t, s.open(t).Compact(t.Context(), f))
	require.Len(t, s.objects(t, "image/"), 1)
	require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: 31}))
	f.All = false
	require.NoError(t, s.open(t).Compact(t.Context(), f))
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 31, c.Image.Seq)
	require.Nil(t, c.Waiting)
}

// large returns an Imaging with images of the given size.
func large(size int) *eventlog.Imaging[*repotest.State] {
	return &eventlog.Imaging[*repotest.State]{
		Draw: func(s *repotest.State) blob.Pieces {
			text, err := json.Marshal(s)
			if err != nil {
				panic(err)
			}
			return blob.Pieces{append(text, bytes.Repeat([]byte(" "), size-len(text))...)}
		},
		Read: func(data []byte) (*repotest.State, error) {
			s := &repotest.State{}
			return s, json.NewDecoder(bytes.NewReader(data)).Decode(s) // without the padding
		},
	}
}

// record appends a commit to a log.
func record(t *testing.T, l *eventlog.Log[*repotest.State], name, text string) {
	_, err := l.Update(t.Context(), caller(), func(
		_ context.Context, d *eventlog.Draft[*repotest.State],
	) (any, error) {
		if err := d.Touch(0); err != nil {
			return nil, err
		}
		return nil, d.Record("text", name, text)
	})
	assert.NoError(t, err)
}

package repo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// formatted returns an Imaging with one format, which reads no others.
func formatted(format int) *eventlog.Imaging[*repotest.State] {
	of := large(256 << 10)
	return &eventlog.Imaging[*repotest.State]{
		Format: format,
		Draw: func(s *repotest.State) blob.Pieces {
			return append(blob.Pieces{{byte('0' + format)}}, of.Draw(s)...)
		},
		Read: func(data []byte) (*repotest.State, error) {
			if data[0] != byte('0'+format) {
				return nil, errors.New("another format")
			}
			return of.Read(data[1:])
		},
	}
}

// TestTwoReleases runs the passes of a day in processes of two releases with different image
// formats. It checks that neither writes images again and again because it cannot read those of the
// other, that no write is lost, and that images of the newer format are used in the end.
func TestTwoReleases(t *testing.T) {
	e, clock := engine(t), repotest.NewClock()
	open := func(format int) *eventlog.Log[*repotest.State] {
		o := repotest.LogOptions(e, clock.Now)
		o.SilentUpTo, o.Imaging = func() uint64 { return 1 << 62 }, formatted(format)
		l, err := eventlog.New(o, &repotest.State{})
		require.NoError(t, err)
		return l
	}
	require.NoError(t, open(1).Create(t.Context()))
	var images []string
	written := 0
	write := func(l *eventlog.Log[*repotest.State], n int) {
		for range n {
			written++
			record(t, l, fmt.Sprintf("n%d", written), fmt.Sprint(written))
		}
	}
	pass := func(format int, f eventlog.Compaction) {
		l := open(format)
		s, err := l.Read(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, written, s.Seq)
		require.NoError(t, l.Compact(t.Context(), f))
		c, err := l.Control(t.Context())
		require.NoError(t, err)
		of := fmt.Sprint(c.Image.State, "/", c.Image.Seq)
		if n := len(images); n == 0 || images[n-1] != of {
			images = append(images, of)
		}
	}
	holds := true
	newer := eventlog.Compaction{Hold: func() bool { return holds }}
	write(open(1), 500)
	pass(1, eventlog.Compaction{})
	for range 10 { // both run: the newer one does not replace the images, and cannot read them
		write(open(2), 3)
		pass(2, newer)
		write(open(1), 3)
		pass(1, eventlog.Compaction{})
		clock.Move(time.Minute)
	}
	require.Equal(t, []string{"1/500"}, images)
	holds = false
	pass(2, newer)
	require.Equal(t, []string{"1/500", "2/560"}, images)
	for range 10 { // one process of the earlier release still runs
		write(open(1), 60)
		pass(1, eventlog.Compaction{})
		clock.Move(time.Minute)
	}
	require.Equal(t, []string{"1/500", "2/560"}, images, "an earlier release replaces no image of a later one")
	clock.Move(time.Hour)
	pass(1, eventlog.Compaction{})
	require.Equal(t, "1/1160", images[len(images)-1], "the upgrade was taken back")
}

// TestRollback covers a bucket that is ahead of its table, which was restored to an earlier time.
// Payloads that were deleted since are restored, and segments of the lost history do not block the
// new one.
func TestRollback(t *testing.T) {
	s := newShelf(t)
	s.write(t, 30)
	long := edit{"long.md", noise(40 << 10)}
	change(t, s.vault, long)
	at := s.saved(t)
	s.write(t, 30)
	s.fold(t)
	require.NotEmpty(t, s.objects(t, "segment/"))
	for _, key := range s.objects(t, "payload/") { // a day later: it is in the segment
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}

	s.restored(t, at)
	v := s.open(t)
	dropped, err := v.Rollback(t.Context())
	require.NoError(t, err)
	require.Positive(t, dropped)
	dropped, err = v.Rollback(t.Context())
	require.NoError(t, err)
	require.Zero(t, dropped, "it may be repeated")
	v = s.open(t)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	f, ok := idx.File("long.md")
	require.True(t, ok)
	text, err := v.Text(t.Context(), f.Body)
	require.NoError(t, err)
	require.Equal(t, long.text, string(text))
	s.vault = v
	s.write(t, 40)
	s.fold(t)
	s.clock.Move(2 * time.Hour)
	s.fold(t)
	again, err := s.open(t).Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, idx.Version()+40, again.Version())
}

// saved returns the items of the log.
func (s *shelf) saved(t *testing.T) (all []table.Item) {
	t.Helper()
	for it, err := range s.Table.Query(t.Context(), "v", "", "~~") {
		require.NoError(t, err)
		all = append(all, it)
	}
	return all
}

// restored replaces the items of the log by saved ones.
func (s *shelf) restored(t *testing.T, saved []table.Item) {
	t.Helper()
	for _, it := range s.saved(t) {
		require.NoError(t, s.Table.Commit(t.Context(), table.Remove(it.Key)))
	}
	for _, it := range saved {
		require.NoError(t, s.Table.Commit(t.Context(), table.Set(it)))
	}
}

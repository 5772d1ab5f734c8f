package repo_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A watched table calls a function before each Commit.
type watched struct {
	table.Table
	before func(ops []table.Op)
}

// Commit implements table.Table.
func (w watched) Commit(ctx context.Context, ops ...table.Op) error {
	w.before(ops)
	return w.Table.Commit(ctx, ops...)
}

// TestTheLowMarkRisesFirst checks that no item leaves the table within an hour, nor before the
// control item says that it may be missing.
func TestTheLowMarkRisesFirst(t *testing.T) {
	s := newShelf(t)
	var removed atomic.Int64 // items leave the table in several concurrent commits
	folder := *s
	folder.Table = watched{s.Table, func(ops []table.Op) {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		for _, op := range ops {
			if seq, ok := strings.CutPrefix(op.Item.Sort, "log/0"); ok && op.Item.Data == nil {
				removed.Add(1)
				require.LessOrEqual(t, "0"+seq, fmt.Sprintf("%012d", c.Low))
			}
		}
	}}
	s.write(t, 150)
	v := folder.open(t)
	pass := func() { require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true})) }
	pass()
	s.clock.Move(time.Hour - time.Second)
	pass()
	require.Len(t, s.items(t), 151)
	require.Zero(t, removed.Load())
	s.clock.Move(time.Second)
	pass()
	require.Empty(t, s.items(t))
	require.EqualValues(t, 151, removed.Load())
}

// TestAnImageGoesForward checks that a waiting image is followed by a later one that is due, that a
// late process does not go back to it, and that a second pass writes nothing.
func TestAnImageGoesForward(t *testing.T) {
	s := newShelf(t)
	f := eventlog.Compaction{All: true, Behind: []string{"checkout"}}
	control := func() repo.Control {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		return c
	}
	s.write(t, 5)
	late, same := s.open(t), s.open(t)
	require.NoError(t, late.Compact(t.Context(), f), "it waits with the image of v6")
	s.write(t, 5)
	require.NoError(t, s.vault.Compact(t.Context(), f))
	require.NoError(t, same.Compact(t.Context(), f), "the image of v6 still waits")
	require.EqualValues(t, 6, control().Waiting.Seq)
	require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: 11}))
	require.NoError(t, s.vault.Compact(t.Context(), f))
	require.EqualValues(t, 11, control().Image.Seq)
	before := control()
	require.NoError(t, same.Compact(t.Context(), f))
	require.Equal(t, before, control(), "no progress, no write")
	require.NoError(t, late.Compact(t.Context(), f))
	require.EqualValues(t, 11, control().Image.Seq)
	require.Equal(t, before, control(), "no way back")
}

// TestFoldedBetweenRuns checks that images and segments end between runs, even if a consumer's
// cursor is inside of one (log.md §3).
func TestFoldedBetweenRuns(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3) // up to v4
	s.together(t, 4)
	f := eventlog.Compaction{All: true, Behind: []string{"checkout"}}
	for at := uint64(5); at <= 9; at++ {
		require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: at}))
		v := s.open(t)
		require.NoError(t, v.Compact(t.Context(), f))
		s.clock.Move(2 * time.Hour)
		require.NoError(t, v.Compact(t.Context(), f))
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 9, c.Cursors["segments"].Seq)
		require.Equal(t, at == 9, c.Image != nil, "at v%d", at)
		require.Equal(t, at == 9, len(s.items(t)) == 0, "at v%d", at)
		require.True(t, told(t, s.vault) == told(t, s.open(t)))
	}
}

// together makes two runs: one of one commit, and one of n.
func (s *shelf) together(t *testing.T, n int) {
	t.Helper()
	g := repotest.NewGate(s.Table)
	other := *s
	other.Table = g
	v, done := other.open(t), make(chan error, n+1)
	write := func(i int) {
		_, err := v.Update(t.Context(), caller(),
			edits(edit{fmt.Sprintf("t%d.md", i), "text"}, edit{"log.md", fmt.Sprintf("together %d", i)}))
		done <- err
	}
	go write(0)
	<-g.Entered
	for i := range n {
		go write(i + 1)
	}
	repotest.Queued(t, v, n)
	g.Open()
	for range n + 1 {
		require.NoError(t, <-done)
	}
}

// TestWhenFoldingIsDue checks that nothing is compacted before 500 commits or 1 MB, and that a
// superseded image is kept for an hour.
func TestWhenFoldingIsDue(t *testing.T) {
	s := newShelf(t)
	pass := func() {
		require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	}
	s.write(t, 498)
	pass()
	require.Empty(t, s.objects(t, "segment/"))
	require.Empty(t, s.objects(t, "image/"))
	s.write(t, 1)
	pass()
	require.Equal(t, []string{"segment/000000000001"}, s.objects(t, "segment/"))
	require.Len(t, s.objects(t, "image/"), 1, "the first of its month")
	for n := range 2 {
		s.fill(t, 100)
		pass()
		require.Len(t, s.objects(t, "segment/"), n+2)
		require.Len(t, s.objects(t, "image/"), n+2)
	}
	s.clock.Move(time.Hour - time.Second)
	pass()
	require.Len(t, s.objects(t, "image/"), 3)
	s.clock.Move(time.Second)
	pass()
	require.Len(t, s.objects(t, "image/"), 2, "the first of the month, and the one in force")
}

// TestKeeper checks that a Compactor compacts a vault, and does the due work when it is closed.
func TestKeeper(t *testing.T) {
	s := newShelf(t)
	k := s.vault.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
	s.write(t, 500)
	folded := func() uint64 {
		c, err := s.open(t).Control(t.Context())
		require.NoError(t, err)
		return c.Cursors["segments"].Seq
	}
	require.Eventually(t, func() bool { return folded() >= 500 }, time.Minute, 10*time.Millisecond)
	k.Close()
	k.Close()
	late := s.vault.StartCompactor(repo.CompactorOptions{Log: slog.New(slog.DiscardHandler)})
	s.write(t, 500)
	late.Close()
	require.GreaterOrEqual(t, folded(), uint64(1000))
}

// TestAnImageThatWaitsLong checks that an image that waits for days for a follower is kept.
func TestAnImageThatWaitsLong(t *testing.T) {
	s := newShelf(t)
	s.clock.Move(time.Since(s.clock.Now())) // objects have file system times
	f := eventlog.Compaction{All: true, Behind: []string{"checkout"}}
	pass := func() { require.NoError(t, s.vault.Compact(t.Context(), f)) }
	follow := func(seq uint64) {
		require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: seq}))
		pass()
	}
	s.write(t, 5)
	follow(6)
	s.write(t, 5)
	pass()
	s.clock.Move(25 * time.Hour)
	pass()
	follow(11)
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 11, c.Image.Seq)
	require.Contains(t, s.objects(t, "image/"), "image/1/000000000011")
}

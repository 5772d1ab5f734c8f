package repo_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// back returns the commits that a history yields from one backward.
func back(t *testing.T, v eventlog.History, from uint64) []uint64 {
	t.Helper()
	var all []uint64
	for c, err := range v.Back(t.Context(), from, math.MaxInt) {
		require.NoError(t, err)
		all = append(all, c.Seq)
	}
	return all
}

// requireBack requires that reading a log backward from any commit yields the same commits as
// reading it forward.
func requireBack(t *testing.T, s *shelf) {
	t.Helper()
	v := s.open(t)
	want := seqs(t, v, 1)
	last, at, err := v.LastAt(t.Context(), s.clock.Now())
	require.NoError(t, err)
	require.EqualValues(t, len(want), last)
	require.False(t, at.After(s.clock.Now()))
	slices.Reverse(want)
	for from := last; from > 0; from -= min(from, 37) {
		require.Equal(t, want[last-from:], back(t, v, from), "from %d", from)
	}
	require.Empty(t, back(t, v, 0))
	h := s.history(t)
	last, at, err = h.LastAt(t.Context(), s.clock.Now())
	require.NoError(t, err)
	require.EqualValues(t, len(want), last)
	require.False(t, at.After(s.clock.Now()))
	require.Equal(t, want, back(t, h, last))
	require.Equal(t, want[last-9:], back(t, h, 9))
}

// history returns the history of the vault, which is read without an index.
func (s *shelf) history(t *testing.T) eventlog.History {
	t.Helper()
	all, err := eventlog.NewHistories()
	require.NoError(t, err)
	return all.Of(eventlog.HistoryOf{Name: "team", Part: "v", Table: s.Table, Bucket: s.Bucket})
}

// TestEndOfAHistory checks that the end of a log is found from any earlier known end, while the log
// grows and leaves the table.
func TestEndOfAHistory(t *testing.T) {
	s := newShelf(t)
	all, err := eventlog.NewHistories()
	require.NoError(t, err)
	of := eventlog.HistoryOf{Name: "team", Part: "v", Table: s.Table, Bucket: s.Bucket}
	for n := range 40 {
		s.write(t, n)
		switch n % 7 {
		case 3:
			s.empty(t)
		case 5:
			s.fold(t)
		}
		want := seqs(t, s.vault, 1)
		for _, h := range []eventlog.History{all.Of(of), s.history(t)} {
			last, at, err := h.LastAt(t.Context(), s.clock.Now())
			require.NoError(t, err)
			require.EqualValues(t, len(want), last)
			require.False(t, at.After(s.clock.Now()))
		}
	}
}

// TestBack checks that reading a log backward yields the same commits as reading it forward: for
// runs of one commit and of many, in the table, in segments, and in both.
func TestBack(t *testing.T) {
	s := newShelf(t)
	s.write(t, 70)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() { change(t, s.vault, edit{fmt.Sprintf("m%d.md", i), "together"}) })
	}
	all.Wait()
	requireBack(t, s)
	s.empty(t)
	requireBack(t, s)
	s.write(t, 100)
	requireBack(t, s)
	s.fold(t)
	requireBack(t, s)
}

// TestBackWhileTheLogLeaves checks that a backward read continues in segments when items have left
// the table.
func TestBackWhileTheLogLeaves(t *testing.T) {
	s := newShelf(t)
	s.write(t, 200)
	v := s.open(t)
	var got []uint64
	for c, err := range v.Back(t.Context(), 201, math.MaxInt) {
		require.NoError(t, err)
		if got = append(got, c.Seq); c.Seq == 150 {
			s.empty(t)
		}
	}
	want := seqs(t, v, 1)
	slices.Reverse(want)
	require.Equal(t, want, got)
}

// TestLastAt checks that the last commit at a time is found in the table and in segments.
func TestLastAt(t *testing.T) {
	s := newShelf(t)
	begin := s.clock.Now()
	s.write(t, 90)
	for i, when := range []string{"in the table", "in the table", "in segments", "in segments"} {
		v := eventlog.History(s.open(t))
		if i%2 == 1 {
			v = s.history(t)
		}
		for _, n := range []int{0, 1, 45, 89, 90, 100} {
			for _, more := range []time.Duration{0, time.Millisecond} {
				seq, at, err := v.LastAt(t.Context(), begin.Add(time.Duration(n)*time.Second+more))
				require.NoError(t, err)
				require.EqualValues(t, min(n, 90)+1, seq, "%s: %d", when, n)
				require.False(t, at.Before(begin.Add(time.Duration(min(n, 90))*time.Second)))
			}
		}
		seq, _, err := v.LastAt(t.Context(), begin.Add(-time.Second))
		require.NoError(t, err)
		require.Zero(t, seq)
		if i == 1 {
			s.empty(t)
		}
	}
}

// TestBackOfAVaultThatIsErased checks that an erased vault cannot be read by any process that has
// it open, and that a vault in the trash can.
func TestBackOfAVaultThatIsErased(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3)
	v := s.open(t)
	require.Len(t, back(t, v, 4), 4)
	require.NoError(t, s.vault.SetStatus(t.Context(), caller(), eventlog.Trashed))
	require.Len(t, back(t, v, 4), 4)
	_, err := s.vault.Erase(t.Context(), caller())
	require.NoError(t, err)
	_, _, err = v.LastAt(t.Context(), s.clock.Now())
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	var failed error
	for _, err := range v.Back(t.Context(), 4, math.MaxInt) {
		failed = errors.Join(failed, err)
	}
	require.True(t, fault.Is(failed, fault.NotFound), "%v", failed)
	_, _, err = s.history(t).LastAt(t.Context(), s.clock.Now())
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

package repo_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestAnUncertainClockDeletesNothing compacts in a process whose clock may be a day ahead. It
// checks that the process does not delete data that is old only by its clock, until the clock is
// known to be right.
func TestAnUncertainClockDeletesNothing(t *testing.T) {
	s := newShelf(t)
	s.write(t, 4)
	s.fold(t)
	s.write(t, 4)
	before, images := s.items(t), s.objects(t, "image/")
	require.NotEmpty(t, before)

	s.clock.Move(25 * time.Hour)
	unsure := eventlog.Compaction{All: true, Clocked: func() bool { return false }}
	for range 2 {
		require.NoError(t, s.vault.Compact(t.Context(), unsure))
		require.Equal(t, before, s.items(t))
		require.Subset(t, s.objects(t, "image/"), images)
	}

	asked := 0
	sure := eventlog.Compaction{All: true, Clocked: func() bool { asked++; return true }}
	for range 2 { // the first pass records the position of all cursors
		require.NoError(t, s.vault.Compact(t.Context(), sure))
		s.clock.Move(2 * time.Hour)
	}
	require.NotZero(t, asked)
	require.Less(t, len(s.items(t)), len(before))
}

// TestAnUncertainClockErasesOnce checks that an erasure is not completed by a clock that may be
// ahead: the second run waits until the clock is known to be right.
func TestAnUncertainClockErasesOnce(t *testing.T) {
	s := newShelf(t)
	s.write(t, 2)
	_, err := s.vault.EraseNote(t.Context(), eventlog.Call{Tool: "test"}, "log.md")
	require.NoError(t, err)
	unsure := eventlog.Compaction{Clocked: func() bool { return false }}
	require.NoError(t, s.vault.Compact(t.Context(), unsure), "what is there is emptied at once")
	control := func() repo.Control {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		return c
	}
	require.NotNil(t, control().Erasing)
	require.NotZero(t, control().Erasing.Upto)
	s.clock.Move(25 * time.Hour)
	require.NoError(t, s.vault.Compact(t.Context(), unsure))
	require.NotNil(t, control().Erasing)
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	require.Nil(t, control().Erasing)
}

// A limited table records the time before which an append must be sent.
type limited struct {
	table.Table
	until []time.Time
}

// Commit implements table.Table.
func (l *limited) Commit(ctx context.Context, ops ...table.Op) error {
	if t, ok := table.SentBefore(ctx); ok {
		l.until = append(l.until, t)
	}
	return l.Table.Commit(ctx, ops...)
}

// TestAppendsAreNotSentLate checks that the table gets the time limit of an append: five minutes
// after its call began to read.
func TestAppendsAreNotSentLate(t *testing.T) {
	s := newShelf(t)
	l := &limited{Table: s.Table}
	s.Table = l
	v := s.open(t)
	change(t, v, edit{"a.md", "one"})
	change(t, v, edit{"a.md", "two"})
	want := s.clock.Now().Add(5 * time.Minute)
	require.Equal(t, []time.Time{want, want}, l.until)
}

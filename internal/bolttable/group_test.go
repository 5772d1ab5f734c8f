package bolttable_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/bolttable"
	"rookery/internal/table"
)

// A gate is a clock that can be held. The writer looks at it once in each transaction, so that a
// test can let Commits queue up behind one.
type gate struct {
	held   atomic.Bool
	looked chan struct{}
	open   chan struct{}
}

func newGate() *gate { return &gate{looked: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) now() time.Time {
	if g.held.Load() {
		g.looked <- struct{}{}
		<-g.open
	}
	return time.Unix(1_800_000_000, 0)
}

// commit begins a Commit and returns where its answer comes.
func commit(ctx context.Context, b table.Table, ops ...table.Op) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- b.Commit(ctx, ops...) }()
	return answer
}

// TestGroup holds that what queues up behind a transaction is written in one, or at most two where
// the first began before the last had come, and that each is judged for itself.
func TestGroup(t *testing.T) {
	g := newGate()
	b := open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{Now: g.now})
	g.held.Store(true)
	first := commit(t.Context(), b, table.Create(item("first", "x")))
	<-g.looked

	var own, prize []<-chan error
	for i := range 10 {
		sort := fmt.Sprint(i)
		own = append(own, commit(t.Context(), b, table.Create(item(sort, "x"))))
		prize = append(prize, commit(t.Context(), b, table.Create(item("prize", sort)),
			table.Create(item("won-"+sort, "x"))))
	}
	g.open <- struct{}{}
	require.NoError(t, <-first)
	g.held.Store(false)
	select {
	case <-g.looked:
		g.open <- struct{}{}
	case err := <-own[0]:
		require.NoError(t, err)
		own = own[1:]
	}

	for _, answer := range own {
		require.NoError(t, <-answer)
	}
	won := 0
	for i, answer := range prize {
		err := <-answer
		it, getErr := b.Get(t.Context(), item("prize", "").Key)
		require.NoError(t, getErr)
		if err == nil {
			won++
			require.Equal(t, fmt.Sprint(i), string(it.Data))
			continue
		}
		var c *table.Conflict
		require.ErrorAs(t, err, &c)
		require.Equal(t, it, c.Item)
	}
	require.Equal(t, 1, won)
	require.Len(t, collect(t, b, "part"), 1+10+2)
}

// TestContextEndsWhileWaiting holds that a Commit whose ctx ends does not wait for the writer, and
// that the others are not disturbed.
func TestContextEndsWhileWaiting(t *testing.T) {
	g := newGate()
	b := open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{Now: g.now})
	g.held.Store(true)
	first := commit(t.Context(), b, table.Create(item("first", "x")))
	<-g.looked
	g.held.Store(false)

	ctx, cancel := context.WithCancel(t.Context())
	data := []byte("whole")
	left := commit(ctx, b, table.Create(table.Item{Key: item("left", "").Key, Data: data}))
	stays := commit(t.Context(), b, table.Create(item("stays", "x")))
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	copy(data, "WRONG")
	g.open <- struct{}{}
	require.NoError(t, <-first)
	require.NoError(t, <-stays)

	it, err := b.Get(t.Context(), item("left", "").Key)
	if err == nil {
		require.Equal(t, "whole", string(it.Data))
	} else {
		require.ErrorIs(t, err, table.ErrNotFound)
	}
}

// TestLockTimeout holds that an Open waits for as long as it is told to.
func TestLockTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	b := open(t, path, bolttable.Options{})
	_, err := bolttable.Open(path, bolttable.Options{})
	require.ErrorIs(t, err, bolttable.ErrLocked)

	type opened struct {
		table *bolttable.Table
		err   error
	}
	waits := make(chan opened)
	go func() {
		next, err := bolttable.Open(path, bolttable.Options{LockTimeout: time.Minute})
		waits <- opened{next, err}
	}()
	require.NoError(t, b.Close())
	got := <-waits
	require.NoError(t, got.err)
	require.NoError(t, got.table.Close())
}

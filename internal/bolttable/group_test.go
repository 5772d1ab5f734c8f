package bolttable_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// A gate is a clock that blocks the writer, which reads it once in each transaction. With it a test
// can let commits queue up during a transaction.
type gate struct {
	looks  atomic.Int64
	looked chan struct{}
	open   chan struct{}
}

// holdFirst returns an open table whose first transaction has begun and is blocked at the gate.
func holdFirst(t *testing.T) (b *bolttable.Table, g *gate, first <-chan error) {
	t.Helper()
	g = &gate{looked: make(chan struct{}), open: make(chan struct{})}
	b = open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{Now: g.now})
	first = commit(t.Context(), b, table.Create(item("first", "x")))
	<-g.looked
	return b, g, first
}

func (g *gate) now() time.Time {
	if g.looks.Add(1) == 1 {
		close(g.looked)
		<-g.open
	}
	return time.Unix(1_800_000_000, 0)
}

// commit starts a Commit and returns the channel of its result.
func commit(ctx context.Context, b table.Table, ops ...table.Op) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- b.Commit(ctx, ops...) }()
	return answer
}

// A watched is a context that signals when a caller begins to wait for its end, as a Commit does
// when it is queued.
type watched struct {
	context.Context
	waits chan struct{}
}

func (w watched) Done() <-chan struct{} {
	w.waits <- struct{}{}
	return w.Context.Done()
}

// queue starts a Commit and returns when it is queued.
func queue(ctx context.Context, b table.Table, ops ...table.Op) <-chan error {
	w := watched{ctx, make(chan struct{}, 1)}
	answer := commit(w, b, ops...)
	<-w.waits
	return answer
}

// TestGroup checks that commits that queue up during a transaction are written in one transaction,
// and that each of them is checked separately and in order.
func TestGroup(t *testing.T) {
	b, g, first := holdFirst(t)
	var own, prize []<-chan error
	for i := range 10 {
		sort := fmt.Sprint(i)
		own = append(own, queue(t.Context(), b, table.Create(item(sort, "x"))))
		prize = append(prize, queue(t.Context(), b,
			table.Create(item("won-"+sort, "x")), table.Create(item("prize", sort))))
	}
	close(g.open)
	require.NoError(t, <-first)
	for _, answer := range own {
		require.NoError(t, <-answer)
	}
	require.NoError(t, <-prize[0])
	for _, answer := range prize[1:] {
		var c *table.Conflict
		require.ErrorAs(t, <-answer, &c)
		require.Equal(t, item("prize", "0"), c.Item)
	}
	require.Equal(t, int64(2), g.looks.Load(), "transactions")
	require.Len(t, collect(t, b, "part"), 1+10+2)
}

// TestGroupIsBounded checks that the size of a transaction is limited, however much is queued.
func TestGroupIsBounded(t *testing.T) {
	b, g, first := holdFirst(t)
	var answers []<-chan error
	for i := range 100 {
		it := item(fmt.Sprint(i), string(make([]byte, 390<<10)))
		answers = append(answers, queue(t.Context(), b, table.Create(it)))
	}
	close(g.open)
	require.NoError(t, <-first)
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	require.Equal(t, int64(1+3), g.looks.Load(), "39 MB, at most 16 a transaction")
}

// TestContextEndsWhileWaiting checks that a Commit whose ctx ends does not wait for the writer, and
// that others are not affected.
func TestContextEndsWhileWaiting(t *testing.T) {
	b, g, first := holdFirst(t)
	ctx, cancel := context.WithCancel(t.Context())
	data := []byte("whole")
	left := queue(ctx, b, table.Create(table.Item{Key: item("left", "").Key, Data: data}))
	stays := queue(t.Context(), b, table.Create(item("stays", "x")))
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	copy(data, "WRONG")
	close(g.open)
	require.NoError(t, <-first)
	require.NoError(t, <-stays)

	it, err := b.Get(t.Context(), item("left", "").Key)
	if err == nil {
		require.Equal(t, "whole", string(it.Data))
	} else {
		require.ErrorIs(t, err, table.ErrNotFound)
	}
}

// TestDataOfWhoLeft checks that a caller that stopped waiting may change its data at once, even
// while the Commit is being written. The race detector verifies that.
func TestDataOfWhoLeft(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{})
	before := bytes.Repeat([]byte("before"), 50_000)
	for i := range 50 {
		var ops []table.Op
		for j := range 5 {
			k := table.Key{Part: "part", Sort: fmt.Sprint(j)}
			ops = append(ops, table.Set(table.Item{Key: k, Data: bytes.Clone(before)}))
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := queue(ctx, b, ops...)
		for range i * 20 {
			runtime.Gosched()
		}
		cancel()
		<-left
		for _, op := range ops {
			copy(op.Item.Data[len(before)-6:], "AFTER!")
		}
	}
	for _, it := range collect(t, b, "part") {
		require.True(t, bytes.Equal(before, it.Data))
	}
}

// TestLockTimeout checks that Open waits for the configured time.
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

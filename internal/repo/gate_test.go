package repo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A gate is a table whose commits wait until the test lets them through.
type gate struct {
	table.Table
	entered chan struct{} // receives when a commit is at the gate
	through chan error    // nil lets a commit through; an error is returned without a write
	opened  chan struct{}
}

func newGate(t table.Table) *gate {
	return &gate{
		Table: t, entered: make(chan struct{}), through: make(chan error),
		opened: make(chan struct{}),
	}
}

// Commit implements table.Table.
func (g *gate) Commit(ctx context.Context, ops ...table.Op) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.Table.Commit(ctx, ops...)
}

// wait waits at the gate, and returns the error that the test gives.
func (g *gate) wait(ctx context.Context) error {
	select {
	case g.entered <- struct{}{}:
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-g.through:
		return err
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open lets all commits through from now on.
func (g *gate) open() { close(g.opened) }

type draft = repo.Draft[*repotest.State]

type fn = func(context.Context, *draft) (any, error)

// A line is a queue of calls behind one whose append is at the gate.
type line struct {
	t     *testing.T
	e     repotest.Engine
	gate  *gate
	clock *repotest.Clock
	log   *repo.Log[*repotest.State]
	first *pending
	queue int
}

// A pending call is an Update that is running.
type pending struct {
	done    chan struct{}
	receipt repo.LogReceipt
	err     error
}

// newLine creates a log with one call that waits at the gate.
func newLine(t *testing.T) *line {
	t.Helper()
	q := &line{t: t, e: engine(t), clock: repotest.NewClock()}
	q.gate = newGate(q.e.Table)
	require.NoError(t, q.fresh().Create(t.Context()))
	var err error
	q.log, err = repo.NewLog(repotest.LogOptions(
		repotest.Engine{Table: q.gate, Bucket: q.e.Bucket}, q.clock.Now), &repotest.State{})
	require.NoError(t, err)
	q.first = q.start(t.Context(), repo.Call{Tool: "first"}, put("first", "first"))
	<-q.gate.entered
	return q
}

// fresh returns the log as another process opens it, without the gate.
func (q *line) fresh() *repo.Log[*repotest.State] {
	l, err := repo.NewLog(repotest.LogOptions(q.e, q.clock.Now), &repotest.State{})
	require.NoError(q.t, err)
	return l
}

// start begins a call.
func (q *line) start(ctx context.Context, c repo.Call, f fn) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.receipt, p.err = q.log.Update(ctx, c, f)
	}()
	return p
}

// add begins a call, and returns when it is in the queue.
func (q *line) add(ctx context.Context, tool string, f fn) *pending {
	q.t.Helper()
	p := q.start(ctx, repo.Call{Tool: tool}, f)
	q.queue++
	queued(q.t, q.log, q.queue)
	return p
}

// queued returns when n calls wait in a queue.
func queued(t *testing.T, l interface{ Waiting() int }, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return l.Waiting() == n }, time.Minute, time.Millisecond)
}

// runs returns the tools of the commits in the log, grouped by item.
func runs(t *testing.T, e repotest.Engine) [][]string {
	t.Helper()
	l, err := repo.NewLog(repotest.LogOptions(e, time.Now), &repotest.State{})
	require.NoError(t, err)
	var all [][]string
	for it, err := range e.Table.Query(t.Context(), repotest.Part, "log/0", "log/9") {
		require.NoError(t, err)
		var first uint64
		_, err := fmt.Sscanf(it.Sort, "log/%d", &first)
		require.NoError(t, err)
		if n := len(all); n > 0 {
			all[n-1] = all[n-1][:first-firstOf(all[:n-1])]
		}
		var tools []string
		for c, err := range l.Commits(t.Context(), first) {
			require.NoError(t, err)
			tools = append(tools, c.Tool)
		}
		all = append(all, tools)
	}
	return all
}

// firstOf returns the number of the first commit after these runs.
func firstOf(runs [][]string) uint64 {
	n := uint64(1)
	for _, r := range runs {
		n += uint64(len(r))
	}
	return n
}

// put returns a function that stores a text.
func put(name, text string) fn {
	return func(_ context.Context, d *draft) (any, error) {
		return text, d.Record("text", name, text)
	}
}

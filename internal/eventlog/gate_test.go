package eventlog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repotest"
)

type draft = eventlog.Draft[*repotest.State]

type fn = func(context.Context, *draft) (any, error)

// A line is a queue of calls behind one whose append is at the gate.
type line struct {
	t     *testing.T
	e     repotest.Engine
	gate  *repotest.Gate
	clock *repotest.Clock
	log   *eventlog.Log[*repotest.State]
	first *pending
	queue int
}

// A pending call is an Update that is running.
type pending struct {
	done    chan struct{}
	receipt eventlog.Receipt
	err     error
}

// newLine creates a log with one call that waits at the gate.
func newLine(t *testing.T) *line {
	t.Helper()
	q := &line{t: t, e: engine(t), clock: repotest.NewClock()}
	q.gate = repotest.NewGate(q.e.Table)
	require.NoError(t, q.fresh().Create(t.Context()))
	var err error
	q.log, err = eventlog.New(repotest.LogOptions(
		repotest.Engine{Table: q.gate, Bucket: q.e.Bucket}, q.clock.Now), &repotest.State{})
	require.NoError(t, err)
	q.first = q.start(t.Context(), eventlog.Call{Tool: "first"}, put("first", "first"))
	<-q.gate.Entered
	return q
}

// fresh returns the log as another process opens it, without the gate.
func (q *line) fresh() *eventlog.Log[*repotest.State] {
	l, err := eventlog.New(repotest.LogOptions(q.e, q.clock.Now), &repotest.State{})
	require.NoError(q.t, err)
	return l
}

// start begins a call.
func (q *line) start(ctx context.Context, c eventlog.Call, f fn) *pending {
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
	p := q.start(ctx, eventlog.Call{Tool: tool}, f)
	q.queue++
	repotest.Queued(q.t, q.log, q.queue)
	return p
}

// runs returns the tools of the commits in the log, grouped by item.
func runs(t *testing.T, e repotest.Engine) [][]string {
	t.Helper()
	l, err := eventlog.New(repotest.LogOptions(e, time.Now), &repotest.State{})
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

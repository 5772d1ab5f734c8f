package eventlog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// TestGivesUpInTheQueue checks that a call whose deadline passes while it waits writes nothing.
func TestGivesUpInTheQueue(t *testing.T) {
	q := newLine(t)
	late, cancelLate := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelLate()
	tired, cancelTired := context.WithCancel(t.Context())
	timedOut := q.start(late, eventlog.Call{Tool: "late"}, put("late", "late"))
	cancelled := q.start(tired, eventlog.Call{Tool: "tired"}, put("tired", "tired"))
	repotest.Queued(t, q.log, 2)
	q.queue = 2
	stays := q.add(t.Context(), "stays", put("stays", "stays"))
	cancelTired()
	<-timedOut.done
	require.True(t, fault.Is(timedOut.err, fault.IndexBusy), "%v", timedOut.err)
	<-cancelled.done
	require.ErrorIs(t, cancelled.err, context.Canceled)
	q.gate.Open()
	<-stays.done
	require.NoError(t, stays.err)
	require.Equal(t, [][]string{{"first"}, {"stays"}}, runs(t, q.e))
}

// TestGivesUpInTheRun checks that a call that gives up after its draft was made, but before it was
// sent, is not written with the others of its run.
func TestGivesUpInTheRun(t *testing.T) {
	q := newLine(t)
	ctx, cancel := context.WithCancel(t.Context())
	quits := q.add(ctx, "quits", put("quits", "quits"))
	stays := q.add(t.Context(), "stays", func(_ context.Context, d *draft) (any, error) {
		cancel()
		<-quits.done
		return nil, d.Record("text", "stays", "stays")
	})
	q.gate.Through <- nil
	q.gate.Open()
	<-stays.done
	require.NoError(t, stays.err)
	require.ErrorIs(t, quits.err, context.Canceled)
	require.EqualValues(t, 2, stays.receipt.Seq)
	require.Equal(t, [][]string{{"first"}, {"stays"}}, runs(t, q.e))
	requireSame(t, q.log, q.fresh())
}

// TestGivesUpInFlight checks that a call whose append may still arrive gets an unknown outcome, and
// that another call of its run may wait longer for the same append.
func TestGivesUpInFlight(t *testing.T) {
	q := newLine(t)
	ctx, cancel := context.WithCancel(t.Context())
	quits := q.add(ctx, "quits", put("quits", "quits"))
	stays := q.add(t.Context(), "stays", put("stays", "stays"))
	q.gate.Through <- nil
	<-q.gate.Entered
	cancel()
	<-quits.done
	require.True(t, fault.Is(quits.err, fault.Unavailable), "%v", quits.err)
	require.ErrorContains(t, quits.err, "outcome unknown: repeat with the same idempotency key")
	q.gate.Through <- nil
	<-stays.done
	require.NoError(t, stays.err)
	require.Equal(t, [][]string{{"first"}, {"quits", "stays"}}, runs(t, q.e))
}

// TestNobodyWaits checks that an append that no call waits for does not block the next one.
func TestNobodyWaits(t *testing.T) {
	q := newLine(t)
	ctx, cancel := context.WithCancel(t.Context())
	quits := q.add(ctx, "quits", put("quits", "quits"))
	q.gate.Through <- nil
	<-q.gate.Entered
	next := q.start(t.Context(), eventlog.Call{Tool: "next"}, put("next", "next"))
	cancel()
	<-quits.done
	<-q.gate.Entered
	q.gate.Through <- nil
	<-next.done
	require.NoError(t, next.err)
	require.Equal(t, [][]string{{"first"}, {"next"}}, runs(t, q.e))
}

// flaky returns a log with a table that fails as planned.
func flaky(
	t *testing.T, plan func(c *repotest.Clock, call tabletest.Call) tabletest.Fault,
) (*eventlog.Log[*repotest.State], *tabletest.Flaky, repotest.Engine) {
	e, clock := engine(t), repotest.NewClock()
	newLog(t, e)
	f := tabletest.NewFlaky(e.Table, func(call tabletest.Call) tabletest.Fault {
		return plan(clock, call)
	})
	l, err := eventlog.New(repotest.LogOptions(
		repotest.Engine{Table: f, Bucket: e.Bucket}, clock.Now), &repotest.State{})
	require.NoError(t, err)
	return l, f, e
}

// TestSendsTheSameBytes checks that an append with an unknown outcome is sent again unchanged,
// until the outcome is known.
func TestSendsTheSameBytes(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	for _, last := range []tabletest.Fault{tabletest.None, tabletest.After, tabletest.LateNext} {
		sent = nil
		l, f, e := flaky(t, func(_ *repotest.Clock, c tabletest.Call) tabletest.Fault {
			if c.Method != tabletest.Commit {
				return tabletest.None
			}
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, string(c.Ops[0].Item.Data))
			switch len(sent) {
			case 1, 2, 3:
				return tabletest.Before
			case 4:
				return last
			}
			return tabletest.None
		})
		ran := 0
		_, err := l.Update(t.Context(), eventlog.Call{Tool: "t"},
			func(_ context.Context, d *draft) (any, error) {
				ran++
				return nil, d.Record("text", "a", "a")
			})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(sent), 4)
		for _, s := range sent {
			require.Equal(t, sent[0], s)
		}
		require.Equal(t, 1, ran)
		require.Equal(t, 1, f.Counts().Queries, "nothing is read between")
		require.Equal(t, [][]string{{"t"}}, runs(t, e))
		requireSame(t, l, reopened(t, e))
	}
}

// TestOldAppendIsGivenUp checks that an append is sent for at most five minutes, that its outcome
// is unknown then, and that the next call starts over.
func TestOldAppendIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault tabletest.Fault
		want  [][]string
	}{
		{"not there", tabletest.Before, [][]string{{"next"}}},
		{"there", tabletest.After, [][]string{{"old"}, {"next"}}},
		{"comes too late", tabletest.Late, [][]string{{"next"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			slept := false
			l, f, e := flaky(t, func(k *repotest.Clock, call tabletest.Call) tabletest.Fault {
				if slept || call.Method != tabletest.Commit {
					return tabletest.None
				}
				slept = true
				k.Move(5*time.Minute + time.Second)
				return c.fault
			})
			_, err := l.Update(t.Context(), eventlog.Call{Tool: "old"}, put("a", "a"))
			require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			require.ErrorContains(t, err, "outcome unknown")
			require.Equal(t, 1, f.Counts().Commits)
			_, err = l.Update(t.Context(), eventlog.Call{Tool: "next"}, put("b", "b"))
			require.NoError(t, err)
			f.Deliver(t.Context())
			require.Equal(t, c.want, runs(t, e))
			requireSame(t, l, reopened(t, e))
		})
	}
}

// TestSleepBeforeTheAppend checks that an append that became too old before it was sent is not
// sent, and that the call is drafted again.
func TestSleepBeforeTheAppend(t *testing.T) {
	slept := false
	l, f, e := flaky(t, func(k *repotest.Clock, c tabletest.Call) tabletest.Fault {
		if !slept && c.Method == tabletest.Query {
			slept = true
			k.Move(time.Hour)
		}
		return tabletest.None
	})
	ran := 0
	_, err := l.Update(t.Context(), eventlog.Call{Tool: "t"},
		func(_ context.Context, d *draft) (any, error) {
			ran++
			return nil, d.Record("text", "a", "a")
		})
	require.NoError(t, err)
	require.Equal(t, 2, ran)
	require.Equal(t, 2, f.Counts().Queries)
	require.Equal(t, 1, f.Counts().Commits)
	require.Equal(t, [][]string{{"t"}}, runs(t, e))
}

// TestGivesUpAfterALostRace checks that a call whose append was sent but lost the race reports that
// nothing was written.
func TestGivesUpAfterALostRace(t *testing.T) {
	q := newLine(t)
	q.gate.Through <- nil
	<-q.first.done
	ctx, cancel := context.WithCancel(t.Context())
	var quits *pending
	ran := 0
	quits = q.start(ctx, eventlog.Call{Tool: "quits"}, func(_ context.Context, d *draft) (any, error) {
		if ran++; ran == 2 {
			cancel()
			<-quits.done
		}
		return nil, d.Record("text", "quits", "quits")
	})
	<-q.gate.Entered
	store(t, q.fresh(), "other", "other")
	q.gate.Open()
	<-quits.done
	require.ErrorIs(t, quits.err, context.Canceled)
	require.False(t, fault.Is(quits.err, fault.Unavailable), "%v", quits.err)
	store(t, q.log, "next", "next")
	require.Equal(t, [][]string{{"first"}, {"store"}, {"store"}}, runs(t, q.e))
}

// TestOutlastsItsTime checks that a call whose own function takes too long does not report
// contention, that the function ends with its call, and that the next call runs then.
func TestOutlastsItsTime(t *testing.T) {
	q := newLine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	late := q.add(ctx, "late", func(in context.Context, d *draft) (any, error) {
		cancel(context.DeadlineExceeded)
		<-in.Done()
		close(ended)
		return nil, d.Record("text", "late", "late")
	})
	next := q.add(t.Context(), "next", put("next", "next"))
	q.gate.Through <- nil
	<-ended
	<-late.done
	require.True(t, fault.Is(late.err, fault.Unavailable) || errors.Is(late.err, context.Canceled), "%v", late.err)
	require.False(t, fault.Is(late.err, fault.IndexBusy), "%v", late.err)
	q.gate.Open()
	<-next.done
	require.NoError(t, next.err)
	require.Equal(t, [][]string{{"first"}, {"next"}}, runs(t, q.e))
}

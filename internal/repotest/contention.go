package repotest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// skews are the clocks of the processes: one is a day ahead.
var skews = []time.Duration{0, 24 * time.Hour, -time.Hour, time.Minute}

// contention lets processes over one table change and read the same counters at once, while the
// table fails now and then.
func contention(t *testing.T, e Engine) {
	chance := sync.Mutex{}
	r := seeded(t)
	p := newPlace(e, "contention", func(tabletest.Call) tabletest.Fault {
		chance.Lock()
		defer chance.Unlock()
		if n := tabletest.Fault(r.IntN(60)); n <= tabletest.LateNext {
			return n
		}
		return tabletest.None
	})
	c := &contest{place: p, start: time.Now()}
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	for _, skew := range skews {
		q := *p
		q.clock = NewClock()
		q.clock.Move(skew)
		c.logs = append(c.logs, q.log(t, p.flakyEngine()))
	}
	ops := 12
	if soaking() {
		ops = 300
	}
	seeds := r.Uint64()
	together(16, func(i int) {
		w := &contestant{contest: c, id: i, r: rand.New(rand.NewPCG(seeds, uint64(i)))}
		for range ops {
			w.op(t)
		}
	})
	p.flaky.Deliver(t.Context())
	c.check(t)
}

// A contest is several processes, and the history of what was done through them.
type contest struct {
	place *place
	logs  []*eventlog.Log[*State]
	start time.Time
	acked atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
}

// A contestant is one client. It uses one process after the other.
type contestant struct {
	*contest
	id   int
	r    *rand.Rand
	seen eventlog.Snapshot[*State]
}

// The counters of the model. A write counts up and is answered the new count; a read answers the
// count.
type counterOp struct {
	counter int
	write   bool
}

const counters = 3

// op makes one call and keeps it in the history. A call that failed had no effect.
func (w *contestant) op(t *testing.T) {
	in := counterOp{w.r.IntN(counters), w.r.IntN(3) > 0}
	l := w.logs[w.r.IntN(len(w.logs))]
	call := time.Since(w.start)
	out, err := w.count(t, l, in)
	if err != nil {
		if !errors.Is(err, tabletest.ErrInjected) {
			t.Errorf("an unexpected failure: %v", err)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, porcupine.Operation{
		ClientId: w.id, Input: in, Output: out,
		Call: int64(call), Return: int64(time.Since(w.start)),
	})
}

// count does the call.
func (w *contestant) count(t *testing.T, l *eventlog.Log[*State], in counterOp) (int, error) {
	id := strconv.Itoa(in.counter)
	if !in.write {
		s, err := l.Read(t.Context())
		if err != nil {
			return 0, err
		}
		if s.Seq < w.seen.Seq || s.Time.Before(w.seen.Time) {
			t.Errorf("time went back from %v to %v", w.seen.Time, s.Time)
		}
		w.seen = s
		return number(s.State, id), nil
	}
	var count int
	call := eventlog.Call{Who: eventlog.Who{Principal: "tester"}, Tool: "count"}
	receipt, err := l.Update(t.Context(), call,
		func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
			count = number(d.State(), id) + 1
			return nil, d.Record("text", id, strconv.Itoa(count))
		})
	if err == nil {
		w.acked.Add(1)
		w.seen.Seq = max(w.seen.Seq, receipt.Seq)
	}
	return count, err
}

// number is the count of a counter.
func number(s *State, id string) int {
	n, _ := strconv.Atoi(s.Texts[id].Text)
	return n
}

// check requires that the history is linearizable, and that the log holds what was acknowledged.
func (c *contest) check(t *testing.T) {
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model(), c.history, time.Minute))
	fresh := c.place.log(t, c.place.Engine)
	var last eventlog.Commit
	for commit, err := range fresh.Commits(t.Context(), 1) {
		require.NoError(t, err)
		require.Equal(t, last.Seq+1, commit.Seq)
		require.False(t, commit.Time.Before(last.Time), "time went back at %d", commit.Seq)
		last = *commit
	}
	require.EqualValues(t, c.acked.Load(), last.Seq, "each acknowledged call has one commit")
	s, err := fresh.Replay(t.Context(), true)
	require.NoError(t, err)
	sum := 0
	for i := range counters {
		sum += number(s.State, strconv.Itoa(i))
	}
	require.EqualValues(t, c.acked.Load(), sum)
}

// model is that of independent counters.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, counters)
			for _, o := range history {
				n := o.Input.(counterOp).counter
				parts[n] = append(parts[n], o)
			}
			return parts
		},
		Init: func() any { return 0 },
		Step: func(state, in, out any) (bool, any) {
			n := state.(int)
			if in.(counterOp).write {
				n++
			}
			return out.(int) == n, n
		},
	}
}

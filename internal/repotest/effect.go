package repotest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// scenario is calls of every kind: with and without a key, with a payload of its own object, that
// replay, change nothing, are refused, only tried, or build on an old version.
func scenario() []step {
	return []step{
		{tool: "first", put: map[string]string{"a": "one"}, grow: "g"},
		{tool: "keyed", key: "k1", put: map[string]string{"b": "one"}},
		{tool: "refused", put: map[string]string{"c": "never"}, refused: true},
		{tool: "big", key: "k2", put: map[string]string{"c": noise(21<<10, 1), "a": "two"}},
		{tool: "again", key: "k1", put: map[string]string{"b": "one"}, replays: "keyed"},
		{tool: "same", key: "k3", put: map[string]string{"b": "one"}},
		{tool: "tried", put: map[string]string{"d": "never"}, dryRun: true},
		{tool: "stale", put: map[string]string{"a": "never"}, ifVersion: 1},
		{tool: "gone", key: "k4", remove: "a", put: map[string]string{"e": noise(21<<10, 2)}},
		{tool: "more", key: "k5", grow: "g"},
		{tool: "last", put: map[string]string{"a": "three"}, grow: "g"},
	}
}

// exactlyOneEffect puts each fault at calls of the scenario in turn: at every stride-th one, from a
// random one on, and when soaking at each.
func exactlyOneEffect(t *testing.T, e Engine, stride int) {
	chance := seeded(t)
	for _, tr := range trials() {
		calls := sampled(chance, stride)
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			if tr.bucket {
				bucketCalls(t, e, tr, calls)
			} else {
				tableCalls(t, e, tr, calls)
			}
		})
	}
}

// A trial is one fault in one kind of subject.
type trial struct {
	kind
	fault  tabletest.Fault
	bucket bool // it is a fault of the bucket, not of the table
	gaveUp bool // the caller gives up at the fault, and the table takes no commits for a while
	name   string
}

// trials are all of them. That a vault sends again what a log does is left to soaking.
func trials() []trial {
	var all []trial
	for fault, f := range map[string]tabletest.Fault{
		"before": tabletest.Before, "after": tabletest.After,
		"late": tabletest.Late, "late next": tabletest.LateNext,
	} {
		for _, k := range []kind{logKind, mixedKind} {
			name := k.name + "/" + fault
			all = append(all,
				trial{kind: k, fault: f, bucket: true, name: name + "/bucket"},
				trial{kind: k, fault: f, gaveUp: true, name: name + "/gave up"})
			if k.name == logKind.name || soaking() {
				all = append(all, trial{kind: k, fault: f, name: name})
			}
		}
	}
	return all
}

// tableCalls runs the scenario with the fault at each of these calls of the table.
func tableCalls(t *testing.T, e Engine, tr trial, calls sample) {
	for n := range calls.all() {
		r := &runner{trial: tr}
		part := fmt.Sprintf("%s %d", tr.name, n)
		r.place = newPlace(e, part, func(c tabletest.Call) tabletest.Fault { return r.plan(c, n) })
		r.run(t)
		if !r.met.Load() {
			require.Greater(t, n, 15, "the scenario made fewer calls than it must")
			return
		}
	}
}

// bucketCalls does the same with the calls of the bucket.
func bucketCalls(t *testing.T, e Engine, tr trial, calls sample) {
	for n := range calls.all() {
		r := &runner{trial: tr, place: newPlace(e, fmt.Sprintf("%s %d", tr.name, n), nil)}
		r.place.bucket.plan = func(call int) tabletest.Fault {
			if call != n || r.over.Load() {
				return tabletest.None
			}
			r.met.Store(true)
			return tr.fault
		}
		r.run(t)
		if !r.met.Load() {
			require.Greater(t, n, 3, "the scenario made fewer calls than it must")
			return
		}
	}
}

// A runner runs the scenario once.
type runner struct {
	trial
	place  *place
	met    atomic.Bool // the fault happened
	broken atomic.Bool // the table takes no commits
	over   atomic.Bool // no more faults
	giveUp atomic.Pointer[context.CancelFunc]

	counts map[string][2]int // how many commits of a tool there are at least, and at most
}

// plan is the fault at the n-th call. Where the caller gives up then, what is sent again fails, so
// that the outcome stays unknown. The Flaky asks one call at a time.
func (r *runner) plan(c tabletest.Call, n int) tabletest.Fault {
	switch {
	case r.over.Load():
	case c.N == n:
		r.met.Store(true)
		r.broken.Store(r.gaveUp)
		if r.gaveUp {
			(*r.giveUp.Load())()
		}
		return r.fault
	case r.broken.Load() && c.Method == tabletest.Commit:
		return tabletest.Before
	}
	return tabletest.None
}

// run runs the scenario over two processes in turn, and checks what came of it.
func (r *runner) run(t *testing.T) {
	require.NoError(t, r.place.log(t, r.place.Engine).Create(t.Context()))
	r.counts = map[string][2]int{}
	used := []subject{
		r.open(t, r.place, r.place.flakyEngine()), r.open(t, r.place, r.place.flakyEngine()),
	}
	for i, s := range scenario() {
		r.step(t, used[i/2%2], s)
		r.place.clock.Move(time.Second)
	}
	r.over.Store(true)
	r.place.flaky.Deliver(t.Context())
	r.place.bucket.deliver()
	for _, u := range used {
		r.step(t, u, step{tool: "after", key: "k9", put: map[string]string{"z": "z"}})
	}
	r.check(t, used)
}

// step makes one call. One with a key is repeated until it is acknowledged; of another it is
// counted what its failure promises.
func (r *runner) step(t *testing.T, u subject, s step) {
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		r.giveUp.Store(&cancel)
		excused := !r.met.Load()
		receipt, err := u.do(ctx, s)
		cancel()
		r.settle(u)
		most := r.outcome(t, s, receipt, err)
		excused = excused && r.met.Load() || s.refused || s.ifVersion > 0
		require.True(t, err == nil || excused, "%s: %v", s.tool, err)
		if s.key == "" || err == nil {
			r.counts[s.tool] = [2]int{min(most, r.least(s, err)), most}
			return
		}
	}
	t.Fatalf("%s is not acknowledged", s.tool)
}

// settle mends the table when what the call left behind is over: the next call of the queue is
// served after it.
func (r *runner) settle(u subject) {
	if r.broken.Load() {
		_, _ = u.do(context.Background(), step{tool: "probe", dryRun: true})
		r.broken.Store(false)
	}
}

// least is how many commits there are at least of a call that ended so.
func (r *runner) least(s step, err error) int {
	if err == nil && s.replays == "" && !s.dryRun {
		return 1
	}
	return 0
}

// outcome is how many commits there may be of a call that ended so.
func (r *runner) outcome(t *testing.T, s step, receipt eventlog.Receipt, err error) int {
	switch {
	case s.replays != "" && err == nil:
		require.Equal(t, `"`+s.replays+`"`, string(receipt.Replayed))
		return 0
	case err == nil:
		require.False(t, s.refused || s.ifVersion > 0, "%s is acknowledged", s.tool)
		if s.dryRun {
			return 0
		}
		return 1
	case fault.Is(err, fault.Unavailable) && strings.Contains(err.Error(), "outcome unknown"):
		require.True(t, r.gaveUp, "%s: nobody gave up", s.tool)
		return 1
	}
	return 0
}

// check compares what is in the log with what was promised, and what the used subjects see with
// what a new one reads.
func (r *runner) check(t *testing.T, used []subject) {
	ctx := t.Context()
	fresh := r.open(t, r.place, r.place.Engine)
	got, calls, next := map[string]int{}, map[string]bool{}, uint64(1)
	for c, err := range fresh.Commits(ctx, 1) {
		require.NoError(t, err)
		require.Equal(t, next, c.Seq)
		require.False(t, calls[c.Call], "the effect of a call is there twice")
		got[c.Tool]++
		calls[c.Call] = true
		next++
	}
	for tool, n := range r.counts {
		require.GreaterOrEqual(t, got[tool], n[0], "%s at call %d", tool, r.place.flaky.Calls())
		require.LessOrEqual(t, got[tool], n[1], "%s at call %d", tool, r.place.flaky.Calls())
	}
	require.LessOrEqual(t, len(got), len(r.counts))
	want, err := fresh.state(ctx)
	require.NoError(t, err)
	require.NoError(t, fresh.verify(ctx))
	for _, u := range used {
		state, err := u.state(ctx)
		require.NoError(t, err)
		require.Equal(t, want, state)
	}
}

package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestQueuedCallsAreOneRun checks that the calls that queue during an append become one run, each
// on the state after the ones before it, and that a failure affects only its own call.
func TestQueuedCallsAreOneRun(t *testing.T) {
	q := newLine(t)
	var seen []string
	look := func(f fn) fn {
		return func(ctx context.Context, d *draft) (any, error) {
			seen = append(seen, fmt.Sprintf("%d after %v, durable %d",
				d.Seq(), texts(d.State()), d.Durable().Seq))
			return f(ctx, d)
		}
	}
	errNo := errors.New("no")
	calls := []*pending{
		q.add(t.Context(), "a", look(put("a", "a"))),
		q.add(t.Context(), "fails", look(func(_ context.Context, d *draft) (any, error) {
			return nil, errors.Join(d.Record("text", "x", "x"), errNo)
		})),
		q.add(t.Context(), "panics", look(func(_ context.Context, d *draft) (any, error) {
			_ = d.Record("text", "y", "y")
			panic("a secret")
		})),
		q.add(t.Context(), "nothing", look(func(context.Context, *draft) (any, error) {
			return nil, nil
		})),
		q.add(t.Context(), "b", look(put("b", "b"))),
	}
	q.gate.Through <- nil
	<-q.first.done
	<-q.gate.Entered
	for i, c := range calls {
		select {
		case <-c.done:
			t.Fatalf("call %d was answered before what it saw was durable", i)
		default:
		}
	}
	require.EqualValues(t, 1, q.log.Known().Seq)
	q.gate.Open()
	for _, c := range calls {
		<-c.done
	}
	require.Equal(t, []string{
		"2 after [first], durable 1", "3 after [a first], durable 1", "3 after [a first], durable 1",
		"3 after [a first], durable 1", "3 after [a first], durable 1",
	}, seen)
	require.Equal(t, eventlog.Receipt{Seq: 2, Changed: true}, calls[0].receipt)
	require.ErrorIs(t, calls[1].err, errNo)
	require.ErrorContains(t, calls[2].err, "panic in panics")
	require.NotContains(t, calls[2].err.Error(), "a secret")
	require.NoError(t, calls[3].err)
	require.Equal(t, eventlog.Receipt{Seq: 2}, calls[3].receipt)
	require.Equal(t, eventlog.Receipt{Seq: 3, Changed: true}, calls[4].receipt)
	require.Equal(t, [][]string{{"first"}, {"a", "b"}}, runs(t, q.e))
	requireSame(t, q.log, q.fresh())
}

// TestFateOfARun checks that all calls of a run get its failure, including those that only saw one
// of its drafts.
func TestFateOfARun(t *testing.T) {
	q := newLine(t)
	calls := []*pending{
		q.add(t.Context(), "a", put("a", "a")),
		q.add(t.Context(), "refused", func(_ context.Context, d *draft) (any, error) {
			if _, ok := d.State().Texts["a"]; ok {
				return nil, fault.New(fault.Conflict, "a is there")
			}
			return nil, nil
		}),
	}
	q.gate.Through <- nil
	<-q.gate.Entered
	q.gate.Through <- fmt.Errorf("too much: %w", table.ErrLimit)
	for _, c := range calls {
		<-c.done
		require.ErrorIs(t, c.err, table.ErrLimit)
	}
	require.Equal(t, [][]string{{"first"}}, runs(t, q.e))
	q.gate.Open()
	_, err := q.log.Update(t.Context(), eventlog.Call{Tool: "next"}, put("a", "a"))
	require.NoError(t, err)
	requireSame(t, q.log, q.fresh())
}

// TestTwinsInOneRun checks that calls with the same key in one run have one effect and one answer,
// which is not returned before it is durable.
func TestTwinsInOneRun(t *testing.T) {
	q := newLine(t)
	twin := func(request, text string) *pending {
		p := q.start(t.Context(), eventlog.Call{Tool: text, Key: "key", Request: []byte(request)},
			put(text, text))
		q.queue++
		repotest.Queued(t, q.log, q.queue)
		return p
	}
	one, two, other := twin("r", "one"), twin("r", "two"), twin("s", "three")
	q.gate.Through <- nil
	<-q.gate.Entered
	for _, p := range []*pending{one, two, other} {
		select {
		case <-p.done:
			t.Fatal("a twin was answered before the first was durable")
		default:
		}
	}
	q.gate.Open()
	<-one.done
	<-two.done
	<-other.done
	require.NoError(t, one.err)
	require.Equal(t, eventlog.Receipt{Seq: 2, Changed: true}, one.receipt)
	require.NoError(t, two.err)
	require.Equal(t, eventlog.Receipt{Seq: 2, Replayed: []byte(`"one"`)}, two.receipt)
	require.True(t, fault.Is(other.err, fault.KeyReused), "%v", other.err)
	require.Equal(t, [][]string{{"first"}, {"one"}}, runs(t, q.e))
	requireSame(t, q.log, q.fresh())
}

// TestRunCloses checks that a run has at most 64 commits and is closed at 8 MiB.
func TestRunCloses(t *testing.T) {
	big := noise(1 << 20)
	for _, c := range []struct {
		name  string
		calls int
		text  string
		want  []int
	}{
		{"commits", 70, "x", []int{1, 64, 6}},
		{"bytes", 11, big, []int{1, 8, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newLine(t)
			var calls []*pending
			for i := range c.calls {
				calls = append(calls, q.add(t.Context(), "t", put(fmt.Sprint(i), c.text)))
			}
			q.gate.Through <- nil
			q.gate.Open()
			for i, call := range calls {
				<-call.done
				require.NoError(t, call.err)
				require.EqualValues(t, i+2, call.receipt.Seq, "calls keep their order")
			}
			var sizes []int
			for _, r := range runs(t, q.e) {
				sizes = append(sizes, len(r))
			}
			require.Equal(t, c.want, sizes)
			requireSame(t, q.log, q.fresh())
		})
	}
}

// TestPayload checks that a payload of 16 KB is in the item, and a larger one in an object that the
// item names.
func TestPayload(t *testing.T) {
	e := engine(t)
	l := newLog(t, e)
	store(t, l, "small", noise(8<<10))
	require.Empty(t, objects(t, e))
	store(t, l, "long", strings.Repeat("packs well ", 10_000))
	require.Empty(t, objects(t, e))
	store(t, l, "large", noise(24<<10))
	require.Len(t, objects(t, e), 1)
	it, err := e.Table.Get(t.Context(), table.Key{Part: repotest.Part, Sort: "log/000000000003"})
	require.NoError(t, err)
	require.Less(t, len(it.Data), 1<<10)
	require.Contains(t, string(it.Data), objects(t, e)[0])
	requireSame(t, l, reopened(t, e))
}

// TestCommitsFrom checks that commits are read from any number on, also inside of a run.
func TestCommitsFrom(t *testing.T) {
	q := newLine(t)
	var calls []*pending
	for range 130 {
		calls = append(calls, q.add(t.Context(), "t", put("a", "a")))
	}
	q.gate.Through <- nil
	q.gate.Open()
	for _, c := range calls {
		<-c.done
	}
	for from := range uint64(135) {
		next := max(from, 1)
		for c, err := range q.fresh().Commits(t.Context(), from) {
			require.NoError(t, err)
			require.Equal(t, next, c.Seq)
			next++
		}
		require.Equal(t, max(from, 132), next)
	}
}

// texts returns the names of the texts of a state.
func texts(s *repotest.State) []string {
	var all []string
	for _, name := range []string{"a", "b", "first", "x", "y"} {
		if _, ok := s.Texts[name]; ok {
			all = append(all, name)
		}
	}
	return all
}

func newLog(t *testing.T, e repotest.Engine) *eventlog.Log[*repotest.State] {
	t.Helper()
	l := reopened(t, e)
	require.NoError(t, l.Create(t.Context()))
	return l
}

// reopened returns the log as another process opens it.
func reopened(t *testing.T, e repotest.Engine) *eventlog.Log[*repotest.State] {
	t.Helper()
	l, err := eventlog.New(repotest.LogOptions(e, time.Now), &repotest.State{})
	require.NoError(t, err)
	return l
}

func store(t *testing.T, l *eventlog.Log[*repotest.State], name, text string) {
	t.Helper()
	_, err := l.Update(t.Context(), eventlog.Call{Tool: "store"}, put(name, text))
	require.NoError(t, err)
}

// requireSame requires that two processes have the same state, and that the chain verifies.
func requireSame(t *testing.T, used, fresh *eventlog.Log[*repotest.State]) {
	t.Helper()
	got, err := used.Read(t.Context())
	require.NoError(t, err)
	want, err := fresh.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
	replayed, err := fresh.Replay(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, want, replayed)
}

// objects returns the keys in the bucket.
func objects(t *testing.T, e repotest.Engine) []string {
	t.Helper()
	var all []string
	for o, err := range e.Bucket.List(t.Context(), "") {
		require.NoError(t, err)
		all = append(all, o.Key)
	}
	return all
}

// TestStatusInTheSameRun checks that a call after the one that trashes the vault is refused, even
// in the same run.
func TestStatusInTheSameRun(t *testing.T) {
	q := newLine(t)
	trash := q.add(t.Context(), "trash", func(_ context.Context, d *draft) (any, error) {
		d.SetStatus(eventlog.Trashed)
		return nil, nil
	})
	behind := q.add(t.Context(), "behind", put("a", "a"))
	q.gate.Through <- nil
	q.gate.Open()
	<-trash.done
	<-behind.done
	require.NoError(t, trash.err)
	require.True(t, fault.Is(behind.err, fault.NotFound), "%v", behind.err)
	require.Equal(t, [][]string{{"first"}, {"trash"}}, runs(t, q.e))
	s, err := q.fresh().Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Trashed, s.Status)
}

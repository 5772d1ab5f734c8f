package dynamotable_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// The duration of an attempt that gets no answer: in the suite, whose transactions of 4 MB take an
// emulator long on a busy machine, and in the other tests.
const (
	suiteAttempt = 5 * time.Second
	attempt      = time.Second
)

// An insisting is a table whose caller repeats a Commit with an unknown outcome, as the log does
// with an append. It records when a single Add is sent.
type insisting struct {
	*dynamotable.Table
	adding *atomic.Bool
}

// Commit implements table.Table.
func (i insisting) Commit(ctx context.Context, ops ...table.Op) error {
	i.adding.Store(len(ops) == 1 && ops[0].Kind == table.OpAdd)
	err := i.Table.Commit(ctx, ops...)
	var conflict *table.Conflict
	if err == nil || errors.As(err, &conflict) || errors.Is(err, table.ErrLimit) || ctx.Err() != nil {
		return err
	}
	return i.Table.Commit(ctx, ops...)
}

// alike reports whether the writes of a case cannot be distinguished by their content: those of the
// cases that race, and of the one that creates an item twice.
func alike(t *testing.T) bool {
	return strings.Contains(t.Name(), "racing") || strings.Contains(t.Name(), "keys_come_back_relative")
}

// TestConformanceUnderFaults runs the suite with a fault at every fifth request, and expects the
// same results. Writes without a token that cannot be distinguished from others get only faults
// that have no effect: an Add, and those of cases whose writes are alike. Through Sub the suite
// runs only in a soak.
func TestConformanceUnderFaults(t *testing.T) {
	b := awstest.Start(t)
	var same, adding atomic.Bool
	every := awstest.Every(5, 0)
	f := awstest.NewFaults(awstest.HTTP(), func(r awstest.Request) awstest.Fault {
		fault := every(r)
		alone := r.Writes() && r.Operation != "TransactWriteItems"
		if fault != awstest.None && alone && (adding.Load() || same.Load()) {
			return awstest.Throttle
		}
		return fault
	})
	tabletest.Run(t, func(t *testing.T, now func() time.Time) table.Table {
		if strings.Contains(t.Name(), "/sub") && os.Getenv("ROOKERY_SOAK") == "" {
			t.Skip("in a soak")
		}
		same.Store(alike(t))
		tab := dynamotable.New(b.DynamoDB(f), b.Table(t), dynamotable.Options{Now: now, Attempt: suiteAttempt})
		return insisting{tab, &adding}
	})
	met := f.Met()
	for _, fault := range []awstest.Fault{
		awstest.Throttle, awstest.TransactionConflict, awstest.ErrorBefore, awstest.ErrorAfter,
		awstest.ResetBefore, awstest.ResetAfter, awstest.CutAfter, awstest.SilenceBefore, awstest.SilenceAfter,
	} {
		require.NotZero(t, met[fault], "fault %d", fault)
	}
	t.Logf("%d requests met these faults: %v", f.Requests(), met)
}

// A bench is a table with faults, and the same table without.
type bench struct {
	faulty, plain *dynamotable.Table
	faults        *awstest.Faults
}

func newBench(t *testing.T, plan func(awstest.Request) awstest.Fault) bench {
	t.Helper()
	b := awstest.Start(t)
	name, f := b.Table(t), awstest.NewFaults(awstest.HTTP(), plan)
	return bench{
		faulty: dynamotable.New(b.DynamoDB(f), name, dynamotable.Options{Attempt: attempt}),
		plain:  dynamotable.New(b.DynamoDB(nil), name, dynamotable.Options{}),
		faults: f,
	}
}

func item(sort, data string) table.Item {
	return table.Item{Key: table.Key{Part: "part", Sort: sort}, Data: []byte(data)}
}

// counted returns an item with a count that expires tomorrow.
func counted(sort, data string) table.Item {
	it := item(sort, data)
	it.Count, it.Expires = 7, time.Now().Add(24*time.Hour).UTC().Truncate(time.Second)
	return it
}

// stored returns a short form of the contents of a table.
func stored(t *testing.T, tab table.Table) string {
	t.Helper()
	all := ""
	for it, err := range tab.Query(t.Context(), "part", "", "~") {
		require.NoError(t, err)
		all += it.Sort + "=" + string(it.Data) + " "
	}
	return all
}

// unknowns are the faults after which the outcome of a write is unknown.
var unknowns = []awstest.Fault{
	awstest.ErrorBefore, awstest.ErrorAfter, awstest.ResetBefore, awstest.ResetAfter, awstest.CutAfter,
	awstest.SilenceBefore, awstest.SilenceAfter,
}

// TestOursByContent checks that each kind of write succeeds although the outcome of one or two
// attempts was unknown.
func TestOursByContent(t *testing.T) {
	for name, c := range map[string]struct {
		ops  []table.Op
		want string
	}{
		"create":            {[]table.Op{table.Create(counted("b", "new"))}, "a=was b=new "},
		"replace":           {[]table.Op{table.Replace(item("a", "was"), counted("a", "new"))}, "a=new "},
		"set":               {[]table.Op{table.Set(counted("a", "new"))}, "a=new "},
		"remove":            {[]table.Op{table.Remove(item("a", "").Key)}, ""},
		"check":             {[]table.Op{table.Check(item("a", "was"))}, "a=was "},
		"a transaction":     {[]table.Op{table.Create(item("b", "x")), table.Check(item("a", "was"))}, "a=was b=x "},
		"one that replaces": {[]table.Op{table.Replace(item("a", "was"), item("a", "new")), table.Create(item("b", "x"))}, "a=new b=x "},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fault := range unknowns {
				silent := fault == awstest.SilenceBefore || fault == awstest.SilenceAfter
				if silent && name != "create" && name != "a transaction" {
					continue // each lasts a second, and the SDK does not distinguish them from other failures
				}
				x := newBench(t, awstest.At(1, fault))
				require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "was"))))
				require.NoError(t, x.faulty.Commit(t.Context(), c.ops...), "fault %d", fault)
				require.Equal(t, c.want, stored(t, x.plain), "fault %d", fault)
				require.LessOrEqual(t, x.faults.Requests(), 2)
			}
		})
	}
}

// TestTransactionHasOneEffect adds in a transaction whose first answers are lost, and checks that
// its token makes all requests one transaction.
func TestTransactionHasOneEffect(t *testing.T) {
	x := newBench(t, func(r awstest.Request) awstest.Fault {
		if r.N <= 2 {
			return awstest.ResetAfter
		}
		return awstest.None
	})
	counter := table.Item{Key: table.Key{Part: "part", Sort: "n"}}
	require.NoError(t, x.faulty.Commit(t.Context(), table.Add(counter, 5, 100), table.Set(item("a", "x"))))
	require.Equal(t, 3, x.faults.Requests())
	it, err := x.plain.Get(t.Context(), counter.Key)
	require.NoError(t, err)
	require.Equal(t, int64(5), it.Count)
}

// TestAddIsSentOnce checks that an Add with an unknown outcome is not repeated, and that one
// without an effect is.
func TestAddIsSentOnce(t *testing.T) {
	counter := table.Item{Key: table.Key{Part: "part", Sort: "n"}}
	for _, fault := range unknowns {
		x := newBench(t, awstest.At(1, fault))
		require.Error(t, x.faulty.Commit(t.Context(), table.Add(counter, 5, 100)))
		require.Equal(t, 1, x.faults.Requests())
		it, err := x.plain.Get(t.Context(), counter.Key)
		if fault.HasEffect() {
			require.NoError(t, err)
			require.Equal(t, int64(5), it.Count)
		} else {
			require.ErrorIs(t, err, table.ErrNotFound)
		}
	}
	for _, fault := range []awstest.Fault{awstest.Throttle, awstest.TransactionConflict} {
		x := newBench(t, awstest.At(1, fault))
		require.NoError(t, x.faulty.Commit(t.Context(), table.Add(counter, 5, 100)))
		require.Equal(t, 2, x.faults.Requests())
	}
}

// TestAnothersItem checks that only an item that is exactly what a write leaves counts as its own.
func TestAnothersItem(t *testing.T) {
	mine := counted("a", "mine")
	for _, change := range []func(*table.Item){
		func(it *table.Item) { it.Data = []byte("theirs") },
		func(it *table.Item) { it.Count++ },
		func(it *table.Item) { it.Expires = it.Expires.Add(time.Second) },
		func(it *table.Item) { it.Expires = time.Time{} },
	} {
		theirs := mine
		change(&theirs)
		x := newBench(t, awstest.At(1, awstest.ErrorBefore))
		require.NoError(t, x.plain.Commit(t.Context(), table.Set(theirs)))
		var conflict *table.Conflict
		err := x.faulty.Commit(t.Context(), table.Create(mine))
		require.Error(t, err)
		require.False(t, errors.As(err, &conflict), "nobody knows whether ours was there before")
		require.ErrorAs(t, x.faulty.Commit(t.Context(), table.Create(mine)), &conflict)
		require.Equal(t, &table.Conflict{Key: mine.Key, Item: theirs, Found: true}, conflict)
	}
}

// TestAnOvertakenWriteIsNoConflict replaces an item, loses the answer, and lets another writer
// continue from the new item. A conflict would mean that nothing was done, and its caller would
// repeat the change.
func TestAnOvertakenWriteIsNoConflict(t *testing.T) {
	var x bench
	x = newBench(t, func(r awstest.Request) awstest.Fault {
		if r.N == 1 {
			return awstest.ResetAfter
		}
		ours := table.Replace(item("a", "1"), item("a", "2"))
		require.NoError(t, x.plain.Commit(t.Context(), ours))
		return awstest.None
	})
	require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "0"))))
	err := x.faulty.Commit(t.Context(), table.Replace(item("a", "0"), item("a", "1")))
	var conflict *table.Conflict
	require.Error(t, err)
	require.False(t, errors.As(err, &conflict))
	require.Equal(t, "a=2 ", stored(t, x.plain))
}

// TestAnEqualItemConflictsAtOnce checks that the content of an item does not matter if no outcome
// was unknown.
func TestAnEqualItemConflictsAtOnce(t *testing.T) {
	for _, fault := range []awstest.Fault{awstest.None, awstest.Throttle, awstest.TransactionConflict} {
		x := newBench(t, awstest.At(1, fault))
		require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "same"))))
		var conflict *table.Conflict
		require.ErrorAs(t, x.faulty.Commit(t.Context(), table.Create(item("a", "same"))), &conflict)
	}
}

// TestARefusalThatWasCut checks that a write whose refusal was lost is sent again, and that the
// refusal does not count as an effect.
func TestARefusalThatWasCut(t *testing.T) {
	x := newBench(t, awstest.At(1, awstest.CutAfter))
	require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "same"))))
	var conflict *table.Conflict
	require.ErrorAs(t, x.faulty.Commit(t.Context(), table.Create(item("a", "same"))), &conflict)
	require.Equal(t, 2, x.faults.Requests())
}

// TestThreeSends checks that a write whose outcome stays unknown is sent three times, and that the
// error is neither a conflict nor ErrLimit.
func TestThreeSends(t *testing.T) {
	for _, ops := range [][]table.Op{
		{table.Create(item("a", "x"))},
		{table.Create(item("a", "x")), table.Create(item("b", "x"))},
	} {
		x := newBench(t, func(awstest.Request) awstest.Fault { return awstest.ResetBefore })
		err := x.faulty.Commit(t.Context(), ops...)
		var conflict *table.Conflict
		require.Error(t, err)
		require.False(t, errors.As(err, &conflict) || errors.Is(err, table.ErrLimit))
		require.Equal(t, 3, x.faults.Requests())
	}
}

// TestReadsAreRepeated checks that a read succeeds after three consecutive failures of any kind,
// but not after four.
func TestReadsAreRepeated(t *testing.T) {
	for _, fault := range append(unknowns, awstest.Throttle) {
		times := 3
		x := newBench(t, func(r awstest.Request) awstest.Fault {
			if (r.N-1)%4 < times {
				return fault
			}
			return awstest.None
		})
		if fault == awstest.SilenceBefore || fault == awstest.SilenceAfter {
			times = 1
		}
		require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "x"))))
		it, err := x.faulty.Get(t.Context(), item("a", "").Key)
		require.NoError(t, err, "fault %d", fault)
		require.Equal(t, item("a", "x"), it)
		if times == 3 {
			require.Equal(t, "a=x ", stored(t, x.faulty), "fault %d", fault)
			times = 4
			_, err = x.faulty.Get(t.Context(), item("a", "").Key)
			require.Error(t, err)
			require.Equal(t, 12, x.faults.Requests())
		}
	}
}

// TestConflictsOfTransactionsPass checks that a transaction waits longer for other transactions
// than for an answer, but not longer than its caller.
func TestConflictsOfTransactionsPass(t *testing.T) {
	ops := []table.Op{table.Create(item("a", "x")), table.Create(item("b", "x"))}
	x := newBench(t, func(r awstest.Request) awstest.Fault {
		if r.N <= 6 {
			return awstest.TransactionConflict
		}
		return awstest.None
	})
	require.NoError(t, x.faulty.Commit(t.Context(), ops...))
	require.Equal(t, 7, x.faults.Requests())

	ctx, cancel := context.WithCancel(t.Context())
	x = newBench(t, func(r awstest.Request) awstest.Fault {
		if r.N == 3 {
			cancel()
		}
		return awstest.TransactionConflict
	})
	require.ErrorIs(t, x.faulty.Commit(ctx, ops...), context.Canceled)
	require.Equal(t, 3, x.faults.Requests())
}

// TestNothingIsSignedLate advances the clock by an hour when a failing request is sent, and before
// any is sent, and checks that no request is sent after the time that the caller set. Without such
// a time it is sent.
func TestNothingIsSignedLate(t *testing.T) {
	for _, ops := range [][]table.Op{
		{table.Create(item("a", "x"))},
		{table.Create(item("a", "x")), table.Set(item("b", "x"))},
	} {
		for _, fault := range []awstest.Fault{awstest.Throttle, awstest.TransactionConflict, awstest.ResetBefore} {
			b := awstest.Start(t)
			now := time.Now()
			f := awstest.NewFaults(awstest.HTTP(), func(r awstest.Request) awstest.Fault {
				if r.N > 1 {
					return awstest.None
				}
				now = now.Add(time.Hour)
				return fault
			})
			tab := dynamotable.New(b.DynamoDB(f), b.Table(t), dynamotable.Options{
				Now: func() time.Time { return now },
			})
			limited := table.SendBefore(t.Context(), now.Add(5*time.Minute))
			require.ErrorIs(t, tab.Commit(limited, ops...), awsclient.ErrLate)
			require.Equal(t, 1, f.Requests())
			require.ErrorIs(t, tab.Commit(limited, ops...), awsclient.ErrLate)
			require.Equal(t, 1, f.Requests(), "nothing is sent")
			require.Empty(t, stored(t, tab))
			require.NoError(t, tab.Commit(t.Context(), ops...))
		}
	}
}

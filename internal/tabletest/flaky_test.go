package tabletest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

func engine(t *testing.T) table.Table {
	t.Helper()
	b, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func item(sort, data string) table.Item {
	return table.Item{Key: table.Key{Part: "part", Sort: sort}, Data: []byte(data)}
}

// stored is what the engine below has, in short.
func stored(t *testing.T, tab table.Table) string {
	t.Helper()
	all := ""
	for it, err := range tab.Query(t.Context(), "part", "", "~") {
		require.NoError(t, err)
		all += it.Sort + "=" + string(it.Data) + " "
	}
	return all
}

func TestFaultsOfCommit(t *testing.T) {
	for _, c := range []struct {
		name      string
		fault     tabletest.Fault
		atOnce    string
		afterNext string
		delivered string
	}{
		{"before", tabletest.Before, "", "b=2 ", "b=2 "},
		{"after", tabletest.After, "a=1 ", "a=1 b=2 ", "a=1 b=2 "},
		{"late", tabletest.Late, "", "b=2 ", "a=1 b=2 "},
		{"late, at the next call", tabletest.LateNext, "", "a=1 b=2 ", "a=1 b=2 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			below := engine(t)
			f := tabletest.NewFlaky(below, tabletest.At(1, c.fault))
			a := item("a", "1")
			require.ErrorIs(t, f.Commit(t.Context(), table.Create(a)), tabletest.ErrInjected)
			a.Data[0] = 'X'
			require.Equal(t, c.atOnce, stored(t, below))
			require.NoError(t, f.Commit(t.Context(), table.Create(item("b", "2"))))
			require.Equal(t, c.afterNext, stored(t, below))
			for _, err := range f.Deliver(t.Context()) {
				require.NoError(t, err)
			}
			require.Equal(t, c.delivered, stored(t, below))
			require.Empty(t, f.Deliver(t.Context()), "a late commit comes once")
		})
	}
}

// TestLateMeetsItsRetry holds both orders in which a late commit and its retry can come.
func TestLateMeetsItsRetry(t *testing.T) {
	create := table.Create(item("a", "1"))
	var conflict *table.Conflict

	f := tabletest.NewFlaky(engine(t), tabletest.At(1, tabletest.LateNext))
	require.ErrorIs(t, f.Commit(t.Context(), create), tabletest.ErrInjected)
	require.ErrorAs(t, f.Commit(t.Context(), create), &conflict)

	f = tabletest.NewFlaky(engine(t), tabletest.At(1, tabletest.Late))
	require.ErrorIs(t, f.Commit(t.Context(), create), tabletest.ErrInjected)
	require.NoError(t, f.Commit(t.Context(), create))
	answers := f.Deliver(t.Context())
	require.Len(t, answers, 1)
	require.ErrorAs(t, answers[0], &conflict)
}

// TestLateOutlivesItsCall holds that a late commit comes although the call that makes it due, or
// sent it, is over.
func TestLateOutlivesItsCall(t *testing.T) {
	below := engine(t)
	f := tabletest.NewFlaky(below, tabletest.At(1, tabletest.LateNext))
	err := f.Commit(t.Context(), table.Create(item("a", "1")))
	require.ErrorIs(t, err, tabletest.ErrInjected)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Get(ctx, item("a", "").Key)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "a=1 ", stored(t, below))
}

func TestFaultsOfReads(t *testing.T) {
	below := engine(t)
	require.NoError(t, below.Commit(t.Context(), table.Create(item("a", "1"))))
	for _, fault := range []tabletest.Fault{
		tabletest.Before, tabletest.After, tabletest.Late, tabletest.LateNext,
	} {
		f := tabletest.NewFlaky(below, func(tabletest.Call) tabletest.Fault { return fault })
		_, err := f.Get(t.Context(), item("a", "").Key)
		require.ErrorIs(t, err, tabletest.ErrInjected)
		var seen []string
		for it, err := range f.Query(t.Context(), "part", "", "~") {
			seen = append(seen, fmt.Sprint(it.Sort, err == tabletest.ErrInjected))
		}
		if fault == tabletest.After {
			require.Equal(t, []string{"afalse", "true"}, seen)
		} else {
			require.Equal(t, []string{"true"}, seen)
		}
	}
}

func TestPlanSeesEachCall(t *testing.T) {
	var seen []string
	f := tabletest.NewFlaky(engine(t), func(c tabletest.Call) tabletest.Fault {
		seen = append(seen, fmt.Sprint(c.N, " ", c.Method, " ", c.Part, len(c.Ops)))
		return tabletest.None
	})
	require.NoError(t, f.Commit(t.Context(), table.Set(item("a", "1")), table.Set(item("b", "2"))))
	_, err := f.Get(t.Context(), item("a", "").Key)
	require.NoError(t, err)
	f.Reset()
	require.Equal(t, "a=1 b=2 ", stored(t, f))
	require.Equal(t, []string{"1 Commit 2", "2 Get part0", "3 Query part0"}, seen)
	require.Equal(t, 3, f.Calls())
}

func TestCounts(t *testing.T) {
	f := tabletest.NewFlaky(engine(t), tabletest.At(6, tabletest.Before))
	for _, sort := range []string{"a", "b", "c", "d"} {
		big := item(sort, string(make([]byte, 300<<10)))
		require.NoError(t, f.Commit(t.Context(), table.Set(big), table.Remove(item("x", "").Key)))
	}
	stored(t, f)
	_, err := f.Get(t.Context(), item("a", "").Key)
	require.ErrorIs(t, err, tabletest.ErrInjected)
	for range f.Query(t.Context(), "part", "a", "a") {
		break
	}
	f.Query(t.Context(), "part", "a", "a")
	want := tabletest.Counts{Gets: 1, Queries: 2, Pages: 3, Commits: 4, Ops: 8}
	require.Equal(t, want, f.Counts())
	f.Reset()
	require.Zero(t, f.Counts())
}

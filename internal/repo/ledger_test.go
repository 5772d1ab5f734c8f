package repo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// TestTraceReadsOnce checks that the log is read once to find that it never contained a name. Later
// searches cost one Query for the new runs, and one Get for each run that contains the name.
func TestTraceReadsOnce(t *testing.T) {
	e := engine(t)
	counted := tabletest.NewFlaky(e.Table, nil)
	e.Table = counted
	v := newVault(t, e)
	for i := range 200 {
		change(t, v, edit{fmt.Sprintf("n%d.md", i), fmt.Sprintf("- @due(2026-12-%02d) line\n", 1+i%30)})
	}
	remembers(t, v, "", nil, map[memory.Ref]any{{Kind: memory.KindMemory, ID: "mem_a"}: remembered("x")})
	change(t, v, edit{"n7.md", ""})
	trace := func(name string) (string, uint64) {
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		counted.Reset()
		path, seq, err := v.Trace(t.Context(), idx.Version(), []string{name}, func(n *eventlog.Note) bool { return n.Path == name })
		require.NoError(t, err)
		return path, seq
	}
	_, seq := trace("never.md")
	require.Zero(t, seq)
	few := 0
	for i := range 50 {
		_, seq = trace(fmt.Sprintf("never%d.md", i))
		require.Zero(t, seq)
		require.LessOrEqual(t, counted.Counts().Pages, 1)
		few += counted.Counts().Gets
	}
	require.Less(t, few, 50+50, "one for the control item; and about one run in 700 is taken for one that has the name")
	path, seq := trace("n7.md")
	require.Equal(t, "n7.md", path)
	require.EqualValues(t, 203, seq)
	require.LessOrEqual(t, counted.Counts().Gets, 10, "three, and runs that are taken for ones that have the name")
	change(t, v, edit{"never.md", "now"})
	_, seq = trace("never.md")
	require.EqualValues(t, 204, seq)
	last, err := v.LastOfItem(t.Context(), memory.KindMemory, "mem_a", 204)
	require.NoError(t, err)
	require.EqualValues(t, 202, last)
	require.LessOrEqual(t, counted.Counts().Gets, 14)
}

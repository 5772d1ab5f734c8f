package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/tool"
	"rookery/internal/tooltest"
)

// What one call may cost at most: bytes that it allocates, and of its answer.
const (
	maxAllocated = 64 << 20
	maxAnswered  = tool.MaxBody
)

// cheap makes a call that must stay within what one may cost.
func cheap(t testing.TB, i tool.Invoker, name string, in args) (json.RawMessage, error) {
	t.Helper()
	data, err := tool.Marshal(in)
	require.NoError(t, err)
	var answer json.RawMessage
	_, bytes := tooltest.Allocated(func() { answer, err = i.Invoke(t.Context(), name, data) })
	require.LessOrEqual(t, bytes, uint64(maxAllocated), "%s allocates", name)
	require.LessOrEqual(t, len(answer), maxAnswered, "%s answers", name)
	return answer, err
}

// TestEditsOfALongLine covers that many replacements in one long line show a part of it each, and cost what
// the note and the call have in bytes; also in a dry run.
func TestEditsOfALongLine(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	var line strings.Builder
	var edits []args
	for i := range 300 {
		fmt.Fprintf(&line, "word%03d %s", i, strings.Repeat("lorem ipsum ", 233))
		edits = append(edits, args{"old_str": fmt.Sprintf("word%03d", i), "new_str": fmt.Sprintf("other%03d", i)})
	}
	require.Greater(t, line.Len(), 800<<10)
	put(t, local{app}, map[string]string{"long.md": line.String()})
	for _, dry := range []bool{true, false} {
		for _, n := range []int{1, 10, len(edits) - 11} {
			in := args{"vault": "v", "id": "long", "edits": edits[:n], "dry_run": dry}
			answer, err := cheap(t, local{app}, "raven_edit", in)
			require.NoError(t, err)
			require.Less(t, len(answer), 5000*(n+20))
			if !dry {
				edits = edits[n:]
			}
		}
	}
	require.NotContains(t, read(t, local{app}, "long"), "word000")
}

// TestTooManyEdits covers that replacements which would search more than a call may are refused, as are more
// than a call may have.
func TestTooManyEdits(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{"long.md": strings.Repeat("lorem ipsum ", 80_000)})
	for n, says := range map[int]string{2000: "at most 1000", 1000: "make at most 279 at once"} {
		edits := make([]args, n)
		for i := range edits {
			edits[i] = args{"old_str": "lorem", "new_str": "x"}
		}
		_, err := cheap(t, local{app}, "raven_edit", args{"vault": "v", "id": "long", "edits": edits})
		require.ErrorContains(t, err, says)
		require.Equal(t, fault.BatchTooLarge, fault.Of(err).Code)
	}
}

package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestAuditLinesCost checks that the memory for the lines of a commit with the largest number of
// events of one note is a small multiple of their size.
func TestAuditLinesCost(t *testing.T) {
	var events []string
	for i := range 20_000 {
		events = append(events, fmt.Sprintf(`{"op":"delete","entity":"trait","id":"notes/traits:trait:%d","file":"notes/traits.md","value":1e400}`, i))
	}
	c := &eventlog.Commit{Seq: 7, Notes: []eventlog.Note{{Path: "a.md", Events: []byte("[" + strings.Join(events, ",") + "]")}}}
	var lines []byte
	_, bytes := tooltest.Allocated(func() { lines = repo.AuditLines(c) })
	require.Equal(t, len(events), strings.Count(string(lines), "\n"))
	require.True(t, strings.HasPrefix(string(lines),
		`{"ts":"0001-01-01T00:00:00Z","op":"delete","file":"notes/traits.md","entity":"trait","id":"notes/traits:trait:0","agent":"",`+
			`"principal":"","request_id":"","value":1e400,"version":"v7"}`+"\n"), "%.300s", lines)
	t.Logf("%d bytes for %d", bytes, len(lines))
	require.Less(t, bytes, uint64(13*len(lines)))
}

package index_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestMovedEvents covers that a note which moves is told of as one that changes its id, with what else changes, and
// that nothing is told of the path that it leaves.
func TestMovedEvents(t *testing.T) {
	const text = "# A\n\n## Part\n\n- @due(2026-01-01) task\n"
	before := of([]string{"schema.yaml", "traits:\n  due: {type: date}\n"}).With(commit(2, "a.md", text))
	for name, c := range map[string]struct{ now, want string }{
		"moved": {text, `[{"op":"update","entity":"object","id":"b","type":"page","changes":{"id":{"old":"a","new":"b"}}}]`},
		"and changed": {text + "more\n", `[{"op":"update","entity":"object","id":"b","type":"page","changes":{"id":{"old":"a","new":"b"}}},` +
			`{"op":"update","entity":"object","id":"b#part","type":"section","changes":{"content":{"added":1,"removed":0}}}]`},
	} {
		after := before.With(index.Commit{Seq: 3, Time: time.Unix(9, 0), Changes: []index.Change{
			{Path: "b.md", Text: []byte(c.now), From: "a.md"}, {Path: "a.md", Deleted: true},
		}})
		events := index.Events(before, after, "b.md", index.Texts{Old: []byte(text), New: []byte(c.now), From: "a.md"})
		data, err := json.Marshal(events)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(data), name)
		require.Empty(t, index.Events(before, after, "a.md", index.Texts{Old: []byte(text), MovedAway: true}))
	}
}

// TestMovesInAnAuditLog covers that a note goes on with its times where an audit log tells that it moved, by an
// update or by a reindex.
func TestMovesInAnAuditLog(t *testing.T) {
	const first = `{"ts":"2025-01-01T10:00:00Z","op":"create","entity":"object","id":"a","type":"page"}
{"ts":"2025-01-01T10:00:00Z","op":"create","entity":"object","id":"a#part","type":"section"}
`
	for name, move := range map[string]string{
		"update":  `{"ts":"2025-02-01T10:00:00Z","op":"update","entity":"object","id":"b","changes":{"id":{"old":"a","new":"b"}}}`,
		"reindex": `{"ts":"2025-02-01T10:00:00Z","op":"reindex","file":"b.md","modified":["object:b"],"changes":{"object:b":{"id":{"old":"a","new":"b"}}}}`,
	} {
		x := of([]string{"schema.yaml", "version: 1\n"}).With(index.Commit{
			Seq: 2, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Changes: []index.Change{
				{Path: ".raven/audit.log", Text: []byte(first + move + "\n")},
				{Path: "b.md", Text: []byte("# A\n\n## Part\n")},
			}})
		n, ok := x.Note("b.md")
		require.True(t, ok)
		want := time.Date(2025, 1, 1, 10, 0, 0, 0, time.UTC)
		require.Equal(t, want, n.Created, name)
		require.Equal(t, want, n.Sections[0].Created, name)
	}
}

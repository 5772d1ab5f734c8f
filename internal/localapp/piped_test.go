package localapp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPiped checks the commands that read prose from a pipe.
func TestPiped(t *testing.T) {
	p := newPlace(t)
	piped := func(stdin string, line ...string) string {
		shell := p.shell("")
		shell.Stdin = stdin
		printed := shell.Run(t, append(line, "--vault", "main", "--json")...)
		require.Zero(t, printed.Exit, "%v: %s", line, printed.Out)
		var answer struct{ Data struct{ File string } }
		require.NoError(t, json.Unmarshal([]byte(printed.Out), &answer))
		text := must(t, p.catalogue(), "raven_read", args{"vault": "main", "path": answer.Data.File})
		return into[struct{ Content string }](t, text).Content
	}
	require.Equal(t, "# Inbox\n\n- a line\n- one\n- two\n  more\n",
		piped("one\ntwo\n  more\n", "add", "-", "--to", "inbox"))
	require.Equal(t, "# Inbox\n\n- a line\n- one\n- two\n  more\n\n- three\n",
		piped("three\n", "add", "--stdin", "--to", "inbox"))
	require.Equal(t, "# Inbox\n\n- a line\n- one\n- two\n  more\n\n- three\n\n## Plan\n\nProse.\n\n",
		piped("## Plan\n\nProse.\n\n", "add", "--text", "-", "--as", "text", "--to", "inbox"))
	const note = "---\ntype: person\nname: Sif\n---\n\n# Sif\n\nProse.\n"
	require.Equal(t, note, piped("# Sif\n\nProse.\n", "upsert", "person", "Sif", "--stdin"))
	require.Equal(t, note, piped("# Sif\n\nProse.\n", "upsert", "person", "Sif", "--content", "-"))
	require.Equal(t, "---\ntype: person\nname: Thor\n---\n\nStrong.\n",
		piped("Strong.\n", "new", "person", "Thor", "--content=-"))
	require.Equal(t, "---\ntype: person\nname: Loki\n---\n\n# Loki\n",
		piped(`{"type":"person","title":"Loki"}`, "object", "create", "--stdin"))
}

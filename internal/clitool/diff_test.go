package clitool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// TestDiffsAreShown checks that items with diffs are shown one after the other, in colour on a
// terminal, and that control characters in a text are escaped.
func TestDiffsAreShown(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "history", Family: papers, Title: "history", Doc: "Tells.", Kind: tool.Read,
		Role: auth.Editor, Commands: []tool.Command{word("history")}, Columns: []string{"version", "op"},
		Diff: "diff",
	}, func(context.Context, auth.Caller, none) (struct{}, error) { return struct{}{}, nil })
	s := newShell(t, []*tool.Tool{made})
	s.inner = canned(answer(`{"items":[` +
		`{"version":"v2","op":"update","diff":"@@ -1 +1 @@\n-a\u001b[2J\n+b\r\n c\n"},` +
		`{"version":"v1","op":"create"}]}`))
	_, out, _ := s.run("history")
	require.Equal(t, "v2  update\n@@ -1 +1 @@\n-a\x1b[2J\n+b\r\n c\n\nv1  create\n", out, "a pipe gets the text")

	s.app.Terminal = true
	_, out, _ = s.run("history")
	require.Equal(t, "\x1b[33mv2  update\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"+
		"\x1b[31m-a\\u001b[2J\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n\n\x1b[33mv1  create\x1b[0m\n", out)

	s.inner = canned(answer(`{"items":[{"version":"v1","op":"create"}]}`))
	s.app.Terminal = false
	_, out, _ = s.run("history")
	require.Equal(t, "version\top\nv1\tcreate\n", out)
}

package tool_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// TestGuideHasTheLimits checks that the hosting guide contains the actual limits of calls.
func TestGuideHasTheLimits(t *testing.T) {
	data, err := os.ReadFile("../../docs/guide/hosting.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = strings.Join(cells[2:], "|")
		}
	}
	for row, want := range map[string]string{
		"names: types, fields, vaults, tags, agents": thousands(tool.MaxName) + " characters",
		"ids, references":           thousands(tool.MaxID) + " characters",
		"queries, values of traits": thousands(tool.MaxQuery) + " characters",
		"page tokens":               thousands(tool.MaxToken) + " characters",
		"texts of notes":            thousands(tool.MaxText) + " bytes",
		"entries of a list or an object: fields to set, edits, files of an import": thousands(tool.MaxEntries),
		"an answer, also as the text in JSON that MCP makes of it":                 fmt.Sprintf("%d MiB", tool.MaxBody>>20),
		"body of a request, and an answer":                                         fmt.Sprintf("%d MiB", tool.MaxBody>>20),
		"items of a page":                                                          fmt.Sprintf("at most %d", tool.MaxPage),
		"problems of one call":                                                     fmt.Sprintf("first %d", fault.MaxProblems),
	} {
		require.Contains(t, rows, row)
		require.Contains(t, rows[row], want, row)
	}
}

// thousands formats a number as in the guides.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

package raven

import (
	goflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = goflag.Bool("update", false, "write the golden files anew")

// TestPrompts covers the text of each prompt for everything that its parts depend on.
func TestPrompts(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"start_work", "record_learnt", "weekly_summary"} {
		for _, facts := range promptCases() {
			fmt.Fprintf(&b, "-- %s %+v --\n%s", name, facts, facts.fill(promptFile(name+".text")))
		}
	}
	const golden = "testdata/prompts.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// promptCases returns facts in which each condition of a text holds, and does not.
func promptCases() []promptFacts {
	return []promptFacts{
		{Vault: "main"},
		{Vault: "main", Given: `{vault} "x" {step}`, Writes: true, Open: []string{"todo"}},
		{Vault: "main", Given: "freya", Note: "people/freya", Dates: []string{"due"}, Open: []string{"due", "todo"}},
		{Vault: "main", Given: "freya", Note: "people/freya", Writes: true, Dates: []string{"due", "remind"},
			Open: []string{"due", "remind", "todo"}},
	}
}

package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/memory"
)

// TestOfFileKeepsTheNearestPath holds that a memory with several paths that match is found once, with the path that has
// the most in common with the one that was looked up.
func TestOfFileKeepsTheNearestPath(t *testing.T) {
	x := memory.Empty()
	x.Apply(memory.Commit{Seq: 1, Changes: []memory.Change{{
		Kind: memory.KindMemory, ID: "mem_1", Value: encoded(memory.Memory{
			Agent: "a", Intent: memory.Intent{Goal: "g", TaskType: "other"},
			Actions: []memory.Action{
				{Type: "file_edit", FilePath: "auth.go"},
				{Type: "file_edit", FilePath: "app/src/auth.go"},
				{Type: "file_edit", FilePath: "lib/app/src/auth.go"},
			},
		}),
	}}})
	found := x.OfFile("src/auth.go", false)
	require.Len(t, found, 1)
	require.Equal(t, "app/src/auth.go", found[0].Path)
	require.InDelta(t, 2./3, found[0].Share, 1e-9)
	require.Empty(t, x.OfFile("src/auth.go", true))
}

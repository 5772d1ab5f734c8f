package clitool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
)

// TestOthersOfASingleFile checks that an export to a single file does not count what lies beside
// it, and that one to a folder does.
func TestOthersOfASingleFile(t *testing.T) {
	for name, want := range map[string]int{"out.jsonl": 0, ".": 2} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep"), 0o755))
		for _, other := range []string{"a.txt", "deep/b.txt"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, other), []byte("x"), 0o644))
		}
		to, err := openSink(filepath.Join(dir, name), &tool.Files{Single: true})
		require.NoError(t, err)
		require.NoError(t, to.put(file{path: "memories.jsonl", data: []byte("y")}))
		require.NoError(t, to.finish())
		require.Equal(t, want, to.others(), name)
		to.drop()
	}
}

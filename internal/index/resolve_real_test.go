package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TestReferencesOfRealNotes compares where all references of a real vault lead with what the naive twin
// says.
func TestReferencesOfRealNotes(t *testing.T) {
	x := realNotes(t)
	kinds := map[string]int{}
	for n := range x.Notes("") {
		for _, r := range n.Refs {
			got := x.From(n, r.Target)
			id, matches := naive(x, n, r.Target)
			require.Equal(t, id, got.ID, "%s:%d", n.Path, r.Line())
			require.Equal(t, matches, got.Matches, "%s:%d", n.Path, r.Line())
			switch {
			case got.ID != "":
				kinds["resolved"]++
			case len(got.Matches) > 0:
				kinds["ambiguous"]++
			default:
				kinds["missing"]++
			}
		}
	}
	require.NotEmpty(t, kinds)
	t.Logf("references of %d notes: %v", x.Totals().Notes, kinds)
}

// realNotes is the index of the vault that ROOKERY_TEST_VAULT names, or of the one beside the project.
func realNotes(t *testing.T) *index.Index {
	t.Helper()
	dir := os.Getenv("ROOKERY_TEST_VAULT")
	if dir == "" {
		dir = filepath.FromSlash("../../../shared/data/kepano-obsidian")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there is no real vault: %v; ROOKERY_TEST_VAULT names one", err)
	}
	c := index.Commit{Seq: 1, Time: time.Unix(0, 0)}
	require.NoError(t, filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".md") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(dir, file)
		if err == nil && !strings.HasPrefix(path, ".") {
			c.Changes = append(c.Changes, index.Change{Path: vault.CleanPath(filepath.ToSlash(path)), Text: text})
		}
		return err
	}))
	return index.Empty().With(c)
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRebuild deletes the database of a data directory, and rebuilds its vault.
func TestRebuild(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	notes := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.Mkdir(notes, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "a.md"), []byte("# A\n"), 0o600))
	on := func(line ...string) (int, string, string) {
		return rookery(t, append(line, "--data", data, "--vault", "v")...)
	}
	code, _, errs := on("vault", "import", notes, "--create")
	require.Zero(t, code, errs)
	code, before, errs := on("read", "a.md", "--bare")
	require.Zero(t, code, errs)

	require.NoError(t, os.Remove(filepath.Join(data, "rookery.db")))
	code, _, errs = on("read", "a.md")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "rookery rebuild --data DIR")
	require.NoFileExists(t, filepath.Join(data, "rookery.db"), "no empty one is begun")

	code, out, errs := on("rebuild", "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"name":"v"`)
	require.Contains(t, out, `"a.md"`)
	code, after, errs := on("read", "a.md", "--bare")
	require.Zero(t, code, errs)
	require.Equal(t, before, after)
	code, out, errs = on("rebuild")
	require.Zero(t, code, errs)
	require.Contains(t, out, "nothing to do")
}

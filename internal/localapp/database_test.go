package localapp_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestOpenDamagedDatabase checks that a database which cannot be used is a fault with a fix, that
// it is not changed, and that following the fix rebuilds the vaults.
func TestOpenDamagedDatabase(t *testing.T) {
	whole := history(t)
	const rebuild = "rookery rebuild --data DIR"
	for _, c := range []struct {
		name      string
		code      fault.Code
		says, fix string
		damage    func(t *testing.T, file string, data []byte)
	}{
		{"empty", fault.IndexNotFound, "and no database: v", rebuild,
			func(t *testing.T, file string, _ []byte) { require.NoError(t, os.Truncate(file, 0)) }},
		{"cut off", fault.IndexError, "the database is damaged: it ", rebuild,
			func(t *testing.T, file string, data []byte) {
				require.NoError(t, os.Truncate(file, int64(len(data)/2)))
			}},
		{"almost nothing", fault.IndexError, "it cannot be opened", rebuild,
			func(t *testing.T, file string, _ []byte) { require.NoError(t, os.Truncate(file, 2*4096)) }},
		{"something else", fault.IndexError, "the database is damaged", rebuild,
			func(t *testing.T, file string, data []byte) {
				require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("x"), len(data)), 0o600))
			}},
		{"a folder", fault.FileError, "rookery.db cannot be opened", "rookery doctor --data DIR",
			func(t *testing.T, file string, _ []byte) {
				require.NoError(t, os.Remove(file))
				require.NoError(t, os.Mkdir(file, 0o700))
			}},
		{"a newer format", fault.IndexIncompatible, "a format that this program does not know",
			"run the release that wrote it, or a newer one",
			func(t *testing.T, file string, _ []byte) {
				db, err := bolt.Open(file, 0o600, nil)
				require.NoError(t, err)
				require.NoError(t, db.Update(func(tx *bolt.Tx) error {
					return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("99"))
				}))
				require.NoError(t, db.Close())
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			file := filepath.Join(dir, "rookery.db")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			c.damage(t, file, data)
			before, _ := os.ReadFile(file) // none of a folder
			_, err = openApp(t.Context(), localapp.Config{
				Log: leaktest.Logger(t, nil), Data: dir})
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code, "%v", err)
			require.Contains(t, f.Message, c.says)
			require.NotContains(t, f.Message, dir)
			require.NotEmpty(t, f.Fixes)
			require.Contains(t, f.Fixes[0], c.fix)
			after, _ := os.ReadFile(file)
			require.Equal(t, before, after)

			require.NoError(t, os.Rename(file, file+".damaged"))
			made, err := localapp.Rebuild(t.Context(), localapp.Config{
				Log: leaktest.Logger(t, nil), Data: dir})
			require.NoError(t, err)
			require.Len(t, made, 1)
			require.Equal(t, "v", made[0].Name)
		})
	}
}

// TestDamagedPage checks that a call which reads a damaged page of the database gets an error that
// says so and does not suggest to try again, and that the process continues.
func TestDamagedPage(t *testing.T) {
	dir := history(t)
	file := filepath.Join(dir, "rookery.db")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for at := 0; at < len(data); at += 4096 {
		if page := data[at : at+4096]; bytes.Contains(page, []byte(`"tool":"raven_add"`)) {
			clear(page[:16])
		}
	}
	require.NoError(t, os.WriteFile(file, data, 0o600))
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir})
	if err == nil {
		_, err = call(t.Context(), local{app}, "raven_read", args{"path": "a.md"})
		require.NoError(t, app.Close())
	}
	f := fault.Of(err)
	require.Equal(t, fault.IndexError, f.Code, "%v", err)
	require.Equal(t, "the database is damaged", f.Message)
	require.Equal(t, []string{"on the machine of the server, run: rookery doctor"}, f.Fixes)
}

package bolttable_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// filled creates a database with a thousand items and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.db")
	db, err := bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	for i := range 10 {
		var ops []table.Op
		for j := range table.MaxOps {
			ops = append(ops, table.Set(table.Item{
				Key: table.Key{Part: "p", Sort: fmt.Sprint(i, j)}, Data: make([]byte, 100),
			}))
		}
		require.NoError(t, db.Commit(t.Context(), ops...))
	}
	require.NoError(t, db.Close())
	return path
}

// TestLook checks that several processes can read a database without changing a byte of it, and
// that nothing can be written this way.
func TestLook(t *testing.T) {
	path := filled(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	one, err := bolttable.Look(path, bolttable.Options{})
	require.NoError(t, err)
	two, err := bolttable.Look(path, bolttable.Options{})
	require.NoError(t, err)
	_, err = bolttable.Open(path, bolttable.Options{})
	require.ErrorIs(t, err, bolttable.ErrLocked)
	for damage := range two.Check(t.Context()) {
		require.NoError(t, damage)
	}
	_, err = one.Get(t.Context(), table.Key{Part: "p", Sort: "1 1"})
	require.NoError(t, err)
	require.Error(t, one.Commit(t.Context(), table.Remove(table.Key{Part: "p", Sort: "1 1"})))
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestLookAtDamage truncates a database at every page and checks that this is reported without
// crashing the program.
func TestLookAtDamage(t *testing.T) {
	path := filled(t)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "bad.db")
	for size := 0; size < len(whole); size += 4096 {
		require.NoError(t, os.WriteFile(bad, whole[:size], 0o600))
		db, err := bolttable.Look(bad, bolttable.Options{})
		if err == nil { // the missing pages are free
			for damage := range db.Check(t.Context()) {
				require.NoError(t, damage)
			}
			require.NoError(t, db.Close())
			continue
		}
		require.ErrorIs(t, err, bolttable.ErrDamaged, "cut at %d", size)
	}
	_, err = bolttable.Look(filepath.Join(t.TempDir(), "none.db"), bolttable.Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestOpenDamage truncates a database at every page and checks that Open reports it without
// crashing the program, and changes nothing.
func TestOpenDamage(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	require.NoError(t, err)
	dir, damaged := t.TempDir(), 0
	for size := 4096; size < len(whole); size += 4096 {
		bad := filepath.Join(dir, fmt.Sprint(size))
		require.NoError(t, os.WriteFile(bad, whole[:size], 0o600))
		db, err := bolttable.Open(bad, bolttable.Options{})
		if err == nil { // the missing pages are free
			require.NoError(t, db.Close())
			continue
		}
		require.ErrorIs(t, err, bolttable.ErrDamaged, "cut at %d", size)
		damaged++
		now, err := os.ReadFile(bad)
		require.NoError(t, err)
		require.Equal(t, whole[:size], now)
	}
	require.NotZero(t, damaged)
}

// TestWriteDamagedPage damages each page in turn. A write succeeds, or returns ErrDamaged and
// changes nothing, and the program continues.
func TestWriteDamagedPage(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	require.NoError(t, err)
	dir, damaged := t.TempDir(), 0
	for at := 2 * 4096; at < len(whole); at += 4096 {
		bad := filepath.Join(dir, fmt.Sprint(at))
		data := slices.Clone(whole)
		clear(data[at : at+16])
		require.NoError(t, os.WriteFile(bad, data, 0o600))
		db, err := bolttable.Open(bad, bolttable.Options{})
		if err != nil {
			require.ErrorIs(t, err, bolttable.ErrDamaged)
			continue
		}
		for _, part := range []string{"a", "p", "z"} {
			err := db.Commit(t.Context(), table.Set(table.Item{
				Key: table.Key{Part: part, Sort: "k"}, Data: []byte("x"),
			}))
			if err != nil {
				require.ErrorIs(t, err, bolttable.ErrDamaged)
				damaged++
			}
		}
		require.NoError(t, db.Close())
	}
	require.NotZero(t, damaged)
}

// TestReadDamagedPage damages each page in turn. A read returns what was written, or ErrDamaged,
// and the program continues.
func TestReadDamagedPage(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	require.NoError(t, err)
	dir, damaged := t.TempDir(), 0
	for at := 2 * 4096; at < len(whole); at += 4096 {
		bad := filepath.Join(dir, fmt.Sprint(at))
		data := slices.Clone(whole)
		clear(data[at : at+16])
		require.NoError(t, os.WriteFile(bad, data, 0o600))
		db, err := bolttable.Open(bad, bolttable.Options{})
		if err != nil {
			require.ErrorIs(t, err, bolttable.ErrDamaged)
			continue
		}
		n := 0
		for _, err = range db.Query(t.Context(), "p", "", "~") {
			if err != nil {
				require.ErrorIs(t, err, bolttable.ErrDamaged)
				damaged++
				break
			}
			n++
		}
		if err == nil {
			require.Equal(t, 10*table.MaxOps, n)
		}
		require.NoError(t, db.Close())
	}
	require.NotZero(t, damaged)
}

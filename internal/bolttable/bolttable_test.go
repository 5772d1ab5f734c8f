package bolttable_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

func TestConformance(t *testing.T) {
	tabletest.Run(t, func(t *testing.T, now func() time.Time) table.Table {
		return open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{Now: now})
	})
}

// TestFlakyConformance checks that a Flaky without faults passes the suite.
func TestFlakyConformance(t *testing.T) {
	tabletest.Run(t, func(t *testing.T, now func() time.Time) table.Table {
		path := filepath.Join(t.TempDir(), "table.db")
		return tabletest.NewFlaky(open(t, path, bolttable.Options{Now: now}), nil)
	})
}

func open(t testing.TB, path string, o bolttable.Options) *bolttable.Table {
	t.Helper()
	b, err := bolttable.Open(path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func item(sort, data string) table.Item {
	return table.Item{Key: table.Key{Part: "part", Sort: sort}, Data: []byte(data)}
}

func collect(t *testing.T, tab table.Table, part string) []table.Item {
	t.Helper()
	var items []table.Item
	for it, err := range tab.Query(t.Context(), part, "", "~") {
		require.NoError(t, err)
		items = append(items, it)
	}
	return items
}

func TestReopenKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	expiring := item("c", "three")
	expiring.Expires = time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	want := []table.Item{item("a", "one"), item("b", ""), expiring}
	want[1].Count = -42

	first := open(t, path, bolttable.Options{})
	require.NoError(t, first.Commit(t.Context(),
		table.Create(want[0]), table.Create(want[1]), table.Create(want[2])))
	require.NoError(t, first.Close())

	second := open(t, path, bolttable.Options{})
	require.Equal(t, want, collect(t, second, "part"))
}

func TestDatabaseIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	open(t, path, bolttable.Options{})
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestUnknownFormat(t *testing.T) {
	for name, change := range map[string]func(*bolt.Tx) error{
		"a later format": func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("2"))
		},
		"no format": func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Delete([]byte("format"))
		},
		"another program's": func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("meta")) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "table.db")
			require.NoError(t, open(t, path, bolttable.Options{}).Close())
			db, err := bolt.Open(path, 0o600, nil)
			require.NoError(t, err)
			require.NoError(t, db.Update(change))
			require.NoError(t, db.Close())

			for range 2 {
				_, err = bolttable.Open(path, bolttable.Options{})
				require.ErrorIs(t, err, bolttable.ErrFormat)
			}
		})
	}
}

func TestOpenOfWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.md")
	text := []byte("# Notes\n\nNot a database.\n")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	_, err := bolttable.Open(path, bolttable.Options{})
	require.ErrorIs(t, err, bolttable.ErrDamaged)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, kept)

	_, err = bolttable.Open(filepath.Join(dir, "nowhere", "table.db"), bolttable.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestClosed(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "table.db"), bolttable.Options{})
	require.NoError(t, b.Commit(t.Context(), table.Create(item("a", "x"))))
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())

	require.ErrorIs(t, b.Commit(t.Context(), table.Set(item("b", "x"))), bolttable.ErrClosed)
	_, err := b.Get(t.Context(), item("a", "").Key)
	require.ErrorIs(t, err, bolttable.ErrClosed)
	for _, err := range b.Query(t.Context(), "part", "", "~") {
		require.ErrorIs(t, err, bolttable.ErrClosed)
	}
}

// TestCloseFinishesWhatIsQueued closes the table under load and checks that acknowledged commits
// are there, and those that got ErrClosed are not.
func TestCloseFinishesWhatIsQueued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	b := open(t, path, bolttable.Options{})
	answers := make([]error, 64)
	var all sync.WaitGroup
	entered := make(chan struct{}, len(answers))
	for i := range answers {
		all.Go(func() {
			entered <- struct{}{}
			it := item(fmt.Sprintf("%02d", i), "x")
			answers[i] = b.Commit(context.Background(), table.Create(it))
		})
	}
	for range len(answers) / 2 {
		<-entered
	}
	require.NoError(t, b.Close())
	all.Wait()

	var want []table.Item
	for i, err := range answers {
		if err == nil {
			want = append(want, item(fmt.Sprintf("%02d", i), "x"))
		} else {
			require.ErrorIs(t, err, bolttable.ErrClosed)
		}
	}
	require.Equal(t, want, collect(t, open(t, path, bolttable.Options{}), "part"))
}

// TestSweep checks in the file that nothing of expired items remains in either bucket.
func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.db")
	now := time.Now().Truncate(time.Second)
	b := open(t, path, bolttable.Options{Now: func() time.Time { return now }})
	var ops []table.Op
	for i := range 50 {
		it := item(fmt.Sprintf("%02d", i), "x")
		it.Expires = now.Add(time.Minute)
		ops = append(ops, table.Create(it))
	}
	require.NoError(t, b.Commit(t.Context(), ops...))
	// One now never expires, one was removed before its time, one lives longer.
	longer := item("02", "longer")
	longer.Expires = now.Add(time.Hour)
	require.NoError(t, b.Commit(t.Context(),
		table.Set(item("00", "kept")), table.Remove(item("01", "").Key), table.Set(longer)))
	now = now.Add(time.Minute)
	require.NoError(t, b.Commit(t.Context(), table.Set(item("new", "x"))))
	require.NoError(t, b.Close())

	require.Equal(t, map[string]int{"item": 3, "expiry": 1, "meta": 1}, sizes(t, path))
}

// sizes returns the number of keys in each bucket of a database.
func sizes(t *testing.T, path string) map[string]int {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	all := map[string]int{}
	require.NoError(t, db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			all[string(name)] = b.Stats().KeyN
			return nil
		})
	}))
	require.NoError(t, db.Close())
	return all
}

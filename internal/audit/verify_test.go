package audit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestVerify checks that verification detects each manipulation of the archives, and names the
// first affected one.
func TestVerify(t *testing.T) {
	key := func(n int) string { return fmt.Sprintf("refusals/%012d.jsonl", n) }
	lines := func(b *bench, t *testing.T, n int) []string {
		return strings.SplitAfter(string(b.object(t, key(n))), "\n")
	}
	write := func(b *bench, t *testing.T, n int, text string) {
		_, err := b.own().Put(t.Context(), key(n), []byte(text), blob.Always)
		require.NoError(t, err)
	}
	remove := func(b *bench, t *testing.T, keys ...table.Key) {
		for _, k := range keys {
			require.NoError(t, table.Sub(b.table, "acme").Commit(t.Context(), table.Remove(k)))
		}
	}
	alter := func(b *bench, t *testing.T, n int) {
		write(b, t, n, strings.Replace(string(b.object(t, key(n))), "freya-bot", "freya-bat", 1))
	}
	head := table.Key{Part: "refusals/archives", Sort: "~"}
	named := map[string]int{ // the first archive that was changed
		"the first is removed": 1, "the last is removed": 3, "an entry of the first is altered": 1,
		"an entry is altered": 2, "an entry of the last is altered": 3, "entries of two are altered": 1,
		"an entry is removed": 2, "entries change places": 2, "one is cut off": 2, "one is emptied": 2,
		"one is altered, another removed": 1, "two change places": 1, "the item of one is removed": 2,
	}
	for name, do := range map[string]func(*bench, *testing.T){
		"the first is removed": func(b *bench, t *testing.T) {
			require.NoError(t, b.own().Delete(t.Context(), key(1)))
		},
		"the last is removed": func(b *bench, t *testing.T) {
			require.NoError(t, b.own().Delete(t.Context(), key(3)))
		},
		"an entry of the first is altered": func(b *bench, t *testing.T) { alter(b, t, 1) },
		"an entry is altered":              func(b *bench, t *testing.T) { alter(b, t, 2) },
		"an entry of the last is altered":  func(b *bench, t *testing.T) { alter(b, t, 3) },
		"entries of two are altered": func(b *bench, t *testing.T) {
			alter(b, t, 1)
			alter(b, t, 3)
		},
		"one is altered, another removed": func(b *bench, t *testing.T) {
			alter(b, t, 1)
			require.NoError(t, b.own().Delete(t.Context(), key(3)))
		},
		"an entry is removed": func(b *bench, t *testing.T) {
			l := lines(b, t, 2)
			write(b, t, 2, l[0]+strings.Join(l[2:], ""))
		},
		"entries change places": func(b *bench, t *testing.T) {
			l := lines(b, t, 2)
			write(b, t, 2, l[0]+l[2]+l[1]+strings.Join(l[3:], ""))
		},
		"one is cut off": func(b *bench, t *testing.T) {
			text := string(b.object(t, key(2)))
			write(b, t, 2, text[:len(text)/2])
		},
		"one is emptied": func(b *bench, t *testing.T) { write(b, t, 2, "") },
		"two change places": func(b *bench, t *testing.T) {
			one, two := b.object(t, key(1)), b.object(t, key(2))
			write(b, t, 1, string(two))
			write(b, t, 2, string(one))
		},
		"one is put in": func(b *bench, t *testing.T) { write(b, t, 7, string(b.object(t, key(3)))) },
		"something lies beside": func(b *bench, t *testing.T) {
			_, err := b.own().Put(t.Context(), "refusals/x", []byte("x"), blob.Always)
			require.NoError(t, err)
		},
		"the head is removed": func(b *bench, t *testing.T) { remove(b, t, head) },
		"the head is another": func(b *bench, t *testing.T) {
			own := table.Sub(b.table, "acme")
			it, err := own.Get(t.Context(), head)
			require.NoError(t, err)
			var h map[string]any
			require.NoError(t, json.Unmarshal(it.Data, &h))
			h["n"] = 1
			it.Data, err = json.Marshal(h)
			require.NoError(t, err)
			require.NoError(t, own.Commit(t.Context(), table.Set(it)))
		},
		"the item of one is removed": func(b *bench, t *testing.T) {
			remove(b, t, table.Key{
				Part: "refusals/archives", Sort: "2026-11-22/000000000002",
			})
		},
		"an item is added": func(b *bench, t *testing.T) {
			require.NoError(t, table.Sub(b.table, "acme").Commit(t.Context(), table.Set(table.Item{
				Key:  table.Key{Part: "refusals/archives", Sort: "2026-11-20/000000000001"},
				Data: []byte(`{"n":1}`),
			})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a := b.auditor(t)
			for range 3 {
				b.refuse(t, a, 3)
				b.clock.pass(24 * time.Hour)
				require.NoError(t, a.Archive(t.Context()))
			}
			n, err := b.verify(t)
			require.NoError(t, err)
			require.Equal(t, 9, n)
			do(b, t)
			_, err = b.verify(t)
			require.True(t, fault.Is(err, fault.IndexError), "%v", err)
			if n := named[name]; n != 0 {
				require.ErrorContains(t, err, key(n))
			}
		})
	}
}

// TestVerifyOneArchiveWithoutAHead checks that a removed head is detected even with a single
// archive, but not if a process was about to write it.
func TestVerifyOneArchiveWithoutAHead(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	b.refuse(t, a, 3)
	b.clock.pass(time.Hour)
	require.NoError(t, a.Archive(t.Context()))
	own := table.Sub(b.table, "acme")
	require.NoError(t, own.Commit(t.Context(),
		table.Remove(table.Key{Part: "refusals/archives", Sort: "~"})))
	_, err := b.verify(t)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	require.NoError(t, own.Commit(t.Context(),
		table.Remove(table.Key{Part: "refusals/archives", Sort: "2026-11-21/000000000001"})))
	n, err := b.verify(t)
	require.NoError(t, err)
	require.Zero(t, n, "none is archived yet")
}

// TestVerifyTheTenantsLog checks that an altered or removed commit of the tenant's own log is
// detected.
func TestVerifyTheTenantsLog(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, own table.Table, all []table.Item){
		"altered": func(t *testing.T, own table.Table, all []table.Item) {
			it := all[1]
			it.Data = []byte(strings.Replace(string(it.Data), `"admin"`, `"nobod"`, 1))
			require.NoError(t, own.Commit(t.Context(), table.Set(it)))
		},
		"taken away": func(t *testing.T, own table.Table, all []table.Item) {
			require.NoError(t, own.Commit(t.Context(), table.Remove(all[1].Key)))
		},
		"cut off": func(t *testing.T, own table.Table, all []table.Item) {
			require.NoError(t, own.Commit(t.Context(), table.Remove(all[2].Key)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for _, name := range []string{"one", "two", "three"} {
				b.create(t, name)
			}
			version, err := b.team(t).VerifyLog(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, version)
			var all []table.Item
			own := table.Sub(b.table, "acme")
			for it, err := range own.Query(t.Context(), "", "log/", "log/9") {
				require.NoError(t, err)
				all = append(all, it)
			}
			require.Len(t, all, 3)
			do(t, own, all)
			_, err = b.team(t).VerifyLog(t.Context())
			require.True(t, fault.Is(err, fault.IndexError), "%v", err)
		})
	}
}

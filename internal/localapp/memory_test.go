package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/table"
)

// heapBytes returns the number of bytes in use.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestImportsOfHeadings checks that notes of 1 MB that contain only headings do not fill the
// memory, now and after each restart: seven imports of them once killed a server of 2 GiB, and each
// restart killed it again. In CI each note has 160 KB, with twice the number of headings that are
// indexed, so that no call comes near its deadline on a busy machine. If all were indexed, the
// seven would use 73 MB, three times the permitted bytes.
func TestImportsOfHeadings(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30))
	app, dir := openVault(t)
	via := local{app}
	const imports = 7
	most, lines := 24<<20, 2*index.MaxThings
	if soaked() {
		most, lines = 64<<20, 250_000
	}
	before := heapBytes()
	headings := "# needle\n" + strings.Repeat("# h\n", lines)
	for i := range imports {
		path := fmt.Sprintf("n%d.md", i)
		a := put(t, via, map[string]string{path: headings + fmt.Sprintf("# h%d\n", i)})
		require.Equal(t, "NOTE_NOT_INDEXED", a.Warnings[0].Code)
	}
	require.Less(t, heapBytes()-before, int64(most))
	requireUnindexed(t, via, imports)
	for range 2 {
		require.NoError(t, app.Close())
		before = heapBytes()
		app = open(t, dir)
		via = local{app}
		requireUnindexed(t, via, imports)
		require.Less(t, heapBytes()-before, int64(most))
	}
	require.NoError(t, app.Close())
	found := localapp.Examine(t.Context(), localapp.Examination{Data: dir})
	require.Contains(t, fmt.Sprint(found), fmt.Sprintf("%d notes have more than %d", imports, index.MaxThings))
	runtime.KeepAlive(headings)
}

// requireUnindexed requires that so many notes of headings can be read and searched as text, and
// are counted.
func requireUnindexed(t *testing.T, via local, notes int) {
	t.Helper()
	var hits struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(must(t, via, "raven_search", args{"query": "needle"}).Data, &hits))
	require.Len(t, hits.Items, notes)
	require.True(t, strings.HasPrefix(read(t, via, "n0.md"), "# needle\n"))
	stats := into[struct {
		Objects   int      `json:"object_count"`
		Unindexed int      `json:"unindexed_count"`
		Paths     []string `json:"unindexed"`
	}](t, must(t, via, "raven_stats", args{}))
	require.Equal(t, notes, stats.Unindexed)
	require.Equal(t, notes, stats.Objects)
	require.Len(t, stats.Paths, notes)
}

// TestTheQuotaOfIndexedThings checks that a write beyond the quota is refused, that a smaller one
// is accepted, and that team_usage shows the quota.
func TestTheQuotaOfIndexedThings(t *testing.T) {
	app, err := openApp(t.Context(), localapp.Config{
		Data: t.TempDir(), Log: leaktest.Logger(t, nil),
		Server: config.Config{Limits: config.Limits{VaultIndexed: 10}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = app.Close() })
	via := local{app}
	must(t, via, "team_vault_create", args{"name": "v"})
	put(t, via, map[string]string{"a.md": "## one\n\n#tag @due(2026-03-02) [[b]]\n"})
	put(t, via, map[string]string{"b.md": "text, with, commas, and no things\n\n\n\n\n\n"})
	_, err = call(t.Context(), via, "team_vault_import",
		args{"notes": listOf(map[string]string{"c.md": strings.Repeat("## h\n", 7)})})
	f := fault.Of(err)
	require.Equal(t, fault.QuotaExceeded, f.Code)
	require.Equal(t, 10, f.Details["limit"])
	put(t, via, map[string]string{"c.md": strings.Repeat("## h\n", 6)})
	_, err = call(t.Context(), via, "raven_edit", args{"path": "b.md", "old_str": "text", "new_str": "#tag text"})
	require.Equal(t, fault.QuotaExceeded, fault.Of(err).Code)
	put(t, via, map[string]string{"c.md": strings.Repeat("## h\n", 5)})
	usage := into[struct {
		Limits struct {
			Note  int `json:"note_indexed"`
			Vault int `json:"vault_indexed"`
		}
		Items []struct{ Indexed int }
	}](t, must(t, via, "team_usage", args{}))
	require.Equal(t, index.MaxThings, usage.Limits.Note)
	require.Equal(t, 10, usage.Limits.Vault)
	require.Equal(t, 9, usage.Items[0].Indexed)
}

// A countingTable counts the reads of each partition.
type countingTable struct {
	table.Table
	mu   sync.Mutex
	read map[string]int
}

func (c *countingTable) count(part string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[part]++
}

func (c *countingTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	c.count(k.Part)
	return c.Table.Get(ctx, k)
}

func (c *countingTable) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	c.count(part)
	return c.Table.Query(ctx, part, from, to)
}

// ofVaults returns the partitions of vaults that were read.
func (c *countingTable) ofVaults() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := maps.Clone(c.read)
	maps.DeleteFunc(read, func(part string, _ int) bool { return !strings.HasSuffix(part, "/1") })
	return read
}

// TestAStartOpensNothing checks that a server whose vaults do not fit into memory starts without
// reading them, refuses the one that does not fit, and serves the others.
func TestAStartOpensNothing(t *testing.T) {
	app, dir := openVault(t)
	via := local{app}
	text := strings.Repeat("- @due(2026-03-02) a line that the index keeps\n", 15_000)
	for i := range 3 { // more than a megabyte, so that there is an image
		put(t, via, map[string]string{fmt.Sprintf("%d.md", i): text})
	}
	for _, name := range []string{"w", "x"} {
		must(t, via, "team_vault_create", args{"name": name})
		must(t, via, "team_vault_import", args{"vault": name, "notes": listOf(map[string]string{"a.md": "x\n"})})
	}
	require.NoError(t, app.Close())

	counted := &countingTable{read: map[string]int{}}
	app, err := openApp(t.Context(), localapp.Between(localapp.Config{
		Data: dir, Log: leaktest.Logger(t, nil), Server: config.Config{Memory: 2 << 20},
	}, func(tab table.Table, b blob.Folder) (table.Table, blob.Folder) {
		counted.Table = tab
		return counted, b
	}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = app.Close() })
	http, stop := serve(t, app)
	defer stop()
	must(t, http, "team_whoami", args{})
	require.Empty(t, counted.ofVaults())

	for range 2 {
		f := refused(t, fault.Unavailable, http, "raven_read", args{"path": "0.md"})
		require.Equal(t, "memory", f.Details["reason"])
		for _, name := range []string{"w", "x"} {
			must(t, http, "raven_read", args{"vault": name, "path": "a.md"})
		}
	}
	rows := into[struct {
		Items []struct{ Name, Refused string }
	}](t, must(t, http, "team_vault_list", args{}))
	require.Equal(t, []struct{ Name, Refused string }{{"v", "memory"}, {"w", ""}, {"x", ""}}, rows.Items)
	usage := into[struct {
		Items []struct{ Name, Refused string }
	}](t, must(t, http, "team_usage", args{}))
	require.Equal(t, rows.Items, usage.Items)
}

package localapp_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/auth"
	"rookery/internal/bolttable"
	"rookery/internal/fileblob"
	"rookery/internal/repo"
	"rookery/internal/tabletest"
)

// requestsPage is the page of how many requests each tool asks of the stores.
const requestsPage = "../../docs/benchmarks-requests.md"

// requestsHead is what stands before the table.
const requestsHead = `# Requests of each tool

This page is written by ` + "`make docs`" + `, and a test holds it. It says how many requests of the table and of the bucket
one call over HTTP makes, with an API token and everything that a server does for a call: authentication, access, rates,
audit. The vault is a small one whose log has left the table but for its newest change. No process keeps folders, and
nothing runs in the background.

- **Cold** is the first call of a process. It also writes when the token was used last, which the answer does not wait
  for and which is not counted: one write an hour.
- **Warm** is a call of a process that has answered such a call before, and has calls of the rate in hand: every tenth
  call writes once more.

Of the table, ` + "`query`" + ` is a page of a Query, ` + "`get`" + ` a Get, ` + "`write`" + ` an operation of a Commit; of the bucket,
` + "`GET`, `PUT`, `LIST`, `DELETE`" + ` are its methods.

| call | warm | | cold | |
| --- | --- | --- | --- | --- |
`

// A budget is one row of the page.
type budget struct {
	name string
	tool string
	args args
	key  string // the idempotency key
}

// budgets are a call of every tool that succeeds, and some that differ.
func (f prepared) budgets(t testing.TB) []budget {
	t.Helper()
	var all []budget
	reads := map[string]args{}
	for _, r := range readings(t) {
		if _, past := r.args["as_of"]; !past {
			reads[r.tool] = r.args
		}
	}
	for _, made := range allTools() {
		in, ok := f.calls[made.Name]
		if !ok {
			in, ok = reads[made.Name], reads[made.Name] != nil
		}
		require.True(t, ok, made.Name)
		all = append(all, budget{name: "`" + made.Name + "`", tool: made.Name, args: in})
		switch made.Name {
		case "raven_add":
			all = append(all, budget{"`raven_add` with an idempotency key", made.Name, in, "key"})
		case "raven_search":
			all = append(all, budget{
				name: "`raven_search` of a phrase", tool: made.Name, args: with(in, "query", `"a line"`),
			})
		}
	}
	return all
}

// aDay is how many hours after everything was made the calls are made.
const aDay = 24

// process opens a process over a directory, whose stores are counted.
func (f prepared) process(t testing.TB, dir string) *counted {
	t.Helper()
	c := &counted{clock: &clock{now: f.now.Add(aDay * time.Hour)}, later: &[]func(){}}
	c.hosted = hosted{dir: dir, logs: &lockedBuffer{}}
	db, err := bolttable.Open(filepath.Join(dir, "rookery.db"), bolttable.Options{Now: c.clock.time})
	require.NoError(t, err)
	files, err := fileblob.Open(dir)
	require.NoError(t, err)
	c.table, c.bucket = tabletest.NewFlaky(db, nil), &countedBucket{Bucket: files}
	c.compose(t)
	c.stop = func() {
		c.teams.Close()
		require.NoError(t, db.Close())
		require.NoError(t, files.Close())
	}
	return c
}

// folded moves the logs of the directory out of the table, and adds one change behind them.
func (f prepared) folded(t testing.TB) {
	t.Helper()
	c := f.process(t, f.dir)
	defer c.stop()
	c.clock.pass(-aDay)
	own, err := c.teams.Team(t.Context(), auth.Local)
	require.NoError(t, err)
	for range 3 {
		for _, name := range []string{"main", "spare", "quiet"} {
			v, err := own.Vault(t.Context(), name)
			require.NoError(t, err)
			require.NoError(t, v.Fold(t.Context(), repo.Folding{All: true}))
		}
		c.clock.pass(2)
	}
	f.ask(t, c, budget{tool: "raven_add", args: args{
		"vault": "main", "to": "daily/2025-01-31", "text": "after the image"}})
}

// ask makes a call that must succeed.
func (f prepared) ask(t testing.TB, c *counted, b budget) {
	t.Helper()
	r := posted("/v1/tools/"+b.tool, marshalled(t, b.args))
	if b.key != "" {
		r.Header.Set("Idempotency-Key", b.key)
	}
	got := c.send(guest{tokens: []string{"Bearer " + f.admin}}, r)
	require.Equal(t, http.StatusOK, got.status, "%s: %s", b.name, got.body)
	require.Empty(t, got.header.Get("Retry-After"))
}

// spent makes a call, and says what it asked of the stores.
func (f prepared) spent(t testing.TB, c *counted, b budget) string {
	t.Helper()
	c.reset()
	f.ask(t, c, b)
	n := c.table.Counts()
	all, parts := 0, []string{}
	for _, p := range []struct {
		name string
		n    int
	}{
		{"query", n.Pages}, {"get", n.Gets}, {"write", n.Ops}, {"GET", int(c.bucket.gets.Load())},
		{"PUT", int(c.bucket.puts.Load())}, {"LIST", int(c.bucket.lists.Load())},
		{"DELETE", int(c.bucket.deletes.Load())},
	} {
		if all += p.n; p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	for _, do := range *c.later {
		do()
	}
	*c.later = nil
	return fmt.Sprintf("%d | %s", all, strings.Join(parts, ", "))
}

// copied is a copy of the directory.
func (f prepared) copied(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(f.dir)))
	return dir
}

// warm makes the calls of one who has worked for a while: vaults are open, and texts at hand.
func (f prepared) warm(t testing.TB, c *counted, b budget) {
	t.Helper()
	in := args{"vault": "main"}
	for _, made := range []budget{
		{tool: "team_vault_list", args: args{}}, {tool: "raven_stats", args: in},
		{tool: "raven_search", args: with(in, "query", "line")}, {tool: "team_vault_export", args: in},
		{tool: "raven_add", key: "warm", args: args{"vault": "main", "to": "daily/2025-01-31", "text": "warm"}},
	} {
		f.ask(t, c, made)
	}
	if _, changes := f.calls[b.tool]; !changes {
		f.ask(t, c, b)
	}
	for _, do := range *c.later {
		do()
	}
	*c.later = nil
}

// TestGeneratedRequests holds how many requests of the stores a call of each tool makes, in a process that has just
// begun and in one that is warm.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	f := newPrepared(t, noon)
	f.folded(t)
	var page strings.Builder
	page.WriteString(requestsHead)
	for _, b := range f.budgets(t) {
		cold := f.process(t, f.copied(t))
		first := f.spent(t, cold, b)
		cold.stop()
		warm := f.process(t, f.copied(t))
		f.warm(t, warm, b)
		fmt.Fprintf(&page, "| %s | %s | %s |\n", b.name, f.spent(t, warm, b), first)
		warm.stop()
	}
	if *update {
		require.NoError(t, os.WriteFile(requestsPage, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(requestsPage)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "make docs writes %s", requestsPage)
}

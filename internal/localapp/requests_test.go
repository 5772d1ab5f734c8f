package localapp_test

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// requestsPage is the page with the number of requests that each tool sends to the stores.
const requestsPage = "../../docs/benchmarks-requests.md"

// requestsHead is the text before the table.
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
	name  string
	tool  string
	args  args
	key   string // the idempotency key
	token string // empty: that of the admin
}

// budgets returns a call of every tool that succeeds, and some variants.
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
		if made.Kind == tool.View {
			continue // its token follows the view of the session; internal/tools/tree counts its requests
		}
		require.True(t, ok, made.Name)
		all = append(all, budget{name: "`" + made.Name + "`", tool: made.Name, args: in})
		switch made.Name {
		case "raven_stats":
			implied := maps.Clone(in)
			delete(implied, "vault")
			all = append(all, budget{
				name: "`raven_stats` without `vault`, by a token of one vault", tool: made.Name, args: implied, token: f.bound,
			})
		case "raven_add":
			all = append(all, budget{name: "`raven_add` with an idempotency key", tool: made.Name, args: in, key: "key"},
				budget{name: "`raven_add` of more than 16 KB", tool: made.Name, args: with(in, "text", long())})
		case "raven_search":
			all = append(all, budget{
				name: "`raven_search` of a phrase", tool: made.Name, args: with(in, "query", `"a line"`),
			})
		}
	}
	return all
}

// long returns a text of more than 16 KB in every compression: a change with it has an object of
// its own.
func long() string {
	text, r := make([]byte, 20_000), rand.New(rand.NewPCG(1, 1))
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(text)
}

// aDay is the number of hours between the preparation and the calls.
const aDay = 24

// process opens a process over a directory, whose calls of the stores are counted.
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

// folded moves the logs of the directory out of the table, and adds one change after that.
func (f *prepared) folded(t testing.TB) {
	t.Helper()
	c := f.process(t, f.dir)
	defer c.stop()
	c.clock.pass(-aDay)
	foldThrice(t, c.teams, f.tenant, c.clock)
	f.change(t, &c.hosted)
}

// foldThrice moves the logs of a tenant out of the table in three steps: into segments, then the
// data before the images, and an hour later the rest.
func foldThrice(t testing.TB, teams *tenant.Registry, tenant string, c *clock) {
	t.Helper()
	own, err := teams.Tenant(t.Context(), tenant)
	require.NoError(t, err)
	for range 3 {
		for _, name := range []string{"main", "spare", "quiet"} {
			v, err := own.Vault(t.Context(), name)
			require.NoError(t, err)
			require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
		}
		c.pass(2)
	}
}

// change makes a change after the image, and creates the token that is bound to one vault. After
// it, both kinds of rates of the admin exist.
func (f *prepared) change(t testing.TB, h *hosted) {
	t.Helper()
	f.ask(t, h, budget{tool: "raven_stats", args: args{"vault": "main"}})
	f.ask(t, h, budget{tool: "raven_add", args: args{
		"vault": "main", "to": "daily/2025-01-31", "text": "after the image"}})
	made := f.ask(t, h, budget{tool: "team_token_create", args: args{
		"name": "bound", "role": "editor", "vaults": []string{"main"}}})
	var out struct{ Data struct{ Token string } }
	require.NoError(t, json.Unmarshal([]byte(made.body), &out))
	f.bound = out.Data.Token
}

// ask makes a call that must succeed.
func (f prepared) ask(t testing.TB, h *hosted, b budget) reply {
	t.Helper()
	r := posted("/v1/tools/"+b.tool, marshalled(t, b.args))
	if b.key != "" {
		r.Header.Set("Idempotency-Key", b.key)
	}
	got := h.send(guest{tokens: []string{"Bearer " + cmp.Or(b.token, f.admin)}}, r)
	require.Equal(t, http.StatusOK, got.status, "%s: %s", b.name, got.body)
	require.Empty(t, got.header.Get("Retry-After"))
	return got
}

// spent makes a call, and returns its calls of the stores.
func (f prepared) spent(t testing.TB, c *counted, b budget) string {
	t.Helper()
	c.reset()
	f.ask(t, &c.hosted, b)
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
	c.catchUp()
	return fmt.Sprintf("%d | %s", all, strings.Join(parts, ", "))
}

// copied returns a copy of the directory.
func (f prepared) copied(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(f.dir)))
	return dir
}

// catchUp does the work that calls leave.
func (c *counted) catchUp() {
	for _, do := range *c.later {
		do()
	}
	*c.later = nil
}

// warm makes the calls of a client that has worked for a while before its call, so that vaults are
// open and texts are cached.
func (f prepared) warm(t testing.TB, h *hosted, b budget) {
	t.Helper()
	in := args{"vault": "main"}
	for _, made := range []budget{
		{tool: "team_vault_list", args: args{}}, {tool: "raven_stats", args: in},
		{tool: "raven_search", args: with(in, "query", "line")}, {tool: "team_vault_export", args: in},
		{tool: "raven_add", key: "warm", args: args{"vault": "main", "to": "daily/2025-01-31", "text": "warm"}},
	} {
		f.ask(t, h, made)
	}
	if _, changes := f.calls[b.tool]; !changes {
		f.ask(t, h, b)
	}
}

// TestGeneratedRequests checks how many requests to the stores a call of each tool makes, in a new
// process and in a warm one.
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
		f.warm(t, &warm.hosted, b)
		warm.catchUp()
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

package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// cloudPage is the page with the number of requests that each tool sends to DynamoDB and S3.
const cloudPage = "../../docs/benchmarks-requests-cloud.md"

// cloudHead is the text before the table.
const cloudHead = `# Requests of each tool in AWS

This page is written by ` + "`make cloud-docs`" + `, and tests hold it. It lists the requests that a function sends to DynamoDB
and S3 for one call, counted where the SDK sends them, on DynamoDB Local and LocalStack. The calls and the vault are those
of [benchmarks-requests.md](benchmarks-requests.md), which counts them at the ports.

- **Cold** is the first call of a process. It also notes when the token was used last, which the answer does not wait
  for and which is not counted: one PutItem an hour.
- **Warm** is a call of a process that has answered such a call before, and has calls of the rate in hand: every tenth
  call sends one UpdateItem more.
- **Bytes** are those of the bodies of requests and answers together, in KiB, when the page was written. Ids and times
  make them differ a little from run to run; the tests do not compare them.

The image of the vault is in one item of the table, so a cold process reads it with a Query. The image of a large vault is
an object ([0050](design/0050-images-in-items.md)): there a cold process sends a GET in the place of that Query, and one GET
more for its first search and for its first call with an idempotency key.

A warm read of a vault is one Query, a change one Query and one PutItem, and a change of more than 16 KB one PUT more. Tools
that need more are those that read what a warm process does not keep (` + "`raven_history`" + `, ` + "`raven_undo`" + `), that work on
whole logs (` + "`raven_reindex`" + `, ` + "`team_audit_verify`" + `), and those of the team, which read the log of the tenant or of all
vaults.

| call | warm | KiB | cold | KiB |
| --- | --- | ---: | --- | ---: |
`

// A cloudStores is a table and a bucket of the emulators.
type cloudStores struct {
	backend       *awstest.Backend
	table, bucket string
}

// patient is the time limit of an attempt. It is so long that no request is repeated on a busy
// machine.
const patient = time.Minute

// open opens the stores through a meter, with a clock.
func (s cloudStores) open(t testing.TB, m *awstest.Meter, c *clock) (table.Table, blob.Bucket) {
	t.Helper()
	return dynamotable.New(s.backend.DynamoDB(m), s.table, dynamotable.Options{Now: c.time, Attempt: patient}),
		s3blob.New(s.backend.AWS(t, m), s.bucket, s3blob.Options{Now: c.time, Attempt: patient})
}

// A metered is a function in this process whose requests to the emulators are counted.
type metered struct {
	hosted
	app   *awsapp.App
	meter *awstest.Meter
}

// isNote reports whether a request records the use of a token, for which no call waits.
func isNote(operation string, body []byte) bool {
	return operation == "PutItem" && bytes.Contains(body, []byte("token-uses"))
}

// function starts a function over stores.
func (s cloudStores) function(t testing.TB, c *clock) *metered {
	t.Helper()
	m := &metered{meter: &awstest.Meter{Ignore: isNote}}
	tables, files := s.open(t, m.meter, c)
	var err error
	m.app, err = awsapp.New(awsapp.Options{
		Server: config.Config{PublicURL: hostedURL, Limits: config.Limits{MutationsPerMinute: 1000}},
		Table:  tables, Bucket: files, Memory: 512 << 20, Now: c.time, Version: "test",
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(m.app.Close)
	m.handler = m.app.Handler()
	return m
}

// firstToken creates a tenant and the token of an admin, as an operator does.
func (m *metered) firstToken(t testing.TB, tenant string) string {
	t.Helper()
	answer, err := m.app.Invoke(t.Context(), marshalled(t, args{
		"rookery": "token-create", "tenant": tenant, "name": "first", "role": "admin",
	}))
	require.NoError(t, err)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(answer, &made))
	return made.Token
}

// A sender calls tools by their names with a token.
type sender struct {
	h     *hosted
	token string
}

var _ tool.Invoker = sender{}

// Invoke implements tool.Invoker.
func (s sender) Invoke(ctx context.Context, name string, in json.RawMessage) (json.RawMessage, error) {
	got := s.h.send(guest{tokens: []string{"Bearer " + s.token}}, posted("/v1/tools/"+name, in).WithContext(ctx))
	if got.status != 200 {
		return json.RawMessage(got.body), errors.New("refused")
	}
	return json.RawMessage(got.body), nil
}

// newCloudPrepared creates the tenant of all calls in a table and a bucket, whose logs have left
// the table except for the newest change, and returns the content of both.
func newCloudPrepared(t testing.TB) (prepared, *cloudSnapshot) {
	t.Helper()
	b := awstest.Start(t)
	s := cloudStores{b, b.Table(t), b.Bucket(t)}
	f := prepared{tenant: "acme", now: noon, calls: map[string]args{}}
	c := &clock{now: noon}
	first := s.function(t, c)
	secret := first.firstToken(t, f.tenant)
	tables, files := s.open(t, &awstest.Meter{}, c)
	putJob(t, table.Sub(tables, f.tenant), noon)
	f.fill(t, sender{&first.hosted, secret})
	teams := tenant.NewRegistry(tenant.Options{
		Table: tables, Bucket: files, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20),
		Memory: tenant.NewMemory(1 << 30), Items: true, Log: slog.New(slog.DiscardHandler), Now: c.time,
	})
	defer teams.Close()
	foldThrice(t, teams, f.tenant, c)
	f.change(t, &s.function(t, c).hosted)
	return f, s.snapshot(t)
}

// restored returns new stores with the content of others.
func restored(t testing.TB, from *cloudSnapshot) cloudStores {
	t.Helper()
	s := cloudStores{backend: awstest.Start(t)}
	s.table, s.bucket = from.restore(t)
	return s
}

// A costing determines the cost of calls. Calls that change nothing share stores: one pair for cold
// processes, and one for warm ones.
type costing struct {
	prepared
	from             *cloudSnapshot
	coldest, warmest cloudStores
}

// stores returns the stores for a call.
func (c costing) stores(t testing.TB, b budget, shared cloudStores) cloudStores {
	t.Helper()
	if _, changes := c.calls[b.tool]; changes {
		return restored(t, c.from)
	}
	return shared
}

// cost returns a row of the page.
func (c costing) cost(t testing.TB, b budget) string {
	t.Helper()
	at := func() *clock { return &clock{now: c.now.Add(aDay * time.Hour)} }
	spent := func(m *metered) string {
		m.meter.Reset()
		c.ask(t, &m.hosted, b)
		n := m.meter.Count()
		return fmt.Sprintf("%s | %.1f", n, float64(n.Sent+n.Got)/1024)
	}
	cold := spent(c.stores(t, b, c.coldest).function(t, at()))
	m := c.stores(t, b, c.warmest).function(t, at())
	c.warm(t, &m.hosted, b)
	return fmt.Sprintf("| %s | %s | %s |\n", b.name, spent(m), cold)
}

// TestGeneratedCloudRequests checks how many requests a call of each tool sends to DynamoDB and S3,
// in a new process and in a warm one, and the same for each run of functions that answer no
// requests.
func TestGeneratedCloudRequests(t *testing.T) {
	f, from := newCloudPrepared(t)
	c := costing{f, from, restored(t, from), restored(t, from)}
	var page strings.Builder
	page.WriteString(cloudHead)
	for _, b := range f.budgets(t) {
		page.WriteString(c.cost(t, b))
	}
	page.WriteString(background(t))
	if *update {
		require.NoError(t, os.WriteFile(cloudPage, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(cloudPage)
	require.NoError(t, err)
	require.Equal(t, withoutBytes(string(want)), withoutBytes(page.String()), "make cloud-docs writes %s", cloudPage)
}

var kibibytes = regexp.MustCompile(`\| \d+\.\d `)

// withoutBytes returns a page without the columns that differ from run to run.
func withoutBytes(page string) string { return kibibytes.ReplaceAllString(page, "| ") }

// costlier are the tools about a vault that send more requests in a warm process than others of
// their kind: those that read commits of the log or texts that are not cached, and the one that
// claims a new agent before its commit (docs/design/0070).
var costlier = []string{
	"raven_history", "raven_undo", "raven_reindex", "raven_log", "raven_trash_list", "raven_restore", "team_audit_verify",
	"memory_identity", "memory_update_memory", "memory_history",
	"tree_snapshot_list", "tree_snapshot_get", "tree_snapshot_diff", "tree_snapshot_restore", // labels are beside the log
}

// TestCloudRequestsPage checks that the page has every tool, and that the tools about one vault
// have the permitted cost: a read one Query, a change one Query and one PutItem, and a large change
// one PUT more.
func TestCloudRequestsPage(t *testing.T) {
	data, err := os.ReadFile(cloudPage)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(data), cloudHead), "make cloud-docs writes %s", cloudPage)
	warm := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") {
			warm[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSpace(cells[1])
		}
	}
	for _, made := range allTools() {
		if made.Kind == tool.View {
			continue // its token follows the session, so that it is not called twice alike
		}
		sent, ok := warm["`"+made.Name+"`"]
		require.True(t, ok, "%s is not in %s: make cloud-docs writes it", made.Name, cloudPage)
		_, about := made.Arg("vault")
		switch {
		case !about, sent == "", slices.Contains(costlier, made.Name):
		case made.Family.Name == "tree" && made.Kind == tool.Read: // what the session shows is an item beside the log
			require.Regexp(t, "^1 GetItem, [12] Query", sent, made.Name) // bookmarks are a query of their own
		case made.Kind.Mutates():
			require.Equal(t, "1 PutItem, 1 Query", sent, made.Name)
		default:
			require.Equal(t, "1 Query", sent, made.Name)
		}
	}
	require.Equal(t, "1 PUT, 1 PutItem, 1 Query", warm["`raven_add` of more than 16 KB"])
	require.Equal(t, "2 PutItem, 1 Query", warm["`memory_identity`"])
}

package team_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// args are the arguments of a call.
type args = map[string]any

const (
	publicURL = "https://memory.example.test"
	login     = "https://login.example.test" // an issuer of the deployment
)

// A clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A place is the tenants "acme" and "other" with their tools, behind the check of who may.
type place struct {
	table     table.Table
	bucket    blob.Bucket
	teams     *tenant.Registry
	catalogue *tool.Catalogue
	limiter   *limit.Limiter
	clock     *clock
	issuers   []string // of the deployment, beside login
}

// open opens a place, for a deployment of this public URL.
func open(t testing.TB, url string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{clock: &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
	tab, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: p.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tab.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	p.table, p.bucket = tab, bucket
	p.serve(t, url)
	for _, name := range []string{"acme", "other"} {
		require.NoError(t, p.teams.Make(t.Context(), name))
	}
	return p
}

// serve begins a process of the place, for a deployment of this public URL.
func (p *place) serve(t testing.TB, url string) {
	t.Helper()
	p.teams = tenant.NewRegistry(tenant.Options{
		Table: p.table, Bucket: p.bucket, Texts: repo.NewTexts(1 << 20), Now: p.clock.time, Kinds: teamtools.Jobs,
		Log: slog.New(slog.DiscardHandler), PublicURL: url,
		Issuers: func(string) []string { return append(p.issuers, login) },
	})
	t.Cleanup(p.teams.Close)
	p.limiter = limit.New(limit.Options{Now: p.clock.time, Tables: tablesOf(p.table)})
	p.compose(t, p.limiter)
}

// compose makes the catalogue of the place.
func (p *place) compose(t testing.TB, l teamtools.Limiter) {
	t.Helper()
	var all []*tool.Tool
	all = teamtools.Tools(p.teams, teamtools.Options{
		All: func() []*tool.Tool { return all }, Limiter: l,
	})
	var err error
	p.catalogue, err = tool.NewCatalogue(all, tool.Options{
		Now:          p.clock.time,
		Interceptors: []tool.Interceptor{access.Check(access.NewDirectory(p.teams)), p.limiter.Intercept},
	})
	require.NoError(t, err)
}

// admin is an admin of the tenant "acme".
func admin() auth.Caller { return person("ada", map[string]auth.Role{"*": auth.Admin}) }

// person is somebody of the tenant "acme" with these roles.
func person(name string, roles map[string]auth.Role) auth.Caller {
	principal := auth.User(login, name)
	return auth.Caller{
		Tenant: "acme", Principal: principal, Name: name, Agent: principal, Issuer: login,
		Subject: name, Session: auth.DefaultSession, Roles: roles,
	}
}

// An answer is an envelope, as far as the tests look into it.
type answer struct {
	Data  json.RawMessage
	Error *fault.Fault
	Meta  struct {
		Replayed    bool
		Version     string
		Count       int
		Total       int
		Next        string `json:"next_page_token"`
		QueryTimeMS int    `json:"query_time_ms"`
	}
	raw json.RawMessage
}

// call calls a tool.
func (p *place) call(t testing.TB, c auth.Caller, name string, in args) answer {
	t.Helper()
	if in == nil {
		in = args{}
	}
	raw, err := tool.Marshal(in)
	require.NoError(t, err)
	out, _ := tooltest.As(p.catalogue, c).Invoke(t.Context(), name, raw) // a failure is in the answer
	a := answer{raw: out}
	require.NoError(t, json.Unmarshal(out, &a))
	return a
}

// must calls a tool that must succeed with an answer that holds this.
func (p *place) must(t testing.TB, c auth.Caller, name string, in args, want string) answer {
	t.Helper()
	a := p.call(t, c, name, in)
	require.Nil(t, a.Error, "%s %v: %s", name, in, a.raw)
	if want != "" {
		require.Empty(t, tooltest.Missing(json.RawMessage(want), a.Data), "%s %v: %s", name, in, a.raw)
	}
	return a
}

// refused requires that a call fails with a code.
func (p *place) refused(
	t testing.TB, code fault.Code, c auth.Caller, name string, in args,
) *fault.Fault {
	t.Helper()
	a := p.call(t, c, name, in)
	require.NotNil(t, a.Error, "%s %v: %s", name, in, a.raw)
	require.Equal(t, code, a.Error.Code, "%s %v: %s", name, in, a.raw)
	return a.Error
}

// into decodes the data of an answer.
func into[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(a.Data, &v))
	return v
}

// keys walks through a list page by page, and names its items.
func (p *place) keys(t testing.TB, name string, in args, key string) []string {
	t.Helper()
	var all []string
	page := args{"limit": 2}
	for k, v := range in {
		page[k] = v
	}
	for {
		a := p.must(t, admin(), name, page, "")
		rows := into[struct{ Items []map[string]any }](t, a).Items
		require.Len(t, rows, a.Meta.Count)
		for _, row := range rows {
			all = append(all, row[key].(string))
		}
		if a.Meta.Next == "" {
			require.Len(t, all, a.Meta.Total)
			return all
		}
		require.Len(t, rows, 2)
		page["page_token"] = a.Meta.Next
	}
}

func tablesOf(tab table.Table) func(context.Context, string) (table.Table, error) {
	return func(_ context.Context, tenant string) (table.Table, error) {
		return table.Sub(tab, tenant), nil
	}
}

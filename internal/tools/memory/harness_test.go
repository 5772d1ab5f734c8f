package memory_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
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
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/memory"
	"github.com/rookeryhq/rookery/internal/tools/raven"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
)

// args are the arguments of a call.
type args = map[string]any

// A place is a process with the tools of memory, whose clock goes on by a second a call.
type place struct {
	table  table.Table
	bucket blob.Bucket
	teams  *tenant.Registry
	cat    *tool.Catalogue

	mu  sync.Mutex
	now time.Time
	who auth.Caller
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func (p *place) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// pass lets time pass.
func (p *place) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// open opens a place over new stores, with an empty vault.
func open(t testing.TB) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{now: noon, who: auth.LocalCaller()}
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{Now: p.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	p.table, p.bucket = db, files
	p.serve(t)
	t.Cleanup(func() { p.teams.Close() })
	require.NoError(t, p.teams.Make(t.Context(), auth.Local))
	_, err = p.call("team_vault_create", args{"name": "main"})
	require.NoError(t, err)
	return p
}

// serve begins another process in the place of the one before.
func (p *place) serve(t testing.TB) {
	if p.teams != nil {
		p.teams.Close()
	}
	p.teams = tenant.NewRegistry(tenant.Options{
		Table: p.table, Bucket: p.bucket, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20), Now: p.clock,
		Log: slog.New(slog.DiscardHandler),
	})
	var all []*tool.Tool
	whole := func() []*tool.Tool { return all }
	all = slices.Concat(memory.Tools(p.teams), raven.Tools(p.teams, whole),
		teamtools.Tools(p.teams, teamtools.Options{All: whole}))
	vaults := access.NewDirectory(p.teams)
	var err error
	p.cat, err = tool.NewCatalogue(all, tool.Options{
		Now: p.clock, Interceptors: []tool.Interceptor{access.Check(vaults), access.Claim(vaults)},
	})
	require.NoError(t, err)
}

// as is the same place for another caller.
func (p *place) as(who auth.Caller) *place {
	return &place{table: p.table, bucket: p.bucket, teams: p.teams, cat: p.cat, now: p.now, who: who}
}

// person is somebody with a role, and an agent of theirs.
func person(name, agent string, role auth.Role) auth.Caller {
	principal := auth.User("https://login.example.test", name)
	if agent == "" {
		agent = principal
	}
	return auth.Caller{
		Tenant: auth.Local, Principal: principal, Name: name, Agent: agent, Session: auth.DefaultSession,
		Roles: map[string]auth.Role{auth.AllVaults: role},
	}
}

// call calls a tool.
func (p *place) call(name string, in args) (json.RawMessage, error) {
	p.pass(time.Second)
	raw, err := tool.Marshal(in)
	if err != nil {
		return nil, err
	}
	return p.cat.Invoke(auth.WithCaller(context.Background(), p.who), name, raw)
}

// do calls a tool of the family, and returns its data.
func (p *place) do(t require.TestingT, name string, in args) args {
	raw, err := p.call("memory_"+name, in)
	require.NoError(t, err, "%s %v", name, in)
	var e struct {
		Data     args             `json:"data"`
		Meta     args             `json:"meta"`
		Warnings []map[string]any `json:"warnings"`
	}
	require.NoError(t, json.Unmarshal(raw, &e))
	e.Data["meta"] = e.Meta
	for _, w := range e.Warnings {
		e.Data["warned"] = w["code"]
	}
	return e.Data
}

// refused calls a tool of the family that must refuse.
func (p *place) refused(t require.TestingT, code fault.Code, name string, in args) *fault.Fault {
	_, err := p.call("memory_"+name, in)
	require.Error(t, err, "%s %v", name, in)
	require.Equal(t, code, fault.Of(err).Code, "%s %v: %v", name, in, err)
	return fault.Of(err)
}

// store stores a memory, and returns its id. more are further members.
func (p *place) store(t require.TestingT, goal string, success bool, more ...args) string {
	in := args{
		"intent":  args{"goal": goal, "task_type": "bug_fix"},
		"outcome": args{"success": success, "summary": goal + " done"},
	}
	for _, m := range more {
		for name, value := range m {
			in[name] = value
		}
	}
	return p.do(t, "store", in)["memory_id"].(string)
}

// file is an action on a file.
func file(path string) args {
	return args{"actions": []any{args{"type": "file_edit", "file_path": path}}}
}

func tagged(tags ...string) args { return args{"tags": tags} }

// recall recalls at a depth, and returns the goals.
func (p *place) recall(t require.TestingT, in args) (goals []string, out args) {
	if in["depth"] == nil {
		in["depth"] = "summary"
	}
	out = p.do(t, "recall", in)
	goals = []string{}
	for _, m := range list(out, "memories") {
		goals = append(goals, m["intent"].(args)["goal"].(string))
	}
	return goals, out
}

// list is a list of objects in an answer.
func list(out args, name string) []args {
	var all []args
	items, _ := out[name].([]any)
	for _, item := range items {
		all = append(all, item.(args))
	}
	return all
}

// texts is a list of texts in an answer.
func texts(v any) []string {
	all := []string{}
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, item.(string))
	}
	return all
}

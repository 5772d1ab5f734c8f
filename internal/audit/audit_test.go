package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
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

// A bench is a deployment with the tenant "acme", whose store has faults.
type bench struct {
	dir   string
	table table.Table
	flaky *tabletest.Flaky
	files *brittle
	clock *clock
	teams *tenant.Registry
	log   bytes.Buffer
}

// newBench returns a bench. plan decides which calls of the store fail; nil: none.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{dir: dir, clock: &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
	db, err := bolttable.Open(filepath.Join(dir, "table.db"),
		bolttable.Options{Now: b.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	b.table, b.files = db, &brittle{Bucket: files}
	b.flaky = tabletest.NewFlaky(db, nil)
	b.teams = b.process(t, b.flaky, b.files)
	require.NoError(t, b.teams.Make(t.Context(), "acme"))
	return b
}

// process returns the tenants as a new process sees them.
func (b *bench) process(t *testing.T, over table.Table, files blob.Bucket) *tenant.Registry {
	t.Helper()
	teams := tenant.NewRegistry(tenant.Options{
		Table: over, Bucket: files, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: b.clock.time,
	})
	t.Cleanup(teams.Close)
	return teams
}

// team returns the tenant.
func (b *bench) team(t *testing.T) *tenant.Tenant {
	t.Helper()
	a, err := b.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	return a
}

// auditor returns an Auditor whose log lines are collected.
func (b *bench) auditor(t *testing.T) *audit.Auditor {
	t.Helper()
	a := audit.New(audit.Options{
		Tenants: b.teams, Log: slog.New(slog.NewJSONHandler(&b.log, nil)), Now: b.clock.time,
	})
	t.Cleanup(a.Close)
	return a
}

// lines returns the log lines so far.
func (b *bench) lines(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for d := json.NewDecoder(bytes.NewReader(b.log.Bytes())); ; {
		var line map[string]any
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, line)
	}
}

// list returns all entries of a query, page by page.
func (b *bench) list(t *testing.T, q audit.Query) []audit.Entry {
	t.Helper()
	var all []audit.Entry
	var after audit.Position
	for {
		p, err := audit.List(t.Context(), b.team(t), q, 3, after)
		require.NoError(t, err)
		all = append(all, p.Entries...)
		if !p.More {
			return all
		}
		after = p.Next
	}
}

type in struct {
	tool.Vault
	Path  string `json:"path,omitempty"`
	ID    string `json:"id,omitempty"`
	Text  string `json:"text,omitempty"`
	Query string `json:"query,omitempty"`
	tool.Mutation
}

type out struct {
	tool.Aside `json:"-"`
	Done       bool `json:"done"`
}

// catalogue returns a tool of each kind, with the given results, behind the interceptor.
func catalogue(
	t *testing.T, a *audit.Auditor, do func(context.Context, in) (out, error),
) *tool.Catalogue {
	t.Helper()
	family := &tool.Family{
		Name: "f", Base: "/v1/vaults/{vault}", Missing: fault.InvalidParameter,
		Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	}
	var tools []*tool.Tool
	for kind, name := range []string{"f_read", "f_view", "f_write", "f_destroy"} {
		tools = append(tools, tool.New(tool.Spec{
			Name: name, Family: family, Title: "Do", Doc: "Do what is said.", Role: auth.Editor,
			Kind: tool.Kind(kind),
		}, func(ctx context.Context, _ auth.Caller, i in) (out, error) { return do(ctx, i) }))
	}
	cat, err := tool.NewCatalogue(tools, tool.Options{
		Interceptors: []tool.Interceptor{a.Interceptor()}, Now: time.Now,
	})
	require.NoError(t, err)
	return cat
}

// someone returns a caller with a JSON Web Token that may see the vault "notes".
func someone() auth.Caller {
	return auth.Caller{
		Tenant: "acme", Principal: auth.User("https://id.test", "freya"), Agent: "freya-bot",
		Session: "sessionword", Roles: map[string]auth.Role{"notes": auth.Editor},
		Issuer: "https://id.test", Subject: "freya", RequestID: "req-1",
	}
}

func invoke(t *testing.T, cat *tool.Catalogue, c auth.Caller, name, args string) {
	t.Helper()
	// the answer does not matter in these tests
	_, _ = cat.Invoke(auth.WithCaller(t.Context(), c), name, json.RawMessage(args))
}

const vocabulary = `"text":"textword","query":"queryword","idempotency_key":"keyword"`

// TestALineForEachCall checks that every call is one log line, and its contents: names, ids, codes
// and counts, and nothing from the arguments except the name of an existing vault.
func TestALineForEachCall(t *testing.T) {
	for name, c := range map[string]struct {
		tool, args string
		err        error
		code       string
		vault      any
		replayed   any
	}{
		"a read":             {"f_read", `{"vault":"notes"}`, nil, "ok", "notes", nil},
		"a write":            {"f_write", `{"vault":"notes",` + vocabulary + `}`, nil, "ok", "notes", nil},
		"a replay":           {"f_write", `{"vault":"notes","path":"again"}`, nil, "ok", "notes", true},
		"no vault":           {"f_read", `{}`, nil, "ok", nil, nil},
		"no name of a vault": {"f_read", `{"vault":"No Name"}`, nil, "ok", nil, nil},
		"not found": {
			"f_write", `{"vault":"hidden"}`, fault.NoVault("hidden"), "NOT_FOUND", nil, nil,
		},
		"refused": {
			"f_write", `{"vault":"notes",` + vocabulary + `}`,
			fault.New(fault.ReadOnly, "textword"), "READ_ONLY", "notes", nil,
		},
		"internal": {"f_write", `{"vault":"notes"}`, errors.New("textword"), "INTERNAL", "notes", nil},
		"too long": {
			"f_read", `{"vault":"notes"}`, fmt.Errorf("read: %w", context.DeadlineExceeded),
			"UNAVAILABLE", "notes", nil,
		},
		"malformed": {
			"f_write", `{"vault":"notes","textword":"queryword"}`, nil, "INVALID_PARAMETER", "notes", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cat := catalogue(t, b.auditor(t), func(_ context.Context, i in) (out, error) {
				var o out
				if i.Path == "again" {
					o.Note("replayed", true)
				}
				b.clock.pass(1500 * time.Microsecond)
				return o, c.err
			})
			invoke(t, cat, someone(), c.tool, c.args)
			lines := b.lines(t)
			require.Len(t, lines, 1)
			line := lines[0]
			require.Equal(t, "call", line["msg"])
			require.Equal(t, "acme", line["tenant"])
			require.Equal(t, "user:freya@id.test", line["principal"])
			require.Equal(t, "freya-bot", line["agent"])
			require.Equal(t, c.tool, line["tool"])
			require.Equal(t, "req-1", line["request_id"])
			require.Equal(t, c.code, line["code"])
			require.Equal(t, c.vault, line["vault"])
			require.Equal(t, c.replayed, line["replayed"])
			require.NotContains(t, b.log.String(), "word")
			if name != "malformed" {
				require.InDelta(t, 1.5, line["ms"], 0.01)
			}
		})
	}
}

// TestOneWriteForARefusal checks the cost of a call in the table: nothing if it succeeds or only
// reads, and exactly one write of one item for a mutation that is refused or fails, including dry
// runs.
func TestOneWriteForARefusal(t *testing.T) {
	for name, c := range map[string]struct {
		tool   string
		args   string
		err    error
		writes int
		want   audit.Outcome
	}{
		"a read":           {"f_read", `{}`, nil, 0, ""},
		"a write":          {"f_write", `{}`, nil, 0, ""},
		"a refused read":   {"f_read", `{}`, fault.New(fault.PermissionDenied, "no"), 0, ""},
		"a refused view":   {"f_view", `{}`, fault.New(fault.PermissionDenied, "no"), 1, audit.Refused},
		"unauthenticated":  {"f_write", `{}`, fault.New(fault.Unauthenticated, "no"), 1, audit.Refused},
		"expired":          {"f_write", `{}`, fault.New(fault.TokenExpired, "no"), 1, audit.Refused},
		"refused":          {"f_write", `{}`, fault.New(fault.PermissionDenied, "no"), 1, audit.Refused},
		"read-only":        {"f_destroy", `{}`, fault.New(fault.ReadOnly, "no"), 1, audit.Refused},
		"over the rate":    {"f_write", `{}`, fault.New(fault.RateLimited, "no"), 1, audit.Refused},
		"over a quota":     {"f_write", `{}`, fault.New(fault.QuotaExceeded, "no"), 1, audit.Refused},
		"a hidden vault":   {"f_write", `{"vault":"x"}`, fault.NoVault("x"), 1, audit.Refused},
		"no note":          {"f_write", `{"vault":"notes"}`, fault.New(fault.NotFound, "no"), 1, audit.Failed},
		"a conflict":       {"f_write", `{}`, fault.New(fault.Conflict, "no"), 1, audit.Failed},
		"an internal one":  {"f_write", `{}`, errors.New("no"), 1, audit.Failed},
		"malformed":        {"f_write", `{"x":1}`, nil, 1, audit.Failed},
		"a dry run":        {"f_write", `{"dry_run":true}`, fault.New(fault.Conflict, "no"), 1, audit.Failed},
		"one that panics":  {"f_write", `{"path":"panic"}`, nil, 1, audit.Failed},
		"a read that does": {"f_read", `{"path":"panic"}`, nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cat := catalogue(t, b.auditor(t), func(_ context.Context, i in) (out, error) {
				if i.Path == "panic" {
					panic("no")
				}
				return out{}, c.err
			})
			b.team(t)
			b.flaky.Reset()
			invoke(t, cat, someone(), c.tool, c.args)
			require.Equal(t, tabletest.Counts{Commits: c.writes, Ops: c.writes}, b.flaky.Counts())
			found := b.list(t, audit.Query{})
			require.Len(t, found, c.writes)
			for _, e := range found {
				require.Equal(t, c.want, e.Outcome)
				require.Equal(t, name == "a dry run", e.DryRun)
			}
		})
	}
}

// TestEntry checks the entry of a refused call, and that it can be read at once.
func TestEntry(t *testing.T) {
	b := newBench(t)
	cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
		b.clock.pass(3 * time.Millisecond)
		return out{}, fault.New(fault.Conflict, "textword")
	})
	c := someone()
	c.Principal, c.TokenID, c.Issuer, c.Subject = "token:acme_1", "acme_1", "https://ci.test", "job"
	invoke(t, cat, c, "f_write", `{"vault":"notes","path":"people/freya.md","id":"daily/x#standup",`+
		vocabulary+`}`)
	took := int64(3)
	require.Equal(t, []audit.Entry{{
		Time: b.clock.time(), Request: "req-1", Tenant: "acme", Principal: "token:acme_1",
		Agent: "freya-bot", Operation: "f_write", Vault: "notes",
		Targets: []string{"people/freya.md", "daily/x#standup"}, Outcome: audit.Failed,
		Code: fault.Conflict, Token: "acme_1", Issuer: "https://ci.test", Subject: "job", Took: &took,
	}}, b.list(t, audit.Query{}))
	require.NotContains(t, b.log.String()+b.everything(t), "word")
}

// TestTargets checks that only arguments that can be paths or ids are recorded for a refused call.
func TestTargets(t *testing.T) {
	for name, c := range map[string]struct{ id, want string }{
		"a path":          {"people/freya.md", "people/freya.md"},
		"an object":       {"daily/2026-11-20#standup", "daily/2026-11-20#standup"},
		"a trait":         {"daily/today.md:trait:0", "daily/today.md:trait:0"},
		"a name":          {"notes", "notes"},
		"an id":           {"acme_0a1b", "acme_0a1b"},
		"nothing":         {"", ""},
		"lines":           {"one\ntwo", ""},
		"control":         {"a\x00b", ""},
		"long":            {strings.Repeat("a", 257), ""},
		"absolute":        {"/home/freya/notes.md", ""},
		"upwards":         {"../../etc/passwd", ""},
		"an API token":    {"rk_acme_0a1b.secretword", ""},
		"a JSON token":    {"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.x", ""},
		"a bearer":        {"Bearer eyJhbGciOiJub25lIn0", ""},
		"a secret alone":  {strings.Repeat("abcdefghijklm", 4), ""},
		"no token":        {"work_notes.md", "work_notes.md"},
		"a tenant's":      {"rk_notes/today.md", "rk_notes/today.md"},
		"a bearer of API": {"Bearer rk_acme_0a1b.secretword", ""},
		"a reference":     {"[[people/freya|what]]", ""},
		"not UTF-8":       {"a\xffb", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
				return out{}, fault.New(fault.Conflict, "no")
			})
			args, err := json.Marshal(map[string]string{"id": c.id})
			require.NoError(t, err)
			if name == "not UTF-8" {
				args = []byte("{\"id\":\"a\xffb\"}")
			}
			invoke(t, cat, someone(), "f_write", string(args))
			want := []string{}
			if c.want != "" {
				want = []string{c.want}
			}
			found := b.list(t, audit.Query{})
			require.Len(t, found, 1)
			if name != "not UTF-8" { // JSON decoding has replaced it
				require.Equal(t, want, found[0].Targets)
			}
		})
	}
}

// TestStrangeCallers checks that names chosen by a caller cannot break a line or an entry, and are
// recorded with limited length.
func TestStrangeCallers(t *testing.T) {
	for name, agent := range map[string]string{
		"lines":      "bot\nlevel=ERROR msg=forged",
		"a terminal": "\x1b[2Jbot",
		"JSON":       `"},{"ts":"2026`,
		"long":       strings.Repeat("b", 100_000),
		"not UTF-8":  "bot\xff\xfe",
		"right-left": "bot\u202egnp",
		"a key":      "~",
		"nul":        "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
				return out{}, fault.New(fault.Conflict, "no")
			})
			c := someone()
			c.Agent, c.RequestID = agent, agent
			invoke(t, cat, c, "f_write", `{}`)
			require.Len(t, b.lines(t), 1)
			found := b.list(t, audit.Query{})
			require.Len(t, found, 1)
			for _, s := range []string{found[0].Agent, found[0].Request} {
				require.LessOrEqual(t, len(s), 3*256)
				require.NotContains(t, s, "\n")
				require.NotContains(t, s, "\x1b")
				require.NotContains(t, s, "\u202e")
			}
			require.Len(t, b.list(t, audit.Query{Agent: found[0].Agent}), 1)
		})
	}
}

// TestRateLimitedOnceAMinute checks that for a caller above its rate one entry a minute is
// recorded, whatever its agents are called, and that other callers and other refusals are all
// recorded.
func TestRateLimitedOnceAMinute(t *testing.T) {
	b := newBench(t)
	code := fault.RateLimited
	cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
		return out{}, fault.New(code, "no")
	})
	other := someone()
	other.Principal = "user:loki@id.test"
	kept := func() int { return len(b.list(t, audit.Query{})) }
	for n := range 5 {
		invoke(t, cat, someone(), "f_write", fmt.Sprintf(`{"agent_id":"agent-%d"}`, n))
		b.clock.pass(10 * time.Second)
	}
	require.Equal(t, 1, kept())
	invoke(t, cat, other, "f_write", `{}`)
	require.Equal(t, 2, kept())
	b.clock.pass(10 * time.Second)
	invoke(t, cat, someone(), "f_write", `{}`)
	require.Equal(t, 3, kept(), "a minute is over")
	code = fault.PermissionDenied
	for range 2 {
		invoke(t, cat, someone(), "f_write", `{}`)
	}
	require.Equal(t, 5, kept())
	require.Len(t, b.lines(t), 9, "each call is a line")
}

// TestAnEntryThatCannotBeWritten checks that the answer of the call does not change, and that the
// server logs an error.
func TestAnEntryThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	b.teams = b.process(t, tabletest.NewFlaky(b.table, func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.Commit && strings.Contains(c.Ops[0].Item.Part, "refusals") {
			return tabletest.Before
		}
		return tabletest.None
	}), b.files)
	cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
		return out{}, fault.New(fault.Conflict, "no")
	})
	ctx := auth.WithCaller(t.Context(), someone())
	_, err := cat.Invoke(ctx, "f_write", json.RawMessage(`{}`))
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	lines := b.lines(t)
	require.Len(t, lines, 2)
	require.Equal(t, "ERROR", lines[1]["level"])
	require.Equal(t, "req-1", lines[1]["request_id"])
	require.Empty(t, b.list(t, audit.Query{}))
}

// TestACallThatGaveUp checks that the entry is written even if the caller no longer waits.
func TestACallThatGaveUp(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(auth.WithCaller(t.Context(), someone()))
	cat := catalogue(t, b.auditor(t), func(ctx context.Context, _ in) (out, error) {
		cancel()
		return out{}, ctx.Err()
	})
	_, err := cat.Invoke(ctx, "f_write", json.RawMessage(`{}`))
	require.Error(t, err)
	found := b.list(t, audit.Query{})
	require.Len(t, found, 1)
	require.Equal(t, fault.Unavailable, found[0].Code)
}

// everything returns all contents of the table and the bucket as text.
func (b *bench) everything(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	own := table.Sub(b.table, "acme")
	for _, part := range []string{"refusals", "refusals/archives"} {
		for it, err := range own.Query(t.Context(), part, "", "~") {
			require.NoError(t, err)
			all.Write(it.Data)
		}
	}
	for key := range b.archives(t) {
		all.Write(b.object(t, key))
	}
	return all.String()
}

// put writes a note of a vault.
func (b *bench) put(t *testing.T, name, path, agent string) {
	t.Helper()
	v, err := b.team(t).Vault(t.Context(), name)
	require.NoError(t, err)
	call := eventlog.Call{
		Who:  eventlog.Who{Principal: "p", Agent: agent, Request: "req-" + path, Token: "acme_1"},
		Tool: "f_write",
	}
	_, err = v.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Put(ctx, vault.Path(path), []byte("textword "+path+"\n"))
	})
	require.NoError(t, err)
}

// create creates a vault.
func (b *bench) create(t *testing.T, name string) {
	t.Helper()
	call := eventlog.Call{Who: eventlog.Who{Principal: "admin", Agent: "admin"}, Tool: "team_vault_create"}
	_, err := b.team(t).Create(t.Context(), call, tenant.NewVault{Name: name},
		func(tenant.Entry) any { return "made" })
	require.NoError(t, err)
}

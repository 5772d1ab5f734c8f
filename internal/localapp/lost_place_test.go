package localapp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// lostHost is the host name of the servers whose answers are lost.
const lostHost = "notes.example.test"

// A prepared is a data directory in which every mutation finds its target, with tokens of its
// tenant. It is copied for each case.
type prepared struct {
	dir          string
	tenant       string
	now          time.Time       // when everything was made
	admin, other string          // tokens of two admins
	bound        string          // the token of a vault, see change
	calls        map[string]args // of every tool that changes something, one that succeeds
}

// lostConfig returns the Config of a server over a directory. No call is limited: calls wait for jobs
// by asking again, and the clock that the rates follow stands still.
func lostConfig(dir string, c *clock) localapp.Config {
	return localapp.Config{
		Data: dir, Now: c.time, Log: slog.New(slog.DiscardHandler),
		Server: config.Config{
			PublicURL: "https://" + lostHost, Limits: config.Limits{MutationsPerMinute: 1_000_000},
		},
	}
}

// newPrepared creates one. Nothing runs between its calls, so that the version of a log's image
// does not depend on the speed of the machine.
func newPrepared(t testing.TB, now time.Time) prepared {
	t.Helper()
	f := prepared{dir: t.TempDir(), tenant: auth.Local, now: now, calls: map[string]args{}}
	cfg := localapp.Between(lostConfig(f.dir, &clock{now: now}),
		func(tables table.Table, files blob.Folder) (table.Table, blob.Folder) {
			putJob(t, table.Sub(tables, f.tenant), now)
			return tables, files
		})
	app, err := openApp(t.Context(), localapp.Asleep(cfg, func(next tool.Handler) tool.Handler { return next }))
	require.NoError(t, err)
	f.fill(t, tooltest.As(app.Catalogue, auth.LocalCaller()))
	require.NoError(t, app.Close())
	return f
}

// fill creates the targets of the calls, and the tokens.
func (f *prepared) fill(t testing.TB, inv tool.Invoker) {
	t.Helper()
	writeFixture(t, inv)
	remember(t, inv)
	for _, name := range []string{"spare", "quiet", "old", "doomed"} {
		done(t, inv, "team_vault_create", args{"name": name})
	}
	done(t, inv, "team_vault_delete", args{"name": "old"})
	book := "---\ntype: book\nauthor: A\n---\n"
	done(t, inv, "team_vault_create", args{"name": "shelf"})
	done(t, inv, "team_vault_import", args{"vault": "main", "notes": notesOf(map[string]string{
		"lost/move.md": "# Move\n", "lost/section.md": "# Section\n", "lost/batch.md": "# Batch\n",
		"lost/tree1.md": "# Tree\n", "lost/tree2.md": "# Tree\n", "lost/tree3.md": "# Tree\n", "lost/tree4.md": "# Tree\n",
		"lost/tree5.md": "---\ntags: [old]\n---\n",
		"lost/tree6.md": "# Tree\n", "lost/tree7.md": twoParts, "lost/tree8.md": twoParts, "lost/tree9.md": twoParts,
		"lost/tree10.md": twoParts, "lost/tree11.md": twoParts, "lost/tree12.md": twoParts, "lost/tree13.md": twoParts,
		"lost/tree14.md": "# Tree\n",
		"lost/class.md":  "---\ntype: book\n---\n",
		"lost/check.md":  "---\ntype: page\n---\n\nSee [[zebra note]].\n", "deep/zebra note.md": "# Z\n",
	})})
	done(t, inv, "team_vault_import", args{"vault": "shelf", "notes": notesOf(map[string]string{
		"raven.yaml": "queries:\n  one: type:page\n", "books/a.md": book, "books/b.md": book, "books/c.md": book, "books/d.md": book,
	})})
	done(t, inv, "raven_new", args{"vault": "main", "type": "page", "title": "Gone"})
	done(t, inv, "raven_delete", args{"vault": "main", "id": "gone"})
	for _, name := range []string{"people", "leaving"} {
		done(t, inv, "team_issuer_set", args{
			"name": name, "issuer": "https://id.example.org", "client_id": "c", "role": "reader",
		})
	}
	for _, name := range []string{"ann", "ben"} {
		done(t, inv, "team_member_set", args{"subject": name, "issuer": "people", "role": "admin"})
	}
	f.admin, f.other = newToken(t, inv, "admin"), newToken(t, inv, "other")
	f.call(t, inv, tokenID(newToken(t, inv, "leaving")))
	done(t, inv, "memory_import", args{"vault": "main", "files": []args{{"path": "m.jsonl", "content": `{"id":"` +
		storedMemory + `","intent":{"goal":"a goal","task_type":"other"},"outcome":{"success":true,"summary":"a line"}}`}}})
}

// storedMemory is the id of a memory of the vault main.
const storedMemory = "mem-stored"

// queuedJob is the id of a job that no process takes, because it is not in the list of open jobs.
const queuedJob = "job-06gzts0m7e0000000000000000"

// putJob adds that job to the table of a tenant.
func putJob(t testing.TB, own table.Table, now time.Time) {
	t.Helper()
	data, err := json.Marshal(job.Item{
		ID: queuedJob, Kind: "audit_verify", State: job.Queued, Target: job.Target{Vault: "main"}, Created: now,
		By: job.By{Principal: auth.Local}, Progress: job.Progress{Step: "vault", Total: 2}, Open: "open/none",
	})
	require.NoError(t, err)
	require.NoError(t, own.Commit(t.Context(), table.Set(table.Item{
		Key: table.Key{Part: job.Part, Sort: "job/" + queuedJob}, Data: data,
	})))
}

// newToken creates a token of an admin.
func newToken(t testing.TB, inv tool.Invoker, name string) string {
	t.Helper()
	var out struct{ Data struct{ Token string } }
	answer := done(t, inv, "team_token_create", args{
		"name": name, "role": "admin", "expires_in": "90 days",
	})
	require.NoError(t, json.Unmarshal(answer, &out))
	return out.Data.Token
}

// early changes the vault shelf after a snapshot, and returns its version.
func (f prepared) early(t testing.TB, inv tool.Invoker) string {
	t.Helper()
	done(t, inv, "raven_new", args{"vault": "shelf", "type": "page", "title": "Early", "path": "early"})
	done(t, inv, "tree_snapshot_create", args{"vault": "shelf", "label": "early", "versionToken": "v1"})
	var changed struct{ Meta struct{ Version string } }
	require.NoError(t, json.Unmarshal(done(t, inv, "raven_add", args{"vault": "shelf", "to": "early", "text": "late"}), &changed))
	return changed.Meta.Version
}

// call sets a call of each tool that succeeds. For a tool that is not named, the call follows from
// its schema.
func (f prepared) call(t testing.TB, inv tool.Invoker, token string) {
	t.Helper()
	done(t, inv, "raven_add", args{
		"vault": "main", "to": "inbox", "text": "@due(2025-02-04) another line",
	})
	var undone struct{ Meta struct{ Version string } }
	require.NoError(t, json.Unmarshal(done(t, inv, "raven_set", args{
		"vault": "main", "id": "people/bob", "set": args{"phone": "1"},
	}), &undone))
	done(t, inv, "tree_snapshot_create", args{"vault": "main", "label": "label", "versionToken": "v1"})
	given := map[string]args{
		"raven_new":     {"type": "person", "title": "Dora"},
		"raven_upsert":  {"type": "person", "title": "Eir", "content": "Quiet."},
		"raven_set":     {"id": "people/alice", "set": args{"company": "companies/mill"}},
		"raven_unset":   {"id": "people/alice", "unset": []string{"phone"}},
		"raven_add":     {"text": "a new line", "to": "inbox"},
		"raven_edit":    {"id": "projects/mill", "old_str": "# Mill", "new_str": "# The mill"},
		"raven_delete":  {"id": "people/windows"},
		"raven_undo":    {"version": undone.Meta.Version},
		"raven_reindex": {}, "raven_schema_init": {"vault": "shelf"},
		"raven_check_fix":     {"id": "lost/check"},
		"raven_schema_add":    {"kind": "trait", "name": "mood"},
		"raven_schema_update": {"kind": "trait", "name": "due", "description": "When"},
		"raven_schema_remove": {"kind": "trait", "name": "priority", "force": true},
		"raven_move":          {"source": "lost/move", "destination": "moved/there"},
		"raven_section":       {"op": "create", "file": "lost/section", "title": "New part"},
		"raven_reclassify":    {"id": "lost/class", "type": "page"},
		"raven_restore":       {"id": "gone", "confirm": true},
		"raven_batch": {"operations": []args{
			{"op": "add", "data": args{"text": "a line", "to": "lost/batch"}},
			{"op": "add", "data": args{"text": "another", "to": "lost/batch"}},
		}},
		"raven_query_save":   {"name": "late", "query": "trait:due .value==past"},
		"raven_query_remove": {"vault": "shelf", "name": "one"},
		"raven_trait_create": {"trait_type": "due", "value": "2025-03-01",
			"parent_id": "meetings/plan", "content": "soon"},
		"raven_trait_update": {"id": zebrafinch, "set": args{"due": "2025-03-02"}},
		"raven_trait_delete": {"id": idOf("inbox", "due", "another line")},
		"team_vault_create":  {"name": "fresh", "config": args{"timezone": "Europe/Oslo"}},
		"team_vault_delete":  {"name": "spare"},
		"team_vault_restore": {"name": "old"},
		"team_vault_erase":   {"name": "doomed", "confirm": "doomed"},
		"team_tenant_erase":  {"confirm": f.tenant},
		"team_job_cancel":    {"id": queuedJob},
		"notes_write":        {"path": "written.md", "content": "x\n"},

		"tree_update_payload_property": {"versionToken": "v9", "nodeId": "lost/tree1", "propertyName": "a", "newValue": "x"},
		"tree_update_payload":          {"versionToken": "v9", "nodeId": "lost/tree2", "patch": args{"b": "x"}},
		"tree_update_nodes":            {"versionToken": "v9", "filter": "nodeId = lost/tree3", "patch": args{"c": "x"}},
		"tree_tag_node":                {"versionToken": "v9", "nodeId": "lost/tree4", "tags": []string{"x"}},
		"tree_untag_node":              {"versionToken": "v9", "nodeId": "lost/tree5", "tags": []string{"old"}},
		"tree_add_child": {"versionToken": "v9", "parentNodeId": "lost/tree6", "payloadType": "section",
			"payloadProps": args{"title": "Part"}},
		"tree_remove_node":      {"versionToken": "v9", "nodeId": "lost/tree7#one"},
		"tree_move_node":        {"versionToken": "v9", "nodeId": "lost/tree8#one", "newParentId": "lost/tree8#two"},
		"tree_move_before":      {"versionToken": "v9", "nodeId": "lost/tree9#two", "siblingId": "lost/tree9#one"},
		"tree_move_after":       {"versionToken": "v9", "nodeId": "lost/tree10#one", "siblingId": "lost/tree10#two"},
		"tree_sort_children":    {"versionToken": "v9", "parentId": "lost/tree11", "byProp": "title", "direction": "desc"},
		"tree_copy_subtree":     {"versionToken": "v9", "sourceId": "lost/tree12#one", "targetParentId": "lost/tree12", "mode": "duplicate"},
		"tree_clone_node":       {"versionToken": "v9", "nodeId": "lost/tree13#one", "targetParentId": "lost/tree13"},
		"notes_import":          {"type": "markdown", "files": []args{{"path": "brought.md", "content": "x\n"}}},
		"team_vault_set":        {"name": "quiet", "readonly": true},
		"team_vault_import":     {"notes": notesOf(bigBatch())},
		"team_token_create":     {"name": "new", "role": "editor", "expires_in": "89 days"},
		"team_token_revoke":     {"id": token},
		"team_member_set":       {"subject": "cleo", "issuer": "people", "role": "editor"},
		"team_member_remove":    {"subject": "ben"},
		"tree_import_merge":     {"versionToken": "v9", "json": args{"nodeId": "lost/tree14", "payload": args{"a": "x"}}},
		"tree_snapshot_restore": {"vault": "shelf", "versionToken": f.early(t, inv), "snapshotId": "early"},
		"team_issuer_set": {"name": "builds", "issuer": "https://ci.example.org", "role": "editor",
			"claims": args{"repository": "mill/*"}},
		"team_issuer_remove": {"name": "leaving"},
	}
	maps.Copy(given, memoryCalls)
	for _, made := range allTools() {
		if !made.Kind.Mutates() {
			continue
		}
		f.calls[made.Name] = args{}
		for name, value := range soundCall(t, made).Args {
			f.calls[made.Name][name] = value
		}
		for name, value := range given[made.Name] {
			f.calls[made.Name][name] = value
		}
	}
}

// twoParts is a note with two sections.
const twoParts = "# Tree\n\n## One\n\n## Two\n"

// bigBatch returns notes that are too large for an item of the table even when they are compressed.
func bigBatch() map[string]string {
	d := killedWrite{word: "w", note: "own"}
	return d.batch()
}

// A stage is one data directory on which a server is opened, closed and killed, and its stores.
type stage struct {
	prepared
	dir    string
	app    *localapp.App
	server *httptest.Server
	line   *line
	stores *stores
	clock  *clock
}

// stage opens a server over a copy.
func (f prepared) stage(t testing.TB) *stage {
	t.Helper()
	s := &stage{prepared: f, dir: t.TempDir(), stores: newStores(), clock: &clock{now: f.now}}
	require.NoError(t, os.CopyFS(s.dir, os.DirFS(f.dir)))
	s.open(t)
	t.Cleanup(func() { s.close(t) })
	return s
}

// open opens the server. Its first call is answered before anything fails.
func (s *stage) open(t testing.TB) {
	t.Helper()
	var err error
	s.app, err = openApp(t.Context(),
		localapp.Between(lostConfig(s.dir, s.clock), s.stores.between))
	require.NoError(t, err)
	handler := s.app.Handler("1.2.3", []string{lostHost})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.line = &line{l, make(chan *wire, 16)}
	s.server = httptest.NewUnstartedServer(handler)
	require.NoError(t, s.server.Listener.Close())
	s.server.Listener = s.line
	s.server.Start()
}

// close ends the server, if it is open.
func (s *stage) close(t testing.TB) {
	t.Helper()
	if s.app == nil {
		return
	}
	s.server.Close()
	require.NoError(t, s.app.Close())
	s.app = nil
}

// kill ends the server as if it was killed: later calls do not reach the stores.
func (s *stage) kill() {
	s.stores.die()
	s.server.Close()
	_ = s.app.Close() // it cannot do what it wants to
	s.app = nil
	s.stores.heal()
}

// own returns an Invoker that calls the tools of the server in this process.
func (s *stage) own() tool.Invoker { return tooltest.As(s.app.Catalogue, auth.LocalCaller()) }

// A lostCall is a call whose answer may be lost.
type lostCall struct {
	tool, token, key string
	args             args
	mcp              bool // over MCP instead of the route by name
}

// lost returns the call of a tool, with a key.
func (f prepared) lost(name string) lostCall {
	return lostCall{tool: name, token: f.admin, key: "key of " + name, args: f.calls[name]}
}

// with returns the call with one more argument.
func (c lostCall) with(name string, value any) lostCall {
	more := args{name: value}
	for k, v := range c.args {
		if k != name {
			more[k] = v
		}
	}
	c.args = more
	return c
}

// request returns the bytes of the whole request, for a connection that is used once.
func (c lostCall) request(t testing.TB) []byte {
	t.Helper()
	r := c.post(t)
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	var raw bytes.Buffer
	require.NoError(t, r.Write(&raw))
	return raw.Bytes()
}

func (c lostCall) post(t testing.TB) *http.Request {
	t.Helper()
	body, path := marshalled(t, c.args), "/v1/tools/"+c.tool
	if c.mcp {
		path = mcptool.Path + "/x/all"
		body = marshalled(t, args{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": args{
			"name": c.tool, "arguments": c.with("idempotency_key", c.key).args,
		}})
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+lostHost+path,
		io.NopCloser(bytes.NewReader(body)))
	require.NoError(t, err)
	r.ContentLength = int64(len(body))
	if c.mcp {
		r.Header.Set("MCP-Protocol-Version", "2025-06-18")
		return r
	}
	if c.key != "" {
		r.Header.Set("Idempotency-Key", c.key)
	}
	return r
}

// ask makes a call whose answer arrives.
func (s *stage) ask(t testing.TB, c lostCall) lineAnswer {
	t.Helper()
	return c.said(t, s.line.send(t, c.request(t), newWire(everything, everything)))
}

// said returns the envelope of an answer.
func (c lostCall) said(t testing.TB, a lineAnswer) lineAnswer {
	t.Helper()
	if len(a.body) == 0 {
		return lineAnswer{} // the client hung up before there was an answer
	}
	if !c.mcp || a.status != http.StatusOK {
		return a
	}
	var rpc struct {
		Result struct{ Content []struct{ Text string } }
	}
	require.NoError(t, json.Unmarshal(a.body, &rpc), "%s", a.body)
	require.Len(t, rpc.Result.Content, 1, "%s", a.body)
	a.body = json.RawMessage(rpc.Result.Content[0].Text)
	if code := tooltest.CodeOf(t, a.body); code != "" {
		a.status = http.StatusTeapot
	}
	return a
}

// must is ask for a call that must succeed.
func (s *stage) must(t testing.TB, c lostCall) lineAnswer {
	t.Helper()
	a := s.ask(t, c)
	require.True(t, a.ok(), "%s: %d %s", c.tool, a.status, a.body)
	return a
}

var (
	versions   = regexp.MustCompile(`v\d+`)
	tokenIDs   = regexp.MustCompile(`local_[A-Za-z0-9]+`)
	tokenTexts = regexp.MustCompile(`"token":(null|"rk_[^"]*")`)
	replayedIs = regexp.MustCompile(`"replayed":true,?`)
)

// same returns an answer without the parts in which two answers to one call may differ.
func same(body json.RawMessage) string {
	text := tokenTexts.ReplaceAllString(tooltest.Comparable(body), `"token":…`)
	return strings.ReplaceAll(replayedIs.ReplaceAllString(text, ""), ",}", "}")
}

// replayed reports whether an answer is a replay.
func replayed(body json.RawMessage) bool { return replayedIs.Match(body) }

// state returns everything that exists, sorted: how many commits the tenant and its vaults have,
// who made how many, and each readable note and event of these vaults. It does not say which commit
// made which, and the ids of new tokens are omitted.
func (s *stage) state(t testing.TB) []string {
	t.Helper()
	return stateOf(t, s.own(), s.prepared)
}

// stateOf returns the same as the caller sees it.
func stateOf(t testing.TB, inv tool.Invoker, s prepared) []string {
	t.Helper()
	all := []string{tooltest.Comparable(done(t, inv, "team_vault_list", args{"limit": 200}))}
	add := func(prefix string, raw json.RawMessage) {
		text := versions.ReplaceAllString(tooltest.Comparable(raw), "v")
		for _, id := range tokenIDs.FindAllString(text, -1) {
			if !s.has(id) {
				text = strings.ReplaceAll(text, id, "local_new")
			}
		}
		for _, part := range strings.FieldsFunc(text, punctuation) {
			all = append(all, prefix+" "+part)
		}
	}
	for _, name := range []string{"team_token_list", "team_member_list", "team_issuer_list"} {
		add(name, done(t, inv, name, args{"limit": 200}))
	}
	for _, v := range []string{"main", "fresh", "old", "quiet", "spare"} {
		raw, err := inv.Invoke(t.Context(), "team_vault_export", marshalled(t, args{"vault": v}))
		if err == nil {
			add(v, raw)
		}
	}
	slices.Sort(all)
	return all
}

func punctuation(r rune) bool { return strings.ContainsRune(",[]{}", r) }

// has reports whether a token existed at the beginning.
func (f prepared) has(id string) bool {
	return f.calls["team_token_revoke"]["id"] == id ||
		strings.Contains(f.admin, id) || strings.Contains(f.other, id)
}

package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// identifying are the arguments that name something: their values may be in answers to the same
// caller, and in the audit log. All other texts of every tool get a canary.
var identifying = []string{
	"vault", "vaults", "id", "path", "name", "type", "trait_type", "parent_type", "parent_id", "to", "target",
	"reference", "tool", "tools", "principal", "agent", "agent_id", "session", "subject", "issuer", "prefix",
	"template", "tag", "kind", "unset", "fields", "only", "idempotency_key", "client_id", "audience",
	"jwks_url", "roles_claim", "about", "file", "memory_id", "memory_ids", "source_id", "target_id", "chapter_id",
	"chapter_ids", "wisdom_id", "target_agent_id", "source", "destination", "types", "traits",
	"default_path", "name_field", "add_traits", "remove_traits",
	"nodeId", "nodeIds", "rootNodeId", "rootId", "aId", "bId", "propertyName", "rulesetId", "label",
	"parentNodeId", "payloadType", "fileName", "newParentId", "siblingId", "parentId", "byProp", "sourceId", "targetParentId",
	"snapshotId", "a", "b", "targetId",
}

// withCanaries returns a valid call of a tool with canaries in every text that can have one.
func withCanaries(t testing.TB, made *tool.Tool, dryRun bool) tooltest.Call {
	c := soundCall(t, made)
	for _, a := range made.Args {
		if v, ok := canaryFor(a.Name, a.Schema()); ok {
			c.Args[a.Name] = marshalled(t, v)
		}
	}
	if _, ok := made.Arg("dry_run"); ok && dryRun {
		c.Args["dry_run"] = json.RawMessage("true")
	}
	return c
}

// canaryFor returns a value of a schema with canaries in its texts; ok is false if no text of it
// can have one.
func canaryFor(name string, s *jsonschema.Schema) (v any, ok bool) {
	switch {
	case s == nil || len(s.Enum) > 0:
		return nil, false
	case s.Pattern != "" || slices.Contains(s.Types, "object"):
		return map[string]any{"name": leaktest.Field + " " + leaktest.Text}, true
	case s.Type == "array":
		v, ok = canaryFor(name, s.Items)
		return []any{v}, ok
	case s.Type == "object":
		return canaryObject(s)
	case s.Type != "string" || slices.Contains(identifying, name):
		return nil, false
	case name == "query":
		return leaktest.Query, true
	}
	return leaktest.Text + " " + leaktest.Field, true
}

// canaryObject returns an object with canaries in its texts.
func canaryObject(s *jsonschema.Schema) (v any, found bool) {
	object := map[string]any{}
	for name, property := range s.Properties {
		if value, ok := canaryFor(name, property); ok {
			object[name], found = value, true
		} else if slices.Contains(s.Required, name) {
			object[name] = plausible(property)
		}
	}
	return object, found
}

// unsound returns malformed calls, each with a canary in the malformed part.
func unsound(t testing.TB, made *tool.Tool) []tooltest.Call {
	var all []tooltest.Call
	for _, a := range made.Args {
		ids := a.Schema().Type == "string" || strings.HasSuffix(a.Name, "_ids") || a.Name == "types" || strings.HasSuffix(a.Name, "traits")
		if ids && len(a.Schema().Enum) == 0 && slices.Contains(identifying, a.Name) {
			continue
		}
		for _, v := range []any{leaktest.Text, []any{leaktest.Field}, map[string]any{"x": leaktest.Query}} {
			c := soundCall(t, made)
			c.Args[a.Name] = marshalled(t, v)
			all = append(all, c)
		}
	}
	c := soundCall(t, made)
	c.Args["nothing"] = marshalled(t, leaktest.Text)
	return append(all, c)
}

// TestNothingLeaks makes valid and invalid calls of every tool over every way in to a hosted
// server, with canaries in all texts, values and queries. No refusal, log line of the lowest level,
// metric, audit entry or row of the table of refusals contains a canary or a token.
func TestNothingLeaks(t *testing.T) {
	b := startFuzzedServer(t)
	admin := auth.LocalCaller()
	signed := &http.Client{Transport: bearer{b.token, http.DefaultTransport}}
	mcp := tooltest.NewMCPClient(b.base+mcptool.Path+"/x/all", signed)
	var refused atomic.Int64
	t.Run("ways", func(t *testing.T) {
		for _, way := range []tooltest.Way{
			tooltest.Invoking("http", b.client()),
			tooltest.Invoking("mcp", mcp),
			tooltest.Commands(b.app.Catalogue.Tools(), tooltest.InProcess(b.app.Catalogue, admin)),
			tooltest.Inputs(b.app.Catalogue.Tools(), tooltest.InProcess(b.app.Catalogue, admin)),
		} {
			t.Run(way.Name, func(t *testing.T) {
				t.Parallel()
				refused.Add(b.leaksNothing(t, way))
			})
		}
	})
	require.NoError(t, mcp.Close())
	require.Greater(t, refused.Load(), int64(500))
	for _, body := range []string{"{\"" + leaktest.Text, leaktest.Text, `["` + leaktest.Field + `"]`} {
		b.showMalformed(t, body)
	}
	b.requireTight(t)
}

// leaksNothing makes all calls over one way, and returns how many were refused.
func (b *fuzzedServer) leaksNothing(t testing.TB, way tooltest.Way) (refused int64) {
	t.Helper()
	for _, made := range b.app.Catalogue.Tools() {
		if way.Name == "cli" && made.Input != nil {
			continue // there it takes the path of a folder, which is told
		}
		for _, c := range append(unsound(t, made), withCanaries(t, made, true), withCanaries(t, made, false)) {
			if strings.HasPrefix(made.Name, "raven_schema_") && made.Kind.Mutates() && c.Args["dry_run"] == nil {
				c.Args["dry_run"] = json.RawMessage("true") // with another schema other titles would be part of paths
			}
			answer, carried := way.Call(t, c)
			if carried && tooltest.CodeOf(t, answer) != "" {
				leaktest.RequireNone(t, string(answer), "what "+made.Name+" answers over "+way.Name)
				refused++
			}
		}
	}
	return refused
}

// showMalformed posts a body that is not a JSON object to every tool, and to the endpoint of MCP.
func (b *fuzzedServer) showMalformed(t testing.TB, body string) {
	t.Helper()
	for _, made := range b.app.Catalogue.Tools() {
		b.show(t, "/v1/tools/"+made.Name, body, http.Header{"Authorization": {"Bearer " + b.token}})
	}
	b.show(t, mcptool.Path, body, http.Header{"Authorization": {"Bearer " + b.token}})
}

// show posts a body, and requires an answer that leaks nothing.
func (b *fuzzedServer) show(t testing.TB, path, body string, h http.Header) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, b.base+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header = h
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	told, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, answer.StatusCode, 500)
	var head bytes.Buffer
	require.NoError(t, answer.Header.Write(&head))
	leaktest.RequireNone(t, head.String()+string(told), "the answer to POST with "+strings.Join(
		slices.Sorted(maps.Keys(h)), ", "))
}

// TestNoTokenLeaks sends valid, revoked and malformed tokens in the right and in wrong places: no
// output contains one.
func TestNoTokenLeaks(t *testing.T) {
	b := startFuzzedServer(t)
	jwt := "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbGljZSIsImlzcyI6IngifQ.c2lnbmF0dXJl"
	for _, token := range []string{
		b.token, b.token + "x", b.token[:len(b.token)-4], strings.ToUpper(b.token),
		"rk_nobody_" + strings.SplitN(b.token, "_", 3)[2], jwt,
	} {
		for _, h := range []http.Header{
			{"Authorization": {"Bearer " + token}}, {"Authorization": {token}},
			{"Authorization": {"Basic " + token}}, {"Authorization": {"Bearer " + token, "Bearer x"}},
			{"X-Api-Key": {token}}, {"Cookie": {"token=" + token}}, {"X-Request-Id": {token}},
			{"X-Agent-Id": {token}}, {"X-Session-Id": {token}}, {"Idempotency-Key": {token}},
			{"If-Match": {`"` + token + `"`}}, {"Origin": {"https://" + token}}, {"X-Readonly": {token}},
			{"X-Mcp-Toolsets": {token}}, {"X-Mcp-Tools": {token}}, {"Mcp-Session-Id": {token}},
			{"User-Agent": {token}}, {"Referer": {token}}, {"Content-Encoding": {token}},
		} {
			b.showAll(t, token, h)
		}
	}
	b.requireTight(t)
}

// showAll sends a token in headers, paths, queries and bodies, with and without a valid one.
func (b *fuzzedServer) showAll(t testing.TB, token string, h http.Header) {
	t.Helper()
	add := `{"vault":"main","text":"x","to":"inbox"}`
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raven_add","arguments":` +
		add + `}}`
	for _, beside := range []bool{false, true} {
		own := h.Clone()
		if beside && own.Get("Authorization") == "" {
			own.Set("Authorization", "Bearer "+b.token)
		}
		b.show(t, "/v1/tools/raven_add", add, own)
		b.show(t, "/v1/tools/"+token, add, own)
		b.show(t, "/v1/vaults/"+token+"/files/add?access_token="+token, `{"text":"x"}`, own)
		b.show(t, "/v1/tools/raven_add", `{"`+token+`":1,"`+"text"+`":"x"}`, own)
		b.show(t, mcptool.Path+"/x/all?access_token="+token, message, own)
		b.show(t, mcptool.Path+"/x/"+token, message, own)
		b.show(t, mcptool.Path+"/x/all", strings.ReplaceAll(message, "raven_add", token), own)
	}
}

// requireTight requires that the log, the metrics, the audit log, the table of refusals and the
// address file of the server contain neither a canary nor a token.
func (b *fuzzedServer) requireTight(t testing.TB) {
	t.Helper()
	leaktest.RequireNone(t, b.logs.String(), "the log")
	leaktest.RequireNone(t, b.measured(t), "the metrics")
	entries := 0
	for token := ""; ; {
		in := map[string]any{"limit": 200}
		if token != "" {
			in["page_token"] = token
		}
		var page struct {
			Data struct{ Entries []json.RawMessage }
			Meta struct {
				Next string `json:"next_page_token"`
			}
		}
		answer := done(t, b.client(), "team_audit", in)
		require.NoError(t, json.Unmarshal(answer, &page))
		for _, entry := range page.Data.Entries {
			leaktest.RequireNone(t, string(entry), "the audit")
			entries++
		}
		if token = page.Meta.Next; token == "" {
			break
		}
	}
	require.NotZero(t, entries)
	b.closed = append(b.closed, func() { b.requireTightTable(t) })
}

// requireTightTable requires the same of the database: the rows of refusals contain none, and no
// row contains the secret of a token.
func (b *fuzzedServer) requireTightTable(t testing.TB) {
	path := filepath.Join(b.dir, "rookery.db")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	_, secret, _ := strings.Cut(b.token, ".")
	require.NotContains(t, string(data), secret)
	db, err := bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	kept := 0
	for item, err := range table.Sub(db, auth.Local).Query(context.Background(), "refusals", "", "~") {
		require.NoError(t, err)
		leaktest.RequireNone(t, item.Sort+string(item.Data), "a refusal that is kept")
		kept++
	}
	require.NotZero(t, kept, "refusals are kept")
}

package functions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/awsapp"
	"rookery/internal/awstest"
	"rookery/internal/bolttable"
	"rookery/internal/canary"
	"rookery/internal/config"
	"rookery/internal/fileblob"
	"rookery/internal/hosted"
	"rookery/internal/httptool"
	"rookery/internal/lambdahost"
	"rookery/internal/mcptool"
	"rookery/internal/tool"
	"rookery/internal/tooltest"
)

// rates are high enough for tests.
const rates = 100_000

// A cloud is the functions as processes behind a gateway, over a table and a bucket of the emulators.
type cloud struct {
	url    string
	open   string // the URL of a proxy that adds the token
	token  string
	hosts  map[string]*lambdahost.Host // by function
	output *buffer                     // of all processes
}

// A buffer is written to by several at once.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newCloud starts a cloud with the tenant acme. Without emulators the test is skipped.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	emulators := awstest.Start(t)
	server := httptest.NewUnstartedServer(nil)
	c := &cloud{
		url: "http://" + server.Listener.Addr().String(), output: &buffer{}, hosts: map[string]*lambdahost.Host{},
	}
	env := []string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_ENDPOINT_URL=" + *emulators.AWS(t, nil).BaseEndpoint,
		"AWS_ENDPOINT_URL_DYNAMODB=" + *emulators.DynamoDB(nil).BaseEndpoint,
		"ROOKERY_TABLE=" + emulators.Table(t), "ROOKERY_BUCKET=" + emulators.Bucket(t), "ROOKERY_PUBLIC_URL=" + c.url,
		"ROOKERY_LOG_LEVEL=debug", fmt.Sprintf("ROOKERY_LIMITS_MUTATIONS_PER_MINUTE=%d", rates),
		fmt.Sprintf("ROOKERY_LIMITS_READS_PER_MINUTE=%d", rates),
	}
	for _, name := range names(t) {
		c.hosts[name] = lambdahost.Start(t.Context(), lambdahost.Function{
			Binary: program(t, name, ""), Env: env, Name: name, Freezes: true, Output: c.output,
		})
		t.Cleanup(c.hosts[name].Close)
	}
	server.Config.Handler = c.gateway(t)
	c.start(t, server)
	made, err := c.hosts["mcp"].Invoke(t.Context(),
		[]byte(`{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`))
	require.NoError(t, err, c.output)
	var first struct{ Token string }
	require.NoError(t, json.Unmarshal(made, &first))
	c.token = first.Token
	return c
}

// start starts the server of a cloud, and a proxy before it that adds the token to each request.
func (c *cloud) start(t testing.TB, server *httptest.Server) {
	t.Helper()
	server.Start()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Host = strings.TrimPrefix(c.url, "http://")
		server.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	c.open = proxy.URL
}

// catalogue are the tools of the product.
func catalogue(t testing.TB) *tool.Catalogue {
	t.Helper()
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	require.NoError(t, err)
	return cat
}

// ways are the ways in to a cloud.
func (c *cloud) ways(t testing.TB) []tooltest.Way {
	t.Helper()
	signed := &http.Client{Transport: bearer(c.token)}
	return []tooltest.Way{
		tooltest.Routes(catalogue(t), c.open), tooltest.Invoking("by name", c.invoker()),
		tooltest.Invoking("mcp", mcptool.NewClient(c.url+mcptool.Path+"/x/all", signed)),
	}
}

// gateway is an HTTP API with the routes of the functions.
func (c *cloud) gateway(t testing.TB) http.Handler {
	t.Helper()
	routes := map[string]lambdahost.Invoker{"$default": c.hosts["mcp"]}
	for _, r := range awsapp.Routes(catalogue(t)) {
		require.NotNil(t, c.hosts[r.Family], r.Family)
		routes[r.Pattern] = c.hosts[r.Family]
	}
	g, err := lambdahost.NewGateway(routes)
	require.NoError(t, err)
	return g
}

// invoker calls tools over HTTP by their names.
func (c *cloud) invoker() tool.Invoker { return &httptool.Client{Base: c.url, Token: c.token} }

// ours is a server of this process with the same product over stores of files.
func ours(t *testing.T) *cloud {
	t.Helper()
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	server := httptest.NewUnstartedServer(nil)
	c := &cloud{url: "http://" + server.Listener.Addr().String()}
	a, err := awsapp.New(awsapp.Options{
		Server: config.Config{
			PublicURL: c.url, Limits: config.Limits{MutationsPerMinute: rates, ReadsPerMinute: rates},
		},
		Table: db, Bucket: files,
	})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	server.Config.Handler = a.Handler()
	c.start(t, server)
	made, err := a.Invoke(t.Context(),
		[]byte(`{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`))
	require.NoError(t, err)
	var first struct{ Token string }
	require.NoError(t, json.Unmarshal(made, &first))
	c.token = first.Token
	return c
}

// story are calls that people and agents make, in order. Some fail.
var story = []struct{ tool, args string }{
	{"team_vault_create", `{"name":"main"}`},
	{"team_vault_create", `{"name":"main"}`},
	{"team_vault_import", `{"vault":"main","notes":[{"path":"inbox.md","text":"# Inbox\n"},{"path":"schema.yaml",` +
		`"text":"types:\n  person:\n    default_path: people/\n    name_field: name\n    fields:\n      name: {type: string}\n` +
		`      role: {type: string}\ntraits:\n  due:\n    type: date\n"}]}`},
	{"raven_schema", `{"vault":"main"}`},
	{"raven_new", `{"vault":"main","type":"person","title":"Freya & <co>","fields":{"role":"Æ 日本"}}`},
	{"raven_object_get", `{"vault":"main","id":"people/freya-co"}`},
	{"raven_object_get", `{"vault":"main","id":"people/freya"}`},
	{"raven_object_get", `{"vault":"main","id":"100%/a b+c#d"}`},
	{"raven_set", `{"vault":"main","id":"people/freya-co","set":{"role":"smith"},"idempotency_key":"k,1"}`},
	{"raven_set", `{"vault":"main","id":"people/freya-co","set":{"role":"smith"},"idempotency_key":"k,1"}`},
	{"raven_set", `{"vault":"main","id":"people/freya-co","set":{"nothing":"x"},"if_version":"v1"}`},
	{"raven_add", `{"vault":"main","to":"inbox","text":"- @due(2026-12-01) call [[people/freya-co]]"}`},
	{"raven_trait_list", `{"vault":"main","trait_type":"due"}`},
	{"raven_search", `{"vault":"main","query":"call"}`},
	{"raven_search", `{"vault":"main","query":""}`},
	{"raven_backlinks", `{"vault":"main","target":"people/freya-co"}`},
	{"raven_edit", `{"vault":"main","id":"inbox","old_str":"call","new_str":"ring"}`},
	{"raven_read", `{"vault":"main","path":"inbox.md"}`},
	{"raven_read", `{"vault":"main","path":"no/such note.md"}`},
	{"raven_history", `{"vault":"main","id":"inbox"}`},
	{"raven_undo", `{"vault":"main","version":"v6"}`},
	{"raven_delete", `{"vault":"main","id":"people/freya-co","force":true}`},
	{"raven_stats", `{"vault":"main"}`},
	{"vault_overview", `{"vault":"main"}`},
	{"vault_tree", `{"vault":"main","depth":3,"limit":2,"directOnly":true}`},
	{"vault_tags", `{"vault":"main","limit":201}`},
	{"vault_facets", `{"vault":"main"}`},
	{"team_vault_export", `{"vault":"main"}`},
	{"team_vault_list", `{}`},
	{"team_audit_verify", `{"vault":"main"}`},
	{"team_whoami", `{"nothing":1}`},
	{"raven_nothing", `{}`},
}

// TestTheSameAnswers covers that the functions behind the gateway answer as a server does: by routes, by the names of
// tools and over MCP, with the gateway's own manners between.
func TestTheSameAnswers(t *testing.T) {
	far, near := newCloud(t), ours(t)
	theirs, own := far.ways(t), near.ways(t)
	carried := 0
	for _, step := range story {
		for i, way := range theirs {
			call := tooltest.NewCall(t, step.tool, step.args)
			got, did := way.Call(t, call)
			want, could := own[i].Call(t, call)
			require.Equal(t, could, did, "%s over %s", step.tool, way.Name)
			if did {
				carried++
				require.Equal(t, near.comparable(want), far.comparable(got), "%s %s over %s", step.tool, step.args, way.Name)
			}
		}
	}
	require.Greater(t, carried, 2*len(story))
	for _, path := range []string{
		"/docs", "/openapi.json", "/healthz", "/readyz", "/nowhere", "/v1/vaults/main/nowhere", "/v1/whoami/x",
		"/.well-known/oauth-protected-resource", "/v1/vaults/main/objects/a%2Fb%23c?depth=9", "/v1/vaults/main/stats",
	} {
		status, text := get(t, far, path)
		wanted, want := get(t, near, path)
		require.Equal(t, wanted, status, path)
		require.Equal(t, want, text, path)
	}
}

// comparable is an answer without what differs, and without the id of the token.
func (c *cloud) comparable(answer json.RawMessage) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(c.token, "rk_acme_"), ".")
	return times.ReplaceAllString(strings.ReplaceAll(tooltest.Comparable(answer), id, "ID"), "TIME")
}

// times are those at which something was done: the two clouds do it one after the other.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// get is what a path answers: its status and its comparable body.
func get(t testing.TB, c *cloud, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: bearer(c.token)}).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	require.NoError(t, err)
	body = strings.ReplaceAll(text.String(), c.url, "URL")
	if json.Valid(text.Bytes()) {
		body = tooltest.Comparable(json.RawMessage(body))
	}
	if path == "/docs" || path == "/openapi.json" { // the version of the program is in them
		body = fmt.Sprint(len(body) > 10_000)
	}
	return resp.StatusCode, body
}

// A bearer shows a token with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// furnish makes the vault main with an empty inbox.
func (c *cloud) furnish(t testing.TB) {
	t.Helper()
	for _, step := range story[:3] {
		_, err := c.invoker().Invoke(t.Context(), step.tool, json.RawMessage(step.args))
		if step != story[1] {
			require.NoError(t, err)
		}
	}
}

// TestNothingLeaks covers what the processes write, at their lowest level: nothing of what a request says.
func TestNothingLeaks(t *testing.T) {
	c := newCloud(t)
	c.furnish(t)
	all := canary.Text + " " + canary.Field + " " + canary.Query
	args, err := tool.Marshal(map[string]any{"vault": "main", "to": "inbox", "text": all, "idempotency_key": all})
	require.NoError(t, err)
	_, err = c.invoker().Invoke(t.Context(), "raven_add", args)
	require.NoError(t, err)
	for _, path := range []string{
		"/v1/vaults/main/objects/" + all, "/v1/vaults/main/object-search?query=" + all, "/" + all, "/mcp/" + all,
		"/v1/tools/" + all, "/v1/vaults/main/objects/%25zz?" + all + "=%zz",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH"} {
			r, err := http.NewRequestWithContext(t.Context(), method,
				c.url+strings.ReplaceAll(path, " ", "%20"), strings.NewReader(`{"x":"`+all+`"}`))
			require.NoError(t, err)
			for _, name := range []string{"X-Agent-Id", "X-Session-Id", "If-Match", "Idempotency-Key", "X-Other", "Cookie"} {
				r.Header.Set(name, all)
			}
			resp, err := (&http.Client{Transport: bearer(c.token)}).Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
	}
	require.NotEmpty(t, c.output.String())
	canary.Absent(t, c.output.String(), "the output of the functions")
}

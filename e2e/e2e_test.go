// Package e2e runs scripts that a person can read, e2e/testdata/*.txtar, over every way to call the product: in
// process, over HTTP, over MCP and through the functions of AWS Lambda, on embedded stores and on those of an
// emulated AWS. All ways run the same scripts.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/lambdahost"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(cloudtest.Main(m)) }

// A way calls the product, on stores of its own, which are empty.
type way struct {
	name string
	open func(t *testing.T) tool.Invoker
}

// ways are all of them. The functions have no embedded stores: they know those of AWS only.
func ways() []way {
	return []way{
		{"embedded/in process", inProcess},
		{"embedded/HTTP", overHTTP},
		{"embedded/MCP", overMCP},
		{"AWS/in process", inProcessOnAWS},
		{"AWS/HTTP", func(t *testing.T) tool.Invoker { return overRoutes(t, onAWS(t)) }},
		{"AWS/MCP", func(t *testing.T) tool.Invoker {
			s := onAWS(t)
			return mcp(t, s.url, s.token)
		}},
		{"AWS/functions", functions},
		{"AWS/functions over MCP", functionsOverMCP},
	}
}

// TestScripts runs all scripts over all ways. In a script `call TOOL [JSON]` calls a tool, which must succeed,
// and has the envelope as its output; `fails CODE TOOL [JSON]` requires that the call is refused with the code.
// A call makes the variables $VERSION and $ID of what it answers.
func TestScripts(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			invoker := w.open(t)
			scripts := 0
			testscript.Run(t, testscript.Params{
				Dir: "testdata", RequireUniqueNames: true,
				Setup: func(env *testscript.Env) error {
					scripts++ // each has a vault of its own
					name := fmt.Sprintf("v%d", scripts)
					env.Setenv("VAULT", name)
					_, err := invoker.Invoke(t.Context(), "team_vault_create", json.RawMessage(`{"name":"`+name+`"}`))
					return err
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"call":  func(ts *testscript.TestScript, _ bool, args []string) { call(ts, invoker, args) },
					"fails": func(ts *testscript.TestScript, _ bool, args []string) { fails(ts, invoker, args) },
				},
			})
		})
	}
}

// A result is what scripts use of an envelope.
type result struct {
	OK   bool
	Data struct {
		ID     string
		Object struct{ ID string }
	}
	Error struct{ Code string }
	Meta  struct{ Version string }
}

// asked makes the call of a script, in its vault if it names none.
func asked(ts *testscript.TestScript, invoker tool.Invoker, args []string) (result, error) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: call TOOL [JSON]")
	}
	in := map[string]any{}
	if len(args) == 2 {
		ts.Check(json.Unmarshal([]byte(args[1]), &in))
	}
	if _, ok := in["vault"]; !ok && !strings.HasPrefix(args[0], "team_") {
		in["vault"] = ts.Getenv("VAULT")
	}
	raw, err := tool.Marshal(in)
	ts.Check(err)
	answer, failed := invoker.Invoke(context.Background(), args[0], raw)
	var r result
	if err := json.Unmarshal(answer, &r); err != nil {
		ts.Fatalf("%s: the answer is no envelope: %v, %v", args[0], err, failed)
	}
	_, err = ts.Stdout().Write(append(answer, '\n'))
	ts.Check(err)
	if r.Meta.Version != "" {
		ts.Setenv("VERSION", r.Meta.Version)
	}
	if id := r.Data.ID + r.Data.Object.ID; id != "" {
		ts.Setenv("ID", r.Data.Object.ID)
		if r.Data.ID != "" {
			ts.Setenv("ID", r.Data.ID)
		}
	}
	return r, failed
}

func call(ts *testscript.TestScript, invoker tool.Invoker, args []string) {
	if r, err := asked(ts, invoker, args); err != nil || !r.OK {
		ts.Fatalf("%s: %s: %v", args[0], r.Error.Code, err)
	}
}

func fails(ts *testscript.TestScript, invoker tool.Invoker, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fails CODE TOOL [JSON]")
	}
	if r, _ := asked(ts, invoker, args[1:]); r.OK || r.Error.Code != args[0] {
		ts.Fatalf("%s: %s, not %s", args[1], r.Error.Code, args[0])
	}
}

// inProcess is the package at the root of the module.
func inProcess(t *testing.T) tool.Invoker {
	r, err := rookery.Open(t.Context(), rookery.Config{Data: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// A site is a server, and a token of its administrator; empty: it asks for none.
type site struct{ url, token string }

// local is a server on a data directory.
func local(t *testing.T) site {
	t.Helper()
	app, err := localapp.Open(t.Context(), localapp.Config{Data: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	server := httptest.NewServer(app.Handler("test", nil))
	t.Cleanup(server.Close)
	return site{url: server.URL}
}

func overHTTP(t *testing.T) tool.Invoker { return overRoutes(t, local(t)) }

func overMCP(t *testing.T) tool.Invoker { return mcp(t, local(t).url, "") }

// overRoutes is the client of HTTP.
func overRoutes(_ *testing.T, s site) tool.Invoker {
	return &httptool.Client{Base: s.url, Token: s.token}
}

// mcp is a client of MCP.
func mcp(t *testing.T, url, token string) tool.Invoker {
	t.Helper()
	client := http.DefaultClient
	if token != "" {
		client = &http.Client{Transport: cloudtest.Bearer(token)}
	}
	c := tooltest.NewMCPClient(url+mcptool.Path+"/x/all", client)
	t.Cleanup(func() { _ = c.Close() }) // its server is about to go, too
	return c
}

// app is a function in this process, on stores of its own.
func app(t *testing.T, url string) *awsapp.App {
	t.Helper()
	b := awstest.Start(t)
	a, err := awsapp.New(awsapp.Options{
		Server: config.Config{PublicURL: url, Limits: config.Limits{MutationsPerMinute: 10000, ReadsPerMinute: 10000}},
		Table:  dynamotable.New(b.DynamoDB(nil), b.Table(t), dynamotable.Options{Attempt: time.Minute}),
		Bucket: s3blob.New(b.AWS(t, nil), b.Bucket(t), s3blob.Options{Attempt: time.Minute}), Memory: 512 << 20,
	})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// token makes the first token.
func token(t *testing.T, a *awsapp.App) string {
	t.Helper()
	const event = `{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`
	answer, err := a.Invoke(t.Context(), []byte(event))
	require.NoError(t, err)
	var made struct{ Token string }
	require.NoError(t, json.Unmarshal(answer, &made))
	return made.Token
}

// A direct invoker calls the handler of a function without a network.
type direct struct {
	handler http.Handler
	token   string
}

// Invoke implements tool.Invoker.
func (d direct) Invoke(ctx context.Context, name string, in json.RawMessage) (json.RawMessage, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, publicURL+"/v1/tools/"+name, bytes.NewReader(in))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+d.token)
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return w.Body.Bytes(), fmt.Errorf("the answer is %d", w.Code)
	}
	return w.Body.Bytes(), nil
}

const publicURL = "https://notes.example.test"

func inProcessOnAWS(t *testing.T) tool.Invoker {
	a := app(t, publicURL)
	return direct{a.Handler(), token(t, a)}
}

// onAWS is a function in this process behind the gateway.
func onAWS(t *testing.T) site {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	a := app(t, url)
	gateway, err := lambdahost.NewGateway(map[string]lambdahost.Invoker{"$default": a})
	require.NoError(t, err)
	server.Config.Handler = gateway
	server.Start()
	t.Cleanup(server.Close)
	return site{url, token(t, a)}
}

// functions are the real programs behind the gateway.
func functions(t *testing.T) tool.Invoker {
	d := cloudtest.Deploy(t, cloudtest.Options{Stores: cloudtest.NewStores(t)})
	return d.Client(d.Token(t, "acme"))
}

func functionsOverMCP(t *testing.T) tool.Invoker {
	d := cloudtest.Deploy(t, cloudtest.Options{Stores: cloudtest.NewStores(t)})
	return mcp(t, d.URL, d.Token(t, "acme"))
}

// TestScriptsAreReadable requires that each script says what it is about, in its first line.
func TestScriptsAreReadable(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		text, err := os.ReadFile("testdata/" + e.Name())
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(`\A# [A-Z]`), string(text), e.Name())
	}
}

package localapp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// What the crowd calls: a tenant with so many vaults, at an address that the server is known by.
const (
	loadTenant = "acme"
	loadVaults = 4
	loadURL    = "https://memory.example.test"
)

const loadSchema = `version: 1
types:
  item:
    default_path: items/
    name_field: title
    fields:
      title: { type: string }
      value: { type: string }
`

// A crowd is all clients of the load, with their observations. It outlives the servers that it
// calls.
type crowd struct {
	dir      string
	issuer   *authtest.Issuer
	visitors []*visitor
	seen     sightings
	log      errorLines
	flown    []string // words of calls in flight, which were answered
}

// newCrowd creates the clients, without tokens: of each five, one is the eager agent, two have a
// token of the issuer, each as another person, and two an API token, each as another agent.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{dir: t.TempDir(), issuer: authtest.NewIssuer(t, "RS256")}
	for id := range loadClients {
		v := &visitor{
			met: make(chan struct{}),
			id:  id, vault: fmt.Sprintf("v%d", id%loadVaults), mcp: id%2 == 1, writes: 25,
			rng: rand.New(rand.NewPCG(7, uint64(id))), seen: &c.seen, value: "none",
		}
		if id%5 == 0 {
			v.agent, v.writes = "eager", 50
		}
		c.visitors = append(c.visitors, v)
	}
	return c
}

// config returns the configuration of the server, with a limit of concurrent calls. An agent may
// make 60 calls of each kind at once, and then one in two seconds: more than one client makes, and
// less than the eager agent does.
func (c *crowd) config(room int) config.Config {
	return config.Config{
		PublicURL: loadURL, Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0", MaxCalls: room,
		Limits: config.Limits{MutationsPerMinute: 30, ReadsPerMinute: 30},
		Issuers: []config.Issuer{{
			Issuer: c.issuer.URL, JWKSURL: c.issuer.JWKS, Algorithms: []string{"RS256"},
			Tenant: loadTenant, Role: auth.Editor,
		}},
		FirstAdmins: []config.Admin{{Issuer: c.issuer.URL, Subject: "root", Tenant: loadTenant}},
	}
}

// person returns a token of the issuer.
func (c *crowd) person(subject string) string {
	return c.issuer.Sign(c.issuer.Claims(subject, loadURL))
}

func (c *crowd) root() string { return c.person("root") }

// A site is one server on the crowd's data.
type site struct {
	addr      string
	stop      func()
	stopped   <-chan struct{} // closed when it has been told to stop
	transport *http.Transport

	app  *localapp.App
	done chan error
}

// open starts a server.
func (c *crowd) open(t *testing.T, room int) *site {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Data: c.dir, Server: c.config(room), Log: slog.New(slog.NewJSONHandler(&c.log, nil)),
	})
	require.NoError(t, err)
	l, err := app.Listen(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	s := &site{
		addr: l.Addr().String(), stop: stop, stopped: ctx.Done(), app: app, done: make(chan error, 1),
		transport: &http.Transport{MaxIdleConnsPerHost: loadClients},
	}
	go func() { s.done <- app.Serve(ctx, l, "test") }()
	return s
}

// requireStopped waits until the server has finished its calls and closed the data directory.
func (s *site) requireStopped(t *testing.T) {
	t.Helper()
	require.NoError(t, <-s.done)
	s.transport.CloseIdleConnections()
	require.NoError(t, s.app.Close())
}

// invoker returns an Invoker that calls the site by one of its protocols, with a token.
func (s *site) invoker(v *visitor) tool.Invoker {
	v.overload = 0
	h := &http.Client{Transport: &spy{v: v, next: s.transport}}
	if v.mcp {
		return tooltest.NewMCPClient("http://"+s.addr+mcptool.Path+"/x/all", h)
	}
	return &httptool.Client{Base: "http://" + s.addr, HTTP: h}
}

// settle creates the vaults, with a note for each client, and the API tokens.
func (c *crowd) settle(t *testing.T, s *site) {
	t.Helper()
	root := &visitor{token: c.root(), seen: &c.seen}
	via := s.invoker(root)
	for n := range loadVaults {
		name := fmt.Sprintf("v%d", n)
		files := map[string]string{"schema.yaml": loadSchema, "log.md": "# Log\n"}
		for _, v := range c.visitors {
			if v.vault == name {
				files[v.own()+".md"] = "---\ntype: item\ntitle: Own\nvalue: none\n---\n"
			}
		}
		must(t, via, "team_vault_create", args{"name": name})
		must(t, via, "team_vault_import", args{"vault": name, "mode": "replace", "notes": listOf(files)})
	}
	var tokens []string
	for n := range 8 {
		a := must(t, via, "team_token_create",
			args{"name": fmt.Sprintf("agents %d", n), "role": "editor"})
		tokens = append(tokens, into[struct{ Token string }](t, a).Token)
	}
	for _, v := range c.visitors {
		switch v.id % 5 {
		case 0:
			v.token = tokens[0]
		case 1, 2:
			v.token = c.person(fmt.Sprintf("person-%d", v.id))
		default:
			v.token, v.agent = tokens[v.id%len(tokens)], fmt.Sprintf("agent-%d", v.id)
		}
	}
}

// call lets all clients call the site until it stops. The function that it returns waits for them.
func (c *crowd) call(t *testing.T, s *site) func() {
	t.Helper()
	failed := make(chan error, loadClients)
	for _, v := range c.visitors {
		via := s.invoker(v)
		go func() {
			err := v.visit(t.Context(), via, s.stopped)
			if closer, ok := via.(interface{ Close() error }); ok {
				_ = closer.Close() // the server has gone, and may not hear of it
			}
			failed <- err
		}()
	}
	return func() {
		t.Helper()
		for range c.visitors {
			require.NoError(t, <-failed)
		}
		s.transport.CloseIdleConnections()
	}
}

// An errorLines records the errors that the server logs.
type errorLines struct {
	mu    sync.Mutex
	lines []string
}

// Write records one line.
func (e *errorLines) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lines = append(e.lines, string(line))
	}
	return len(line), nil
}

// requireQuiet requires that the server has neither logged nor sent an error of its own.
func (c *crowd) requireQuiet(t *testing.T) {
	t.Helper()
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	require.Empty(t, c.log.lines)
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	t.Logf("answers by code: %v; by status: %v", c.seen.codes, c.seen.statuses)
	require.Empty(t, c.seen.bad)
}

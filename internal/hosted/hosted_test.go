package hosted_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/memory"
	"github.com/rookeryhq/rookery/internal/tools/orient"
	"github.com/rookeryhq/rookery/internal/tools/raven"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
)

// stores returns the tenants of a deployment with new stores, and the table of each.
func stores(t *testing.T) (*tenant.Registry, func(context.Context, string) (table.Table, error)) {
	t.Helper()
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	teams := tenant.NewRegistry(tenant.Options{
		Table: db, Bucket: files, Texts: repo.NewTexts(1 << 20), Now: clock, Log: discard,
	})
	t.Cleanup(teams.Close)
	require.NoError(t, teams.Make(t.Context(), auth.Local))
	return teams, func(_ context.Context, tenant string) (table.Table, error) {
		return table.Sub(db, tenant), nil
	}
}

// compose returns a Host with new stores.
func compose(t *testing.T, o hosted.Options) *hosted.Host {
	t.Helper()
	o.Teams, o.Tables = stores(t)
	h, err := hosted.New(o)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

// noted returns an interceptor that adds a word to a list.
func noted(list *[]string, word string) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			*list = append(*list, word)
			return next(ctx, c)
		}
	}
}

// TestOrder checks that a call without permission reaches the interceptors before the authorization
// and none after it, and that a read-only deployment refuses a mutation there.
func TestOrder(t *testing.T) {
	var seen []string
	h := compose(t, hosted.Options{
		Outer: []tool.Interceptor{noted(&seen, "outer")}, Inner: []tool.Interceptor{noted(&seen, "inner")},
	})
	call := func(h *hosted.Host, c auth.Caller, name, args string) error {
		seen = nil
		_, err := h.Catalogue.Invoke(auth.WithCaller(t.Context(), c), name, json.RawMessage(args))
		return err
	}
	require.NoError(t, call(h, auth.LocalCaller(), "team_vault_create", `{"name":"main"}`))
	require.Equal(t, []string{"outer", "inner"}, seen)
	stranger := auth.Caller{Tenant: auth.Local, Principal: "user:stranger"}
	require.Error(t, call(h, stranger, "team_vault_create", `{"name":"other"}`))
	require.Equal(t, []string{"outer"}, seen)

	readOnly := compose(t, hosted.Options{ReadOnly: true, Inner: []tool.Interceptor{noted(&seen, "inner")}})
	err := call(readOnly, auth.LocalCaller(), "team_vault_create", `{"name":"main"}`)
	require.True(t, fault.Is(err, fault.ReadOnly), err)
	require.Empty(t, seen)
}

// TestBehindAGateway covers requests from a gateway: from another machine and without TLS, which
// the gateway has terminated. They are accepted if Peer accepts them, and only with a token.
func TestBehindAGateway(t *testing.T) {
	trusted := func(*http.Request) *fault.Fault { return nil }
	for name, c := range map[string]struct {
		closed bool
		peer   func(*http.Request) *fault.Fault
		status int
	}{
		"a gateway":          {true, trusted, http.StatusUnauthorized},
		"none":               {true, nil, http.StatusForbidden},
		"none, without auth": {false, nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			h := compose(t, hosted.Options{Closed: c.closed})
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "http://notes.example.test/v1/whoami", nil)
			r.RemoteAddr = "203.0.113.9:0"
			h.Handler(hosted.Serving{Hosts: []string{"notes.example.test"}, Peer: c.peer}).ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code, w.Body)
		})
	}
	open := compose(t, hosted.Options{})
	require.Panics(t, func() { open.Handler(hosted.Serving{Peer: trusted}) })
}

// TestOnly checks that a handler of one family serves its routes and nothing else.
func TestOnly(t *testing.T) {
	h := compose(t, hosted.Options{Closed: true})
	for _, family := range []*tool.Family{orient.Family, raven.Family, memory.Family, teamtools.Family} {
		handler := h.Handler(hosted.Serving{Hosts: []string{"x"}, Only: []*tool.Family{family}, Peer: local})
		ask := func(method, path string) int {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, "http://x"+path, strings.NewReader("{}"))
			r.Header.Set("Content-Type", "application/json")
			handler.ServeHTTP(w, r)
			return w.Code
		}
		for _, made := range h.Catalogue.Tools() {
			path := strings.NewReplacer("{", "", "}", "").Replace(made.Path())
			status := ask("OPTIONS", path)
			require.Equal(t, made.Family == family, status == http.StatusMethodNotAllowed, "%s: %d", made.Name, status)
		}
		for _, path := range []string{"/docs", "/openapi.json", "/healthz", "/readyz", "/mcp", "/v1/tools/raven_stats",
			"/.well-known/oauth-protected-resource"} {
			require.Equal(t, http.StatusNotFound, ask("GET", path), path)
			require.Equal(t, http.StatusNotFound, ask("POST", path), path)
		}
	}
}

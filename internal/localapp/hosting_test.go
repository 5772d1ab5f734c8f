package localapp_test

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestServerThatCannotStart checks that a certificate that cannot be read, and an address of the
// metrics that is in use, are errors before the server is announced, the latter with the option to
// change.
func TestServerThatCannotStart(t *testing.T) {
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir(), Server: config.Config{
			Listen: "127.0.0.1:0", TLS: config.TLS{Cert: "no.pem", Key: "no.key"},
		}})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	_, err = app.Listen(t.Context())
	require.True(t, fault.Is(err, fault.InvalidParameter), "%v", err)
	require.ErrorContains(t, err, "tls.cert: no.pem")

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	other, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir(), Server: config.Config{
			Listen: "127.0.0.1:0", MetricsListen: taken.Addr().String(),
		}})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	_, err = other.Listen(t.Context())
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Contains(t, fault.Of(err).Fixes[0], "metrics_listen: ")
}

// TestWhatClaimsAnAgent checks that an agent becomes that of the principal that changes something
// with it: a plan, a malformed call and a call over the rate claim nothing.
func TestWhatClaimsAnAgent(t *testing.T) {
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir(), Server: config.Config{
			Issuers: []config.Issuer{{Issuer: "https://login.example.test", Tenant: "acme"}},
			Limits:  config.Limits{MutationsPerMinute: 1, ReadsPerMinute: 60},
		}})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	as := func(name, agent, args string, want fault.Code) {
		t.Helper()
		c := auth.Caller{Tenant: "acme", Principal: auth.User("https://login.example.test", name),
			Agent: agent, Session: auth.DefaultSession, Roles: map[string]auth.Role{"*": auth.Admin}}
		_, err := tooltest.As(app.Catalogue, c).Invoke(t.Context(), "team_vault_create",
			json.RawMessage(args))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.True(t, fault.Is(err, want), "%v", err)
	}
	as("ada", "planner", `{"name":"a","dry_run":true}`, "")
	as("bob", "planner", `{"name":"b"}`, "")
	as("ada", "planner", `{"name":"a"}`, fault.PermissionDenied)
	as("ada", "reviewer", `{"name":`, fault.InvalidParameter)
	as("ada", "reviewer", `{"name":"a","dry_run":true}`, "")
	as("ada", "reviewer", `{"name":"c"}`, fault.RateLimited)
	as("cy", "reviewer", `{"name":"d"}`, "")
}

package localapp_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestFullDisk checks that /readyz reports a full disk, and /healthz does not.
func TestFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	app, err := openApp(t.Context(), localapp.OnDisk(localapp.Config{
		Data: t.TempDir(), Log: leaktest.Logger(t, nil),
	}, func(string) (uint64, uint64, error) { return free.Load(), 1 << 40, nil }))
	require.NoError(t, err)
	c, stop := serve(t, app)
	get := func(path string) (int, string) {
		resp, err := http.Get(c.Base + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	status, _ := get("/readyz")
	require.Equal(t, 200, status)
	free.Store(1 << 20)
	status, body := get("/readyz")
	require.Equal(t, 503, status)
	require.Contains(t, body, `"reason":"disk"`)
	require.NotContains(t, body, "/tmp")
	status, _ = get("/healthz")
	require.Equal(t, 200, status)
	free.Store(1 << 30)
	status, _ = get("/readyz")
	require.Equal(t, 200, status)
	stop()
	require.NoError(t, app.Close())
}

// TestConnectionsOf checks that a reserve of files is left for the store, and that there is at
// least one connection.
func TestConnectionsOf(t *testing.T) {
	for files, want := range map[uint64]int{
		64: 1, 128: 1, 256: 128, 1024: 768, 4096: 3072, 1 << 63: 3 << 18,
	} {
		require.Equal(t, want, localapp.ConnectionsOf(files), files)
	}
}

// tenants is a hosted server behind a proxy, with two tenants.
type tenants struct {
	addr   string
	issuer *authtest.Issuer
}

// openTenants starts it, with a limit of concurrent calls. waited is called with the number of
// other calls that ran before one that waited; it may be nil.
func openTenants(t *testing.T, room int, waited func(tenant string, passed int)) tenants {
	t.Helper()
	i := authtest.NewIssuer(t, "RS256")
	var admins []config.Admin
	for _, tenant := range []string{"a", "b"} {
		admins = append(admins, config.Admin{Issuer: i.URL, Subject: "root", Tenant: tenant})
	}
	app, err := openApp(t.Context(), localapp.Waited(localapp.Config{
		Data: t.TempDir(), Log: slog.New(slog.DiscardHandler), Server: config.Config{
			PublicURL: loadURL, Listen: "127.0.0.1:0", MaxCalls: room, FirstAdmins: admins,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
			Limits:         config.Limits{MutationsPerMinute: -1, ReadsPerMinute: -1},
			Issuers: []config.Issuer{{
				Issuer: i.URL, JWKSURL: i.JWKS, Algorithms: []string{"RS256"}, TenantClaim: "tenant", Role: auth.Editor,
			}},
		},
	}, waited))
	require.NoError(t, err)
	l, err := app.Listen(t.Context())
	require.NoError(t, err)
	s := &http.Server{Handler: app.Handler("test", []string{"memory.example.test"}), ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
		require.NoError(t, app.Close())
	})
	return tenants{l.Addr().String(), i}
}

// head returns the beginning of a request of a member of a tenant.
func (s tenants) head(line, tenant, subject, more string) string {
	claims := s.issuer.Claims(subject, loadURL)
	claims["tenant"] = tenant
	return fmt.Sprintf("%s HTTP/1.1\r\nHost: memory.example.test\r\nX-Forwarded-Proto: https\r\n"+
		"Authorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n", line, s.issuer.Sign(claims), more)
}

// send sends text over a new connection, and returns the status of the answer.
func (s tenants) send(t *testing.T, text string) (net.Conn, int) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	var status int
	_, err = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	require.NoError(t, err)
	return conn, status
}

// TestSlowTenant checks that a tenant whose members send their bodies slowly, with four tokens,
// does not exclude another tenant: none of its calls is refused, one by one and many at once.
func TestSlowTenant(t *testing.T) {
	const room = 8
	s := openTenants(t, room, nil)
	began := 0
	for n := range 20 * room {
		_, status := s.send(t, s.head("POST /v1/tools/team_whoami", "a", fmt.Sprint(n%4),
			"Content-Length: 4000000\r\nExpect: 100-continue\r\n"))
		require.Contains(t, []int{100, 503}, status)
		if status == 100 {
			began++
		}
	}
	require.Greater(t, began, 4, "the slow tenant has something")
	whoami := s.head("GET /v1/whoami", "b", "root", "Connection: close\r\n")
	for range 50 {
		_, status := s.send(t, whoami)
		require.Equal(t, 200, status)
	}
	var all sync.WaitGroup
	for range room / 2 {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, whoami)
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
				t.Errorf("%v: %.40q", err, answer)
			}
		})
	}
	all.Wait()
}

// TestAddedLinesAreBounded checks the limit of lines that a call adds as items of a list, and that
// more can be added as text.
func TestAddedLinesAreBounded(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	in := args{"vault": "v", "to": "today", "text": strings.Repeat("a\n", 9_999) + "a"}
	must(t, local{app}, "raven_add", in)
	in["text"] = strings.Repeat("a\n", 10_000) + "a"
	_, err := local{app}.Invoke(t.Context(), "raven_add", marshalled(t, in))
	require.Equal(t, fault.BatchTooLarge, fault.Of(err).Code)
	must(t, local{app}, "raven_add", with(in, "as", "text"))
}

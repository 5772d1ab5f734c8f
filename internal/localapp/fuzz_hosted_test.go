package localapp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A fuzzedServer is a server as for a team, but on loopback: it has a public address, every caller
// needs a token, and its log has the lowest level. It has no rates, so that fuzzing is fast. The
// fixture is its vault `main`.
type fuzzedServer struct {
	dir     string
	base    string // URL of the server
	metrics string // URL of its metrics
	token   string // of an admin
	app     *localapp.App
	logs    *lockedBuffer

	closed []func() // called when the data directory is closed
}

// startFuzzedServer starts one until the test ends.
func startFuzzedServer(t testing.TB) *fuzzedServer {
	t.Helper()
	b := &fuzzedServer{dir: t.TempDir(), logs: &lockedBuffer{}}
	t.Cleanup(func() {
		for _, f := range b.closed {
			f()
		}
	})
	metrics := freeAddress(t)
	app, err := openApp(t.Context(), localapp.Config{
		Data: b.dir, Version: "1.2.3",
		Log: leaktest.Logger(t, b.logs),
		Server: config.Config{
			Listen: "127.0.0.1:0", PublicURL: "https://memory.example.test", MetricsListen: metrics,
			Limits: config.Limits{MutationsPerMinute: -1, ReadsPerMinute: -1}, MaxCalls: 256,
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	b.app, b.metrics = app, "http://"+metrics+"/metrics"
	local := tooltest.As(app.Catalogue, auth.LocalCaller())
	writeFixture(t, local)
	b.token = b.newToken(t, map[string]any{"name": "besieger", "role": "admin"})
	b.serve(t)
	return b
}

// newToken creates an API token.
func (b *fuzzedServer) newToken(t testing.TB, in map[string]any) string {
	t.Helper()
	local := tooltest.As(b.app.Catalogue, auth.LocalCaller())
	var answer struct{ Data struct{ Token string } }
	require.NoError(t, json.Unmarshal(done(t, local, "team_token_create", in), &answer))
	require.True(t, auth.IsAPIToken(answer.Data.Token))
	return answer.Data.Token
}

// serve serves until the test ends.
func (b *fuzzedServer) serve(t testing.TB) {
	t.Helper()
	l, err := b.app.Listen(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.app.Serve(ctx, l, "1.2.3") }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	b.base = "http://" + l.Addr().String()
}

// freeAddress returns an address that is not in use at this moment.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// measured returns the page of the metrics.
func (b *fuzzedServer) measured(t testing.TB) string {
	t.Helper()
	res, err := http.Get(b.metrics)
	require.NoError(t, err)
	page, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	return string(page)
}

// requireUnharmed requires that no request has caused a 5xx or a panic, according to the log and
// the metrics, and that the server still answers.
func (b *fuzzedServer) requireUnharmed(t testing.TB) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(b.logs.String()))
	lines.Buffer(nil, 16<<20)
	seen := 0
	for lines.Scan() {
		var line struct {
			Level  string
			Status int
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), "%s", lines.Text())
		require.NotEqual(t, "ERROR", line.Level, "%s", lines.Text())
		require.Less(t, line.Status, 500, "%s", lines.Text())
		seen++
	}
	require.NoError(t, lines.Err())
	require.NotZero(t, seen, "the server logs")
	page := b.measured(t)
	require.Contains(t, page, "\nrookery_panics_total 0\n")
	require.NotRegexp(t, `rookery_http_requests_total\{[^}]*status="5`, page)
	done(t, &httptool.Client{Base: b.base, Token: b.token}, "team_whoami", map[string]any{})
}

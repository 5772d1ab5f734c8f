package localapp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// A port is a server of a test, with metrics, that writes its ports to a directory.
type port struct {
	servers     string
	dir         string
	url, metric string
	stop        func()
}

// servesAt serves a data directory until the test has ended or stop is called.
func servesAt(t *testing.T, dir, servers string) port {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: dir, Servers: servers,
		Server: config.Config{Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0"},
	})
	require.NoError(t, err)
	l, err := app.Listen(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, l, "test") }()
	var once bool
	p := port{servers, dir, l.Addr().String(), "", func() {
		if once {
			return
		}
		once = true
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, app.Close())
	}}
	t.Cleanup(p.stop)
	_, number, _ := net.SplitHostPort(p.url)
	require.Eventually(t, func() bool {
		files, err := os.ReadDir(servers)
		return err == nil && len(files) == 2 // that of the metrics is the second
	}, time.Minute, time.Millisecond)
	for _, name := range names(t, servers) {
		if name != number+".json" {
			p.metric = "127.0.0.1:" + name[:len(name)-len(".json")]
		}
	}
	return p
}

// names returns the files of a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

// refusedAt returns the fault of a server that is started at these addresses.
func refusedAt(t *testing.T, servers, listen, metrics string) *fault.Fault {
	t.Helper()
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir(), Servers: servers,
		Server: config.Config{Listen: listen, MetricsListen: metrics},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	_, err = app.Listen(t.Context())
	require.Error(t, err)
	return fault.Of(err)
}

// TestAddressTaken checks that the error for an address that is in use names the program that uses
// it: the server with its directory and process, a Rookery server that is not listed here, or
// another program.
func TestAddressTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	servers := filepath.Join(t.TempDir(), "servers")
	p := servesAt(t, "data", servers)
	process := "a Rookery server on ./data (pid " + strconv.Itoa(os.Getpid()) + ")"

	f := refusedAt(t, servers, p.url, "")
	require.Equal(t, p.url+": address already in use, by "+process, f.Message)
	require.Equal(t, fault.Unavailable, f.Code)
	require.Equal(t, []string{"choose another port, or 0 for a free one: --listen 127.0.0.1:0"}, f.Fixes)

	f = refusedAt(t, servers, "127.0.0.1:0", p.metric)
	require.Equal(t, p.metric+": address already in use, by "+process, f.Message)
	require.Contains(t, f.Fixes[0], "metrics_listen: 127.0.0.1:0")

	f = refusedAt(t, "", p.url, "")
	require.Equal(t, p.url+": address already in use, by a Rookery server", f.Message)

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := other.Listener.Addr().String()
	require.Equal(t, at+": address already in use, by another program", refusedAt(t, servers, at, "").Message)

	p.stop()
	require.Empty(t, names(t, servers), "a server that ends is not listed")
}

// TestStaleListing checks that the listing of a server that was killed is not taken for the program
// that now uses its port.
func TestStaleListing(t *testing.T) {
	dir, servers := t.TempDir(), t.TempDir()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := other.Listener.Addr().String()
	_, number, err := net.SplitHostPort(at)
	require.NoError(t, err)
	for _, text := range []string{"", "{", `{"dir":"` + dir + `"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(servers, number+".json"), []byte(text), 0o600))
		require.Contains(t, refusedAt(t, servers, at, "").Message, "by another program")
	}
}

// TestAddressOfAnother checks that the error for an address that does not belong to this machine
// differs from that for one in use.
func TestAddressOfAnother(t *testing.T) {
	f := refusedAt(t, "", "127.0.0.1:0", "192.0.2.1:0")
	require.Equal(t, fault.InvalidParameter, f.Code)
	require.Equal(t, "192.0.2.1:0 is not an address of this machine", f.Message)
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBehindAProxyOfThisMachine serves behind a proxy of the same machine, under a name that does
// not resolve to it here. Commands with --data reach the server nevertheless, with a token, and the
// doctor finds nothing wrong.
func TestBehindAProxyOfThisMachine(t *testing.T) {
	none, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, none.Close())
	url := "https://" + none.Addr().String()
	home := t.TempDir()
	dir, file := filepath.Join(home, "data"), filepath.Join(home, "server.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil,
		"listen: 127.0.0.1:0\npublic_url: %s\ntrusted_proxies: [127.0.0.1]\n", url), 0o600))
	env := map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state"),
	}
	code, _, errs := rookeryIn(t, env, "vault", "create", "v", "--data", dir)
	require.Zero(t, code, errs)
	code, token, errs := rookeryIn(t, env, "token", "create", "x", "--role", "admin", "--data", dir, "--only", "token")
	require.Zero(t, code, errs)
	_, token, _ = strings.Cut(token, "rk_")
	require.NotEmpty(t, token)
	with := map[string]string{"ROOKERY_TOKEN": "rk_" + strings.Fields(token)[0]}
	for k, v := range env {
		with[k] = v
	}
	defer serving(t, env, "serve", "--config", file, "--data", dir)()

	var listed string
	require.Eventually(t, func() bool { // it listens a moment before it announces the address
		code, listed, errs = rookeryIn(t, with, "vault", "list", "--data", dir)
		return code == 0
	}, time.Minute, 10*time.Millisecond, "%s", errs)
	require.Contains(t, listed, "v")
	code, _, errs = rookeryIn(t, env, "vault", "list", "--data", dir)
	require.Equal(t, 3, code, errs)
	require.Contains(t, errs, "rookery login --server "+url)
	code, found, errs := rookeryIn(t, with, "doctor", "--data", dir)
	require.Zero(t, code, "%s%s", found, errs)
	require.Contains(t, found, "served at "+url)
	require.Contains(t, found, "0 notes")
	code, found, errs = rookeryIn(t, env, "doctor", "--data", dir)
	require.Zero(t, code, "%s%s", found, errs)
	require.Contains(t, found, "served at "+url)
	require.Contains(t, found, "no token was sent")
}

// serving runs a command line that serves, until stop is called.
func serving(t *testing.T, env map[string]string, line ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	greeting, out := io.Pipe()
	var log lockedBuffer
	app := newApp(strings.NewReader(""), out, &log, func(name string) string { return env[name] })
	ended := make(chan int, 1)
	go func() {
		ended <- app.Run(ctx, line)
		_ = out.Close()
	}()
	lines, said := bufio.NewReader(greeting), ""
	for !strings.Contains(said, "Stop with") {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, log.String())
		said += line
	}
	return func() {
		cancel()
		require.Zero(t, <-ended)
	}
}

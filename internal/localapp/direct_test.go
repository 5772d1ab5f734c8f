package localapp_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// nowhere returns an address on loopback without a listener.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// out is a server of a data directory with the vault "v", whose URL does not lead to it from here.
type out struct{ dir, url, token string }

// outOfReach starts such a server.
func outOfReach(t *testing.T, c config.Config) out {
	t.Helper()
	o := out{dir: t.TempDir(), url: "https://" + nowhere(t)}
	c.Listen, c.PublicURL = "127.0.0.1:0", o.url
	app, err := openApp(t.Context(), localapp.Config{Log: leaktest.Logger(t, nil), Data: o.dir, Server: c})
	require.NoError(t, err)
	must(t, local{app}, "team_vault_create", args{"name": "v"})
	made := must(t, local{app}, "team_token_create", args{"name": "x", "role": "admin"})
	var data struct{ Token string }
	require.NoError(t, json.Unmarshal(made.Data, &data))
	o.token = data.Token
	l, err := app.Listen(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, l, "test") }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
		require.NoError(t, app.Close())
	})
	require.Eventually(t, func() bool { return o.address(t).PID == os.Getpid() }, time.Minute, time.Millisecond)
	return o
}

// address returns the content of the server's address file.
func (o out) address(t *testing.T) localapp.Address {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, "serve.json"))
	if errors.Is(err, os.ErrNotExist) {
		return localapp.Address{}
	}
	require.NoError(t, err)
	var at localapp.Address
	require.NoError(t, json.Unmarshal(data, &at))
	return at
}

// busy returns the error of a command that tries to open the directory.
func (o out) busy(t *testing.T) localapp.InUse {
	t.Helper()
	_, err := openApp(t.Context(), localapp.Config{Data: o.dir})
	var busy *localapp.InUse
	require.True(t, errors.As(err, &busy), "%v", err)
	busy.Operator = nil // it has a key of its own
	return *busy
}

// examined returns the findings of the doctor with this token.
func (o out) examined(t *testing.T, token string) []doctor.Finding {
	t.Helper()
	return localapp.Examine(t.Context(), localapp.Examination{
		Data: o.dir, Token: func(_ context.Context, server string) (string, error) {
			require.Equal(t, o.url, server, "the token is that of the server's name")
			return token, nil
		},
	})
}

// proxies returns a configuration with trusted proxies.
func proxies(networks ...string) config.Config {
	var c config.Config
	for _, n := range networks {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(n))
	}
	return c
}

// TestDirect checks that a server behind a proxy of its own machine is called at its listener by
// programs of this machine, wherever its public URL leads, with a token as usual, and that other
// plain requests are refused as before.
func TestDirect(t *testing.T) {
	o := outOfReach(t, proxies("10.9.0.0/16", "127.0.0.1/32"))
	busy := o.busy(t)
	require.Equal(t, o.url, busy.Server)
	require.Equal(t, o.address(t).Listener, "http://"+busy.Direct)

	via := &httptool.Client{Base: busy.Server, HTTP: localapp.Direct(busy.Direct), Token: o.token}
	require.Contains(t, string(must(t, via, "team_vault_list", nil).Data), `"name":"v"`)
	via.Token = ""
	_, err := via.Invoke(t.Context(), "team_vault_list", nil)
	require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
	require.Contains(t, fault.Of(err).Fixes[0], "rookery login --server "+o.url)
	_, err = (&httptool.Client{Base: "http://" + busy.Direct, Token: o.token}).
		Invoke(t.Context(), "team_vault_list", nil)
	require.True(t, fault.Is(err, fault.PermissionDenied), "%v", err)

	found := o.examined(t, o.token)
	healthy(t, found)
	requireFinding(t, only(found, "lock"), doctor.LevelOK, "", "served at "+o.url)
	requireFinding(t, only(found, "log"), doctor.LevelOK, "", "0 notes")
	found = o.examined(t, "")
	healthy(t, found)
	requireFinding(t, only(found, "lock"), doctor.LevelOK, "", "served at "+o.url)
	requireFinding(t, only(found, "vaults"), doctor.LevelSkipped, "", "requires authentication")
}

// certificate creates the files of a certificate, and returns it.
func certificate(t *testing.T) (config.TLS, *x509.Certificate) {
	t.Helper()
	safe := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(safe.Close)
	pair := safe.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	files := config.TLS{Cert: filepath.Join(t.TempDir(), "cert.pem"), Key: filepath.Join(t.TempDir(), "key.pem")}
	require.NoError(t, os.WriteFile(files.Cert,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(files.Key,
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	return files, safe.Certificate()
}

// TestNoWayFromHere checks that a server which accepts no plain requests of its own machine is
// called by its URL, and that the doctor distinguishes a server that cannot be reached in this way
// from one that does not respond.
func TestNoWayFromHere(t *testing.T) {
	files, _ := certificate(t)
	for name, c := range map[string]config.Config{
		"a proxy elsewhere": proxies("10.9.0.1/32"), "TLS of its own": {TLS: files},
	} {
		t.Run(name, func(t *testing.T) {
			o := outOfReach(t, c)
			require.Equal(t, localapp.InUse{Server: o.url, PID: os.Getpid()}, o.busy(t))
			lock := only(o.examined(t, o.token), "lock")
			requireFinding(t, lock, doctor.LevelWarning, "", "its listener answers, but "+o.url+" does not answer from")
			require.NotContains(t, lock[0].Fix, "end it")
		})
	}
}

// TestDirectOfAnother checks that the URL of a server is used if its listener does not exist here,
// as in the network of another container, and that a listener which accepts connections and does
// not respond is reported.
func TestDirectOfAnother(t *testing.T) {
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "rookery.db"), bolttable.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, deaf.Close()) }()
	o := out{dir: dir, url: "https://" + nowhere(t)}
	leave := func(listener string) {
		at, err := json.Marshal(localapp.Address{URL: o.url, PID: 1, Listener: "http://" + listener, Direct: true})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "serve.json"), at, 0o600))
	}
	leave(nowhere(t))
	require.Equal(t, localapp.InUse{Server: o.url}, o.busy(t))
	leave(deaf.Addr().String())
	require.Equal(t, localapp.InUse{Server: o.url, Direct: deaf.Addr().String()}, o.busy(t))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	found := localapp.Examine(ctx, localapp.Examination{Data: dir})
	requireFinding(t, only(found, "lock"), doctor.LevelError, fault.Unavailable, "does not answer")
	require.Contains(t, only(found, "lock")[0].Fix, "if it is stuck, end it")
}

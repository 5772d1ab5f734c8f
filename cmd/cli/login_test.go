package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// secret is the token of the tests. All output and all written files are searched for it.
const secret = "rk_acme_7x.c4nary-0f-a-t0ken"

// A desk is the environment in which a person runs commands: the variables, which name a home
// directory, and standard input.
type desk struct {
	*testing.T
	env   map[string]string
	stdin string
}

// newDesk returns a desk with an empty home directory, and with a keyring if withKeyring is set.
func newDesk(t *testing.T, withKeyring bool) *desk {
	t.Helper()
	keyring.MockInit()
	home := t.TempDir()
	d := &desk{T: t, env: map[string]string{
		"XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_DATA_HOME": filepath.Join(home, "data"),
		"XDG_STATE_HOME": filepath.Join(home, "state"),
	}}
	if withKeyring {
		d.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + filepath.Join(home, "bus")
	}
	return d
}

// run runs a command. It requires its exit code, and that its output does not contain the secret.
func (d *desk) run(code int, line ...string) (out, errs string) {
	d.Helper()
	var printed, complained bytes.Buffer
	app := newApp(strings.NewReader(d.stdin), &printed, &complained,
		func(name string) string { return d.env[name] })
	got := app.Run(d.Context(), line)
	require.NotContains(d, printed.String()+complained.String(), secret)
	require.Equal(d, code, got, "%v: %s%s", line, printed.String(), complained.String())
	return printed.String(), complained.String()
}

// files returns the content of the person's configuration directory.
func (d *desk) files() string {
	d.Helper()
	var all strings.Builder
	_ = filepath.WalkDir(d.env["XDG_CONFIG_HOME"], func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, err := os.ReadFile(name)
			require.NoError(d, err)
			all.Write(data)
		}
		return nil
	})
	return all.String()
}

// A house is a server that requires the secret as a token, and records the Authorization headers
// that it receives.
type house struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

// newHouse serves a new data directory.
func newHouse(t *testing.T) *house {
	t.Helper()
	app, err := localapp.Open(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir()})
	require.NoError(t, err)
	h := &house{}
	h.Server = httptest.NewServer(httptool.New(app.Catalogue, httptool.Options{
		Authenticate: h.authenticate,
	}))
	t.Cleanup(func() {
		h.Close()
		require.NoError(t, app.Close())
	})
	return h
}

func (h *house) authenticate(r *http.Request) (auth.Caller, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, r.Header.Get("Authorization"))
	switch r.Header.Get("Authorization") {
	case "Bearer " + secret:
		c := auth.LocalCaller()
		c.Principal, c.Agent, c.Name = "token:acme_7x", "token:acme_7x", "ada"
		return c, nil
	case "Bearer expired":
		return auth.Caller{}, fault.New(fault.TokenExpired, "the token has expired")
	}
	return auth.Caller{}, fault.New(fault.Unauthenticated, "authentication is required")
}

// heard returns the Authorization headers that were received since its last call.
func (h *house) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := h.sent
	h.sent = nil
	return sent
}

// TestLogin checks that a token which the server accepts is stored in the keyring, and that
// commands go to this server with it until the person logs out.
func TestLogin(t *testing.T) {
	d, h := newDesk(t, true), newHouse(t)
	_, errs := d.run(3, "whoami", "--server", h.URL)
	require.Contains(t, errs, "no token was sent")
	require.Contains(t, errs, "try: rookery login --server "+h.URL+" --token -")

	d.stdin = secret + "\n"
	out, errs := d.run(0, "login", "--server", h.URL+"/")
	require.Empty(t, errs)
	require.Contains(t, out, "Logged in to "+h.URL+" as ")
	require.Contains(t, out, "token:acme_7x")
	require.Contains(t, out, "admin of all vaults")
	require.Contains(t, out, "keyring")
	require.NotContains(t, d.files(), secret)
	kept, err := keyring.Get("rookery", h.URL)
	require.NoError(t, err)
	require.Equal(t, secret, kept)

	d.stdin = ""
	out, _ = d.run(0, "whoami")
	require.Contains(t, out, "principal: token:acme_7x")
	d.run(0, "vault", "create", "v")
	out, _ = d.run(0, "vault", "list")
	require.Contains(t, out, "v")
	require.NoDirExists(t, d.env["XDG_DATA_HOME"])

	out, _ = d.run(0, "logout")
	require.Contains(t, out, "Logged out of "+h.URL)
	_, err = keyring.Get("rookery", h.URL)
	require.ErrorIs(t, err, keyring.ErrNotFound)
	d.run(3, "whoami", "--server", h.URL)
	out, _ = d.run(0, "whoami")
	require.Contains(t, out, "principal: local")
	_, errs = d.run(4, "logout")
	require.Contains(t, errs, "commands go to no server")
	out, _ = d.run(0, "logout", "--server", h.URL)
	require.Contains(t, out, "no stored token")
}

// TestLoginToFile checks that the token is in a file that only its user can read if there is no
// keyring, or with --file.
func TestLoginToFile(t *testing.T) {
	for name, line := range map[string][]string{"no keyring": nil, "asked for": {"--file"}} {
		t.Run(name, func(t *testing.T) {
			d, h := newDesk(t, line != nil), newHouse(t)
			d.stdin = secret
			out, _ := d.run(0, append([]string{"login", "--json", "--server", h.URL}, line...)...)
			var answer struct {
				OK   bool
				Data map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(out), &answer))
			require.True(t, answer.OK)
			require.Equal(t, "file", answer.Data["kept_in"])
			require.Equal(t, h.URL, answer.Data["server"])
			require.Equal(t, "token:acme_7x", answer.Data["principal"])
			require.Contains(t, d.files(), secret)
			file := filepath.Join(d.env["XDG_CONFIG_HOME"], "rookery", "credentials.json")
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm())
			d.run(0, "whoami")

			require.NoError(t, os.Chmod(file, 0o644))
			_, errs := d.run(2, "whoami")
			require.Contains(t, errs, "can be read by others")
			require.Contains(t, errs, "chmod 600")
			require.NotContains(t, errs, file)
			d.env["ROOKERY_TOKEN"] = secret
			d.run(0, "whoami")
			delete(d.env, "ROOKERY_TOKEN")
			require.NoError(t, os.Chmod(file, 0o600))
			d.run(0, "logout", "--all")
			require.NotContains(t, d.files(), secret)
		})
	}
}

// TestLoginForms checks the ways to pass a token.
func TestLoginForms(t *testing.T) {
	h := newHouse(t)
	for name, c := range map[string]struct {
		stdin string
		line  []string
	}{
		"standard input":    {secret, nil},
		"with line ends":    {"\n " + secret + "\r\n", []string{"--token", "-"}},
		"no value":          {secret, []string{"--token"}},
		"a dash behind =":   {secret, []string{"--token=-"}},
		"on the line":       {"", []string{"--token", secret}},
		"behind =":          {"", []string{"--token=" + secret}},
		"before everything": {"", []string{"--json", "--token", secret}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, true)
			d.env["ROOKERY_SERVER"], d.stdin = h.URL, c.stdin
			_, errs := d.run(0, append([]string{"login"}, c.line...)...)
			onLine := strings.Contains(strings.Join(c.line, " "), secret)
			require.Equal(t, onLine, strings.Contains(errs, "warning: a token on the command line"), errs)
			require.NotContains(t, errs, secret)
			kept, err := keyring.Get("rookery", h.URL)
			require.NoError(t, err)
			require.Equal(t, secret, kept)
		})
	}
	d := newDesk(t, true)
	d.run(0, "--token", secret, "login", "--server", h.URL)
	d.env["ROOKERY_TOKEN"], d.stdin = "another", secret
	out, _ := d.run(0, "login", "--server", h.URL)
	require.Contains(t, out, "ROOKERY_TOKEN is set")
	out, _ = d.run(0, "login", "--help")
	require.Contains(t, out, "stays in the history of the shell")
}

// TestLoginRefused checks the errors of login: nothing is stored then, and no message contains the
// token.
func TestLoginRefused(t *testing.T) {
	h := newHouse(t)
	elsewhere := newHouse(t)
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL+"/v1/tools/team_whoami")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	open := httptest.NewServer(nil)
	t.Cleanup(open.Close)
	app, err := localapp.Open(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	open.Config.Handler = httptool.New(app.Catalogue, httptool.Options{})
	ok := func(principal string) string {
		return `{"ok":true,"data":{"principal":"` + principal + `","roles":{"*":"admin"}},"warnings":[]}`
	}
	for name, c := range map[string]struct {
		code  int
		stdin string
		line  []string
		part  string
	}{
		"no server":     {2, secret, nil, "no server is named"},
		"no TLS":        {2, secret, []string{"--server", "http://memory.example.test"}, "without TLS"},
		"no URL":        {2, secret, []string{"--server", "memory.example.test"}, "invalid server URL: it must begin with https://"},
		"a password":    {2, "x", []string{"--server", "https://u:" + secret + "@x.test"}, "name or password"},
		"another token": {3, "rk_other.t0ken", []string{"--server", h.URL}, "does not accept the token"},
		"expired":       {3, "expired", []string{"--server", h.URL}, "has expired"},
		"no token":      {2, " \n", []string{"--server", h.URL}, "no token was given"},
		"two tokens":    {2, secret + "\n" + secret, []string{"--server", h.URL}, "is not a token"},
		"no ASCII":      {2, secret + "é", []string{"--server", h.URL}, "is not a token"},
		"a book":        {2, strings.Repeat(secret, 1000), []string{"--server", h.URL}, "is not a token"},
		"two words": {1, "", []string{"--server", h.URL, "--token", secret, secret}, "another " +
			"argument"},
		"a word and a flag": {1, "", []string{"--server", h.URL, "--token=" + secret, secret}, "another " +
			"argument"},
		"no flag":        {1, "", []string{"--server", h.URL, secret}, "pass the token with --token"},
		"everybody's":    {2, secret, []string{"--server", open.URL}, "authentication is off"},
		"a page":         {6, secret, []string{"--server", answers(200, "<html>")}, "status 200"},
		"4 MB":           {6, secret, []string{"--server", answers(200, strings.Repeat("x", 4<<20))}, "status 200"},
		"4 MB of a name": {6, secret, []string{"--server", answers(200, ok(strings.Repeat("x", 4<<20)))}, "not respond like a Rookery"},
		"several lines": {6, secret, []string{"--server", answers(200, ok(`a\nLogged in`))}, "not " +
			"respond like a Rookery"},
		"nobody": {6, secret, []string{"--server", answers(200, ok(""))}, "not respond like a " +
			"Rookery"},
		"a list": {6, secret, []string{"--server", answers(200, "[]")}, "not respond like a " +
			"Rookery"},
		"a redirection": {6, secret, []string{"--server", answers(307, "")}, "status 307"},
		"an echo":       {3, "echoed", []string{"--server", answers(401, "echoed")}, "does not accept"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false)
			d.stdin = c.stdin
			_, errs := d.run(c.code, append([]string{"login"}, c.line...)...)
			require.Contains(t, errs, c.part)
			require.Less(t, len(errs), 1000)
			require.Empty(t, d.files(), "neither a token nor a server is kept")
			require.Empty(t, elsewhere.heard(), "nobody else was sent anything")
		})
	}
}

// TestOneOrigin checks that a stored token is sent to the server that it was stored for, in every
// spelling of its address, and to no other.
func TestOneOrigin(t *testing.T) {
	d, h, other := newDesk(t, false), newHouse(t), newHouse(t)
	d.stdin = secret
	byName := strings.Replace(h.URL, "127.0.0.1", "LocalHost", 1)
	d.run(0, "login", "--server", strings.ToUpper(byName[:4])+byName[4:]+"//")
	h.heard()
	d.stdin = ""
	for address, sent := range map[string]string{
		"":                           "Bearer " + secret,
		byName + "/":                 "Bearer " + secret,
		strings.ToLower(byName):      "Bearer " + secret,
		h.URL:                        "",
		other.URL:                    "",
		other.URL + "/?x=" + byName:  "-",
		byName + "@" + other.URL[7:]: "-",
	} {
		line := []string{"vault", "list"}
		if address != "" {
			line = append(line, "--server", address)
		}
		code := map[string]int{"Bearer " + secret: 0, "": 3, "-": 2}[sent]
		d.run(code, line...)
		heard := append(h.heard(), other.heard()...)
		if sent == "-" {
			require.Empty(t, heard, address)
			continue
		}
		require.Equal(t, []string{sent}, heard, address)
	}
	d.env["ROOKERY_TOKEN"] = "of-the-environment"
	d.run(3, "vault", "list")
	require.Equal(t, []string{"Bearer of-the-environment"}, h.heard())
	_, warned := d.run(0, "vault", "list", "--token", secret)
	require.Contains(t, warned, "warning: a token on the command line")
	require.Contains(t, warned, "ROOKERY_TOKEN")
	require.Equal(t, []string{"Bearer " + secret}, h.heard())
	d.env["ROOKERY_TOKEN"] = secret
	_, errs := d.run(2, "vault", "list", "--server", "http://memory.example.test")
	require.Contains(t, errs, "not sent to memory.example.test without TLS")
}

// TestWhereCommandsGo checks the precedence of targets: the command line, then the environment,
// then the server of the last login.
func TestWhereCommandsGo(t *testing.T) {
	d, h, other := newDesk(t, false), newHouse(t), newHouse(t)
	d.stdin = secret
	d.run(0, "login", "--server", other.URL)
	d.run(0, "login", "--server", h.URL)
	d.stdin = ""
	folder := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.Mkdir(folder, 0o700))
	data := filepath.Join(t.TempDir(), "data")
	const local = "principal: local"
	h.heard()
	other.heard()
	for name, c := range map[string]struct {
		env   map[string]string
		line  []string
		heard *house // nil: a directory of this machine is used
	}{
		"the last login":              {nil, nil, h},
		"a vault by name":             {nil, []string{"--vault", "v"}, h},
		"another server":              {nil, []string{"--server", other.URL}, other},
		"a server of the environment": {map[string]string{"ROOKERY_SERVER": other.URL}, nil, other},
		"a directory":                 {nil, []string{"--data", data}, nil},
		"one of the environment":      {map[string]string{"ROOKERY_DATA": data}, nil, nil},
		"a folder":                    {nil, []string{"--vault", folder}, nil},
		"a folder of the environment": {map[string]string{"ROOKERY_VAULT": folder}, nil, nil},
		"both in the environment":     {map[string]string{"ROOKERY_SERVER": other.URL, "ROOKERY_DATA": data}, nil, other},
		"a directory before a server": {map[string]string{"ROOKERY_SERVER": other.URL}, []string{"--data", data}, nil},
		"a folder before a server":    {map[string]string{"ROOKERY_SERVER": other.URL}, []string{"--vault", folder}, nil},
		"a server before a directory": {map[string]string{"ROOKERY_DATA": data}, []string{"--server", other.URL}, other},
		"a server before a folder":    {map[string]string{"ROOKERY_VAULT": folder}, []string{"--server", other.URL}, other},
		"a token is no place":         {map[string]string{"ROOKERY_TOKEN": secret}, nil, h},
	} {
		t.Run(name, func(t *testing.T) {
			typing := desk{T: t, env: map[string]string{}}
			for name, value := range d.env {
				typing.env[name] = value
			}
			for name, value := range c.env {
				typing.env[name] = value
			}
			out, _ := typing.run(0, append([]string{"whoami"}, c.line...)...)
			require.Equal(t, c.heard == nil, strings.Contains(out, local), out)
			require.Equal(t, c.heard == h, len(h.heard()) == 1)
			require.Equal(t, c.heard == other, len(other.heard()) == 1)
		})
	}
	d.run(2, "whoami", "--server", h.URL, "--data", data)
	d.run(2, "whoami", "--server", h.URL, "--vault", folder)
	d.run(2, "whoami", "--data", data, "--vault", folder)
	require.NoDirExists(t, d.env["XDG_DATA_HOME"])

	// An invalid configuration file does not redirect commands to another place.
	config := filepath.Join(d.env["XDG_CONFIG_HOME"], "rookery", "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("sevrer: "+h.URL), 0o600))
	_, errs := d.run(2, "whoami")
	require.Contains(t, errs, "config.yaml")
	d.run(0, "whoami", "--server", h.URL)
	d.run(0, "whoami", "--data", data)
}

// TestLogoutAll checks that all tokens and the default server are removed.
func TestLogoutAll(t *testing.T) {
	d, h, other := newDesk(t, true), newHouse(t), newHouse(t)
	d.stdin = secret
	d.run(0, "login", "--server", h.URL, "--file")
	d.run(0, "login", "--server", other.URL)
	d.run(2, "logout", "--all", "--server", h.URL)
	out, _ := d.run(0, "logout", "--server", h.URL, "--json")
	require.Contains(t, out, `{"servers":["`+h.URL+`"]}`)
	out, _ = d.run(0, "whoami")
	require.Contains(t, out, "token:acme_7x", "it was not the usual server")
	d.run(0, "login", "--server", h.URL, "--file")
	out, _ = d.run(0, "logout", "--all")
	require.Contains(t, out, h.URL)
	require.Contains(t, out, other.URL)
	out, _ = d.run(0, "whoami")
	require.Contains(t, out, "principal: local")
	out, _ = d.run(0, "logout", "--all")
	require.Contains(t, out, "no stored token")
	require.NotContains(t, d.files(), secret)
	_, err := keyring.Get("rookery", other.URL)
	require.ErrorIs(t, err, keyring.ErrNotFound)
}

// TestLoginsAtOnce checks that concurrent logins to several servers are all stored.
func TestLoginsAtOnce(t *testing.T) {
	d := newDesk(t, false)
	d.stdin = secret
	var houses []*house
	for range 4 {
		houses = append(houses, newHouse(t))
	}
	var wg sync.WaitGroup
	for _, h := range houses {
		wg.Go(func() {
			app := newApp(strings.NewReader(secret), io.Discard, io.Discard,
				func(name string) string { return d.env[name] })
			if code := app.Run(t.Context(), []string{"login", "--server", h.URL}); code != 0 {
				t.Errorf("login ended with %d", code)
			}
		})
	}
	wg.Wait()
	for _, h := range houses {
		out, _ := d.run(0, "whoami", "--server", h.URL)
		require.Contains(t, out, "token:acme_7x")
	}
}

// TestDoctorLooksAtTheLogin checks the findings of the doctor about the server that commands go to.
func TestDoctorLooksAtTheLogin(t *testing.T) {
	d, h := newDesk(t, false), newHouse(t)
	d.stdin = secret
	d.run(0, "login", "--server", h.URL)
	out, _ := d.run(0, "doctor")
	require.Regexp(t, `(?m)^ok +login +`+h.URL+`: .*token:acme_7x`, out)
	require.NotContains(t, out, "directory", "there is none, and commands do not go to one")
	d.run(0, "vault", "create", "v", "--data", filepath.Join(d.env["XDG_DATA_HOME"], "rookery"))
	out, _ = d.run(0, "doctor")
	require.Regexp(t, `(?m)^ok +directory`, out)
	out, _ = d.run(4, "doctor", "--data", "nowhere")
	require.NotContains(t, out, "login", "commands would not go to the server")

	d.env["ROOKERY_TOKEN"] = "another"
	out, errs := d.run(3, "doctor")
	require.Regexp(t, `(?m)^error +login`, out)
	require.Contains(t, out, "try: set ROOKERY_TOKEN to another token")
	require.Contains(t, errs, "UNAUTHENTICATED")
	h.Close()
	_, errs = d.run(6, "doctor")
	require.Contains(t, errs, "no answer from "+h.URL+" (connection refused); the address is from config.yaml")

	for ends, want := range map[time.Duration]string{
		24 * time.Hour: `(?m)^warn +login`, 30 * 24 * time.Hour: `(?m)^ok +login`,
	} {
		at := time.Now().Add(ends).UTC()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"ok":true,"data":{"principal":"user:ada@x","expires_at":%q},"warnings":[]}`,
				at.Format(time.RFC3339))
		}))
		t.Cleanup(s.Close)
		out, _ = d.run(0, "login", "--server", s.URL)
		require.Contains(t, out, "expires on "+at.Format("2006-01-02 15:04 UTC"))
		out, _ = d.run(0, "doctor")
		require.Regexp(t, want, out)
	}
}

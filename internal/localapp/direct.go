package localapp

import (
	"context"
	"crypto/tls"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
)

// listenerURL returns the URL of a listener for programs of this machine. An unspecified address,
// such as 0.0.0.0, becomes localhost.
func (a *App) listenerURL(l net.Listener) string {
	scheme, addr := "http", l.Addr().String()
	if a.door.tls != nil {
		scheme = "https"
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		_, port, _ := net.SplitHostPort(addr)
		addr = net.JoinHostPort("localhost", port)
	}
	return scheme + "://" + addr
}

// takesDirect reports whether a program of this machine may call a listener on loopback without
// TLS, as the reverse proxy before the server does. Such a program is as trusted as the proxy: its
// requests come from the same address, and they never leave the machine. It returns false if the
// public URL is that of the listener. It decides by asking the server's own check whether it would
// accept such a request.
func (a *App) takesDirect(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() || a.door.tls != nil || a.URL(l) == a.listenerURL(l) {
		return false
	}
	from := "127.0.0.1:1"
	if at.IP.To4() == nil {
		from = "[::1]:1"
	}
	r := &http.Request{RemoteAddr: from, Header: http.Header{forwarded.Forwarded: {forwarded.Private}}}
	return a.server.Proxies().Check(r) == nil
}

// dialPatience is the timeout for a connection to a listener of this machine.
const dialPatience = time.Second

// direct returns HOST:PORT of the listener if programs of this machine must use it, and otherwise
// "". It connects to find out, for at most dialPatience: if the connection fails, the server is in
// another network, such as that of a container, and only its URL can be used.
func (at Address) direct() string {
	u, err := url.Parse(at.Listener)
	if err != nil || !at.Direct {
		return ""
	}
	c, err := net.DialTimeout("tcp", u.Host, dialPatience)
	if err != nil {
		return ""
	}
	_ = c.Close() // nothing was sent
	return u.Host
}

// Direct returns a client that sends every request to this listener on loopback without TLS,
// whatever the URL, instead of to the proxy before it. As the proxy would, it adds a header that
// says that the request came over a private connection. It returns nil, which means the default
// client, if listener is empty. Requests keep the host of their URL, because the server accepts
// only its own names.
func Direct(listener string) *http.Client {
	if listener == "" {
		return nil
	}
	return &http.Client{Transport: direct{listener, &http.Transport{}}}
}

// A direct is an http.RoundTripper that sends every request to one listener.
type direct struct {
	listener string
	by       http.RoundTripper
}

// RoundTrip sends a request to the listener, with the host of its URL in the Host header.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = "http", d.listener
	r.Header.Set(forwarded.Forwarded, forwarded.Private)
	return d.by.RoundTrip(r)
}

// alive reports whether the server at the Listener answers within serverPatience. No data is sent
// to it, so an untrusted certificate counts as an answer too. It is false if the address file does
// not name a listener.
func (at Address) alive(ctx context.Context) bool {
	if at.Listener == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Listener+"/healthz", nil)
	if err != nil {
		return false
	}
	way := &http.Transport{DisableKeepAlives: true}
	resp, err := way.RoundTrip(r)
	if err != nil {
		var certificate *tls.CertificateVerificationError
		return errors.As(err, &certificate)
	}
	_ = resp.Body.Close() // the response itself is enough
	return true
}

// demo contains the notes of the demo vault.
//
//go:embed demo
var demo embed.FS

// demoVault is the name of the demo vault.
const demoVault = "demo"

// Demo creates the vault `demo` with its notes if the tenant has no vault. If the demo vault exists
// but has no notes, because an earlier process ended in between, it adds them. It calls the tools
// that an agent would call, so the vault has an ordinary history.
func (a *App) Demo(ctx context.Context) error {
	ctx = auth.WithCaller(ctx, auth.LocalCaller())
	empty, err := a.emptyDemo(ctx)
	if err != nil || !empty {
		return err
	}
	notes, err := demoNotes()
	if err != nil {
		return err
	}
	args, err := json.Marshal(map[string]any{"vault": demoVault, "mode": "skip", "notes": notes})
	if err != nil {
		return err
	}
	_, err = a.Catalogue.Invoke(ctx, "team_vault_import", args)
	return err
}

// emptyDemo reports whether there is a demo vault without commits after its first one. It creates
// the demo vault if the tenant has no vault. A demo vault in the trash stays there: a person who
// has deleted it does not want it.
func (a *App) emptyDemo(ctx context.Context) (bool, error) {
	names, err := access.NewDirectory(a.teams).Vaults(ctx, auth.LocalCaller(), true)
	if err != nil {
		return false, err
	}
	if len(names) == 0 {
		args := json.RawMessage(`{"name":"` + demoVault + `"}`)
		_, err = a.Catalogue.Invoke(ctx, "team_vault_create", args)
		if fault.Is(err, fault.DuplicateID) {
			return false, nil
		}
		return err == nil, err
	}
	if len(names) > 1 || names[0] != demoVault {
		return false, nil
	}
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return false, err
	}
	v, err := t.Vault(ctx, demoVault)
	if err != nil {
		return false, err
	}
	idx, err := v.Read(ctx)
	return err == nil && idx.Version() <= 1, err
}

// demoNotes returns the files of the demo vault as arguments of team_vault_import: their paths and
// texts, in the order of the paths.
func demoNotes() ([]map[string]string, error) {
	files, err := fs.Sub(demo, "demo")
	if err != nil {
		return nil, err
	}
	var notes []map[string]string
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		notes = append(notes, map[string]string{"path": path, "text": string(text)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the demo vault: %w", err)
	}
	return notes, nil
}

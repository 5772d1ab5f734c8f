package localapp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"rookery/internal/peer"
)

// listenerURL is the URL of a listener for programs of this machine.
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

// takesDirect reports whether a program of this machine may call a listener on loopback in the clear, as the
// proxy does that the server stands behind: it is as trusted as that one, for it comes from the same address,
// and what it sends never leaves the machine.
func (a *App) takesDirect(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() || a.door.tls != nil || a.URL(l) == a.listenerURL(l) {
		return false
	}
	from := "127.0.0.1:1"
	if at.IP.To4() == nil {
		from = "[::1]:1"
	}
	r := &http.Request{RemoteAddr: from, Header: http.Header{peer.Forwarded: {peer.Private}}}
	return a.server.Proxies().Check(r) == nil
}

// dialPatience is how long a listener of this machine may take to take a connection.
const dialPatience = time.Second

// direct is HOST:PORT of the listener, if it is the way from this machine. Where nobody takes connections
// there, the server is in another network, such as that of a container, and has its URL only.
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

// Direct is a client whose calls go to this listener on loopback in the clear, whatever the URL, in place of
// the proxy before it; nil for an empty one. It says what the proxy would: that nobody could read them.
func Direct(listener string) *http.Client {
	if listener == "" {
		return nil
	}
	return &http.Client{Transport: direct{listener, &http.Transport{}}}
}

// direct is the way to a listener.
type direct struct {
	listener string
	by       http.RoundTripper
}

// RoundTrip sends a request to the listener, under the name that its server is called by.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = "http", d.listener
	r.Header.Set(peer.Forwarded, peer.Private)
	return d.by.RoundTrip(r)
}

// alive reports whether the process behind the listener answers, to whomever. Nothing is told to it, so a
// certificate that is not believed is an answer, too.
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
	_ = resp.Body.Close() // that it came is all
	return true
}

package httptool

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
)

// guard sets the headers of every response, and refuses requests that may have been read or
// changed on the way or that name another host. The check of Host prevents a web page from reaching
// a server on loopback under a name of its own (DNS rebinding). Health checks are exempt: a load
// balancer knows only the address, and sends no token.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.harden(w.Header())
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}
		if f := s.opt.Peer(r); f != nil {
			s.opt.Meter.Refused(access.Plain)
			s.refuseUnread(w, r, f)
			return
		}
		if !s.isOwnHost(r, r.Host) {
			s.opt.Meter.Refused(access.Host)
			s.refuseUnread(w, r, fault.New(fault.PermissionDenied,
				"the header Host names another server").Fix("call the server by its own name"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// harden sets the headers of every response: nothing may be cached, framed, sniffed or sent on as a
// referrer. If the public URL uses https, browsers are told to use only https for a year. Handlers
// may replace Cache-Control.
func (s *server) harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if strings.HasPrefix(s.opt.Resource.PublicURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// isProbe reports whether a request is a health check.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// isOwnHost reports whether a host, with its port, is a name of this server.
func (s *server) isOwnHost(r *http.Request, host string) bool {
	hosts := s.opt.Hosts
	if len(hosts) == 0 {
		hosts = loopback(r)
	}
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// fromUs reports whether a request has no Origin, or that of a page of this server: one of its
// names, with the scheme of that name. An origin is scheme, host and port and nothing else (RFC
// 6454 §7). Two headers, and the origin null, are not.
func (s *server) fromUs(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || isNoOrigin(origins[0]) {
		return false
	}
	scheme, host, _ := strings.Cut(origins[0], "://")
	return s.isOwnHost(r, host) && scheme == s.schemeOf(r, host)
}

// schemeOf returns the scheme of one of the server's names: that of the public URL for its host,
// because a proxy may have ended TLS. For any other name, which is not behind a proxy, it is the
// scheme of the request itself.
func (s *server) schemeOf(r *http.Request, host string) string {
	scheme, public, _ := strings.Cut(s.opt.Resource.PublicURL, "://")
	if strings.EqualFold(host, public) || strings.EqualFold(host, public+":"+usualPorts[scheme]) {
		return scheme
	}
	return cameBy(r)
}

// cameBy returns the scheme with which a request reached the listener.
func cameBy(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// usualPorts maps a scheme to its default port, which browsers omit.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// loopback returns the loopback names of the listener of a request, with its port; none if it does
// not listen on loopback. The address of the listener is that of the connection, which no client
// can forge.
func loopback(r *http.Request) []string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return nil
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return nil
	}
	var hosts []string
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	if port == usualPorts[cameBy(r)] {
		hosts = append(hosts, "localhost", "127.0.0.1", "[::1]")
	}
	return hosts
}

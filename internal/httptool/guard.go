package httptool

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"rookery/internal/access"
	"rookery/internal/fault"
)

// guarded sets the headers of every answer, and lets through what was sent to us, and by nobody that
// others can listen to. Whether the server is alive anybody may ask, however they come here: who asks
// that often has only its address, and shows no token.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.harden(w.Header())
		if isProbe(r) {
			next.ServeHTTP(w, r)
			return
		}
		if f := s.opt.Peer(r); f != nil {
			s.opt.Meter.Refused(access.Plain)
			s.turnAway(w, r, f)
			return
		}
		if !s.ours(r, r.Host) {
			s.opt.Meter.Refused(access.Host)
			s.turnAway(w, r, fault.New(fault.PermissionDenied,
				"the header Host names another server").Fix("call the server by its own name"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// harden sets the headers that every answer has. Where the server has an https address, browsers are
// told for a year to use no other.
func (s *server) harden(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if strings.HasPrefix(s.opt.Resource.PublicURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// ours reports whether a host, with its port, is this server.
func (s *server) ours(r *http.Request, host string) bool {
	hosts := s.opt.Hosts
	if len(hosts) == 0 {
		hosts = loopback(r)
	}
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// fromUs reports whether a request comes from no page at all, or from one of ours: under one of our names,
// and by the scheme that the name is called by. An origin is scheme, host and port, and nothing else
// (RFC 6454 §7).
func (s *server) fromUs(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 || isNoOrigin(origins[0]) {
		return false
	}
	scheme, host, _ := strings.Cut(origins[0], "://")
	return s.ours(r, host) && scheme == s.schemeOf(r, host)
}

// schemeOf is by which scheme one of our names is called: that of the public URL for its host, and for
// another one, which no proxy stands before, the one that the request itself came by.
func (s *server) schemeOf(r *http.Request, host string) string {
	scheme, public, _ := strings.Cut(s.opt.Resource.PublicURL, "://")
	if strings.EqualFold(host, public) || strings.EqualFold(host, public+":"+usualPorts[scheme]) {
		return scheme
	}
	return cameBy(r)
}

// cameBy is the scheme by which a request came to the listener.
func cameBy(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// usualPorts are those that a browser leaves out, by scheme.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// loopback are the names by which the listener of a request is called on its own machine.
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

package httptool

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// guarded lets through what was sent to us and by us: not what a page of another site sends with
// its visitor's browser, also if its own name has come to lead here. Whether the server is alive
// anybody may ask, for who asks that often has only its address.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		switch {
		case !probe && !s.ours(r, r.Host):
			refuse(w, r, fault.New(fault.PermissionDenied,
				"the header Host names another server").Fix("call the server by its own name"))
			return
		case !s.fromUs(r):
			refuse(w, r, fault.New(fault.PermissionDenied,
				"the request comes from a page of another origin"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		next.ServeHTTP(w, r)
	})
}

// ours reports whether a host, with its port, is this server.
func (s *server) ours(r *http.Request, host string) bool {
	hosts := s.opt.Hosts
	if len(hosts) == 0 {
		hosts = loopback(r)
	}
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// fromUs reports whether a request comes from no page at all, or from one of ours.
func (s *server) fromUs(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return s.ours(r, u.Host)
}

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
	if port == "80" {
		hosts = append(hosts, "localhost", "127.0.0.1", "[::1]")
	}
	return hosts
}

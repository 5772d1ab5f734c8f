package httptool

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rookery/internal/access"
	"rookery/internal/fault"
)

// What a page of another site may send, beside what every page may, and what it may read of an answer.
// Credentials are in neither: a page that calls us shows the token that it was given.
var (
	corsMethods = strings.Join([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete,
	}, ", ")
	corsSent = strings.Join([]string{
		"Authorization", "Content-Type", "Accept", "If-Match", "Idempotency-Key", "X-Agent-Id",
		"X-Session-Id", "X-Readonly", "X-Request-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
		"Mcp-Param-Vault", "Mcp-Session-Id", "Last-Event-ID", "X-MCP-Toolsets", "X-MCP-Tools",
		"X-MCP-Readonly",
	}, ", ")
	corsRead = strings.Join([]string{
		"ETag", "X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"Retry-After", "X-Warnings", "WWW-Authenticate",
	}, ", ")
)

// corsAge is for how many seconds a browser may remember what it was told of these.
const corsAge = "600"

// invited lets through what no page has sent, or a page of ours, or of a site that is listed: not what
// another one sends with its visitor's browser, also if its own name has come to lead here. The question
// that a browser asks before it sends a listed page's request is answered here, without a token, for it
// can show none.
func (s *server) invited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(s.opt.Origins) > 0 {
			w.Header().Add("Vary", "Origin")
		}
		guest := s.isGuest(r)
		switch {
		case guest:
			s.welcome(w.Header(), r)
		case !s.fromUs(r):
			s.opt.Meter.Refused(access.Origin)
			s.turnAway(w, r, fault.New(fault.PermissionDenied,
				"the request comes from a page of another origin"))
			return
		}
		if guest && isPreflight(r) {
			noteOf(r).route = preflight
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// preflight is the route of the questions of browsers, in the log and in metrics.
const preflight = "preflight"

// isGuest reports whether a request comes from a page of a site that is listed.
func (s *server) isGuest(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	return len(origins) == 1 && slices.Contains(s.opt.Origins, origins[0])
}

// isNoOrigin reports whether a text is not what a browser says of a page's origin (RFC 6454 §6.2).
func isNoOrigin(text string) bool {
	u, err := url.Parse(text)
	return err != nil || u.Host == "" || u.Scheme+"://"+u.Host != text
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// welcome tells the browser of a listed page what the page may do.
func (s *server) welcome(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if !isPreflight(r) {
		h.Set("Access-Control-Expose-Headers", corsRead)
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsSent)
	h.Set("Access-Control-Max-Age", corsAge)
}

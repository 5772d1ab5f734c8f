package httptool

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
)

// The methods and headers that a page of another site may send, and the headers that it may read.
// Credentials such as cookies are never allowed: a page must send a token.
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

// corsAge is the number of seconds for which a browser may cache the answer to a preflight request.
const corsAge = "600"

// checkOrigin checks Origin. It passes requests without an Origin, and those from pages of this
// server or of Options.Origins. It refuses all others, which a page may send with its visitor's
// browser, even if the page's own name now resolves to this server. Preflight requests of listed
// pages are answered here without a token, because a browser sends none with them. The response
// varies with Origin as soon as there are listed pages.
func (s *server) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(s.opt.Origins) > 0 {
			w.Header().Add("Vary", "Origin")
		}
		guest := s.isGuest(r)
		switch {
		case guest:
			s.setCORSHeaders(w.Header(), r)
		case !s.fromUs(r):
			s.opt.Meter.Refused(access.Origin)
			s.refuseUnread(w, r, fault.New(fault.PermissionDenied,
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

// preflight is the route of preflight requests in logs and metrics.
const preflight = "preflight"

// isGuest reports whether a request comes from a page of a site in Options.Origins.
func (s *server) isGuest(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	return len(origins) == 1 && slices.Contains(s.opt.Origins, origins[0])
}

// isNoOrigin reports whether a text is not a valid origin (RFC 6454 §6.2).
func isNoOrigin(text string) bool {
	u, err := url.Parse(text)
	return err != nil || u.Host == "" || u.Scheme+"://"+u.Host != text
}

// isPreflight reports whether a request is a CORS preflight request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// setCORSHeaders sets the CORS headers for a listed page: its own origin, and for a preflight
// request what it may send. Credentials are not among them.
func (s *server) setCORSHeaders(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if !isPreflight(r) {
		h.Set("Access-Control-Expose-Headers", corsRead)
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsSent)
	h.Set("Access-Control-Max-Age", corsAge)
}

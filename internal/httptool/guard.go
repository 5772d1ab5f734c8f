package httptool

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
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

// serveMetadata serves the OAuth metadata of protected resources (RFC 9728): for the whole server,
// and for each path of a mounted Resource. It needs no token, and pages of every origin may read
// it, because it is public and a client in a browser needs it before it has a token. This does not
// allow such a page to call tools; see Options.Origins.
func (s *server) serveMetadata(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document := s.metadata(r.URL.Path)
		if document == nil {
			next.ServeHTTP(w, r)
			return
		}
		noteOf(r).route = access.WellKnown
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch {
		case isPreflight(r):
			h.Set("Access-Control-Allow-Methods", "GET, HEAD")
			h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
			h.Set("Access-Control-Max-Age", corsAge)
			w.WriteHeader(http.StatusNoContent)
		case !reads(r.Method):
			s.notAllowed(w, r, []string{http.MethodGet})
		default:
			h.Set("Cache-Control", "public, max-age=300")
			body(w, http.StatusOK, document)
		}
	})
}

// metadata returns the document at a path, or nil if there is none: for the whole server, or for a
// path of a mounted Resource. There is none without a public URL and issuers.
func (s *server) metadata(path string) []byte {
	at, ok := strings.CutPrefix(path, access.WellKnown)
	if s.opt.Only != nil || !ok || at != "" && !s.isResource(at) {
		return nil
	}
	return s.opt.Resource.Metadata(at)
}

// isResource reports whether a path belongs to a mounted Resource.
func (s *server) isResource(path string) bool {
	h, _ := s.mountOf(path)
	resource, ok := h.(Resource)
	return ok && resource.Serves(path)
}

// caller authenticates a request and applies X-Readonly. The agent and the session are arguments,
// even if they are sent as headers. The Caller has the id of the request, and a place for the
// remaining allowance. It reads no body.
func (s *server) caller(r *http.Request) (auth.Caller, error) {
	c, err := s.opt.Authenticate(r)
	if err != nil {
		return auth.Caller{}, err
	}
	c.RequestID, c.Allowance = noteOf(r).id, new(auth.Allowance)
	switch all := r.Header.Values("X-Readonly"); {
	case len(all) == 0, len(all) == 1 && slices.Contains([]string{"", "0", "false"}, all[0]):
	case len(all) == 1 && (all[0] == "1" || all[0] == "true"):
		c.ReadOnly = true
	default: // also two headers, because one of them was sent to make the call safe
		return auth.Caller{}, fault.New(fault.InvalidParameter, "header X-Readonly must be 1 or 0").
			Fix("X-Readonly: 1")
	}
	return c, nil
}

// refuseUnrouted answers a request whose path leads to no tool: 405 if the path has other methods,
// otherwise 404 with the route that was probably meant, or the limit that the caller has exceeded
// with such requests.
func (s *server) refuseUnrouted(w http.ResponseWriter, r *http.Request, err error) {
	if over := s.countLost(r); over != nil {
		err = over
	}
	if other := (*otherMethod)(nil); errors.As(err, &other) {
		s.notAllowed(w, r, other.allowed)
		return
	}
	s.refuseUnread(w, r, fault.Of(err))
}

// countLost counts a request below /v1 that leads to no tool, if it has a valid token. It returns
// an error if the caller has made too many requests. Without a token the request costs nothing that
// is worth counting.
func (s *server) countLost(r *http.Request) error {
	if !strings.HasPrefix(r.URL.Path, "/v1/") || !access.HasBearerToken(r.Header) {
		return nil
	}
	caller, err := s.caller(r)
	if err != nil {
		return nil // the path is wrong in any case
	}
	return s.opt.Count(r.Context(), caller)
}

// A state is the answer of /healthz and /readyz.
type state struct {
	OK       bool              `json:"ok"`
	Data     map[string]string `json:"data"`
	Warnings []tool.Warning    `json:"warnings"`
}

// healthy answers that the process is running.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) { s.writeStatus(w, r, "healthy") }

// ready answers whether calls can be served. The reason of a failure is logged; the response has it
// only if it is meant for everyone; see unready.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.opt.Ready != nil {
		if err := s.opt.Ready(r.Context()); err != nil {
			s.opt.Log.WarnContext(r.Context(), "not ready", slog.Any("cause", err))
			s.refuse(w, r, unready(err))
			return
		}
	}
	s.writeStatus(w, r, "ready")
}

// unready returns the fault of a server that is not ready, with the reason if it may be shown: an
// UNAVAILABLE fault with a reason in its details. Everyone can read this page, so other errors
// become one sentence.
func unready(err error) *fault.Fault {
	f := (*fault.Fault)(nil)
	if errors.As(err, &f) && f.Code == fault.Unavailable && f.Details["reason"] != nil {
		return f
	}
	return fault.New(fault.Unavailable, "the server cannot take calls now")
}

// writeStatus answers with a status.
func (s *server) writeStatus(w http.ResponseWriter, r *http.Request, status string) {
	data, err := tool.Marshal(state{true, map[string]string{"status": status}, []tool.Warning{}})
	if err != nil {
		s.refuse(w, r, fault.Of(err))
		return
	}
	body(w, http.StatusOK, data)
}

// document returns the handler of /openapi.json. described builds the text; its error is logged and
// answered.
func (s *server) document(described func() ([]byte, error)) http.HandlerFunc {
	page := newPage(described)
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := page()
		if err != nil {
			s.opt.Log.ErrorContext(r.Context(), "the tools cannot be described", slog.Any("cause", err))
			s.refuse(w, r, fault.Of(err))
			return
		}
		text.write(w, "application/json")
	}
}

// maxProbes is the maximum number of concurrent health checks. They have a limit of their own, so
// that other requests cannot block them.
const maxProbes = 256

// limitInFlight limits the requests in flight of each address and in total. It runs before anything
// is read or done. With HTTP/2 each stream is a request. It also bounds the body, before any
// handler can read it. A refused client must read its response at a faster pace.
func (s *server) limitInFlight(next http.Handler) http.Handler {
	probes := forwarded.NewAddressLimiter(maxProbes, forwarded.Proxies{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpbody.Bound(w, r, MaxBody)
		crowd := s.opt.Requests
		if isProbe(r) {
			crowd = probes
		}
		leave, ok := crowd.Acquire(r.RemoteAddr)
		if !ok {
			s.opt.Meter.Refused(access.Overload)
			s.harden(w.Header())
			if p, is := w.(*pacer); is {
				p.time = hasteTime
			}
			s.refuseUnread(w, r, fault.New(fault.Unavailable,
				"too many concurrent requests from this address, or to this server").After(time.Second))
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// Package httptool serves a catalogue of tools over HTTP, and contains a client for such a server
// (CONTRACT §5).
//
// Routes, arguments and documentation are derived from the Specs of the tools; the package knows no
// tool by name. A request passes these steps in order: recovery from panics, the log line, the pace
// at which the response must be read, the limits of requests in flight and of body size, the
// headers of every response, the checks of the peer and of Host, the public OAuth metadata, the
// check of Origin, and then its route. The body is not read, and no store is used, before the
// caller is authenticated. After that the request counts against the share of its tenant; see
// access.Shares.
//
// The steps are the functions that New composes; each has a file with its name or subject. route.go
// finds the tool of a request, args.go its arguments, and answer.go writes the response. Options
// are what a deployment can set. client.go is the client, which shares only the names of headers
// and the size of a body with the server.
//
// A response to a call is complete in memory before its first byte is sent, so its status is always
// right, and a slow client keeps no store open.
package httptool

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A server is the state shared by all requests.
type server struct {
	cat    *tool.Catalogue
	opt    Options
	routes []*route
	pages  map[string]http.HandlerFunc // pages other than tools, by path
}

// New returns the handler of a catalogue. It panics if the path of a tool contains a parameter that
// is not an argument, which is an error in the program. The handler is safe for concurrent use;
// pages are built on their first request.
func New(cat *tool.Catalogue, o Options) http.Handler {
	s := &server{cat: cat, opt: o.filled()}
	s.routes, s.pages = routesOf(cat.Tools(), o.Only), s.pagesOf()
	s.opt.Meter.Routes(s.patterns()...)
	zip, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		panic("httptool: the options of compression are malformed: " + err.Error())
	}
	served := s.serveMounts(zip(http.HandlerFunc(s.serve)))
	return s.observe(s.pace(s.limitInFlight(s.guard(s.serveMetadata(s.checkOrigin(served))))))
}

// pagesOf returns the pages other than tools, by path; none if only some families are served,
// because the handler beside them serves these pages.
func (s *server) pagesOf() map[string]http.HandlerFunc {
	pages := map[string]http.HandlerFunc{}
	if s.opt.Only != nil {
		return pages
	}
	pages["/healthz"], pages["/readyz"] = s.healthy, s.ready
	if s.opt.Docs != nil {
		pages["/docs"] = s.docs(s.opt.Docs)
		pages["/"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/docs", http.StatusFound) }
	}
	if s.opt.Document != nil {
		pages["/openapi.json"] = s.document(s.opt.Document)
	}
	return pages
}

// patterns returns all routes that can occur in logs and metrics. Metrics announce them at the
// start, so that each has a series from the beginning.
func (s *server) patterns() []string {
	all := []string{preflight}
	if s.opt.Only == nil {
		all = append(all, access.WellKnown)
	}
	for _, r := range s.routes {
		all = append(all, r.pattern)
	}
	all = slices.AppendSeq(all, maps.Keys(s.pages))
	return slices.AppendSeq(all, maps.Keys(s.opt.Mount))
}

// serveMounts passes requests to mounted handlers, and all others to next. They have passed the
// checks of every request, but not authentication, and their responses are not compressed here.
func (s *server) serveMounts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, at := s.mountOf(r.URL.Path); h != nil {
			noteOf(r).route = at
			h.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mountOf returns the handler mounted at a path or above it, with the path where it is mounted, or
// nil. No two handlers may be mounted at paths of which one contains the other.
func (s *server) mountOf(path string) (h http.Handler, at string) {
	for at, h := range s.opt.Mount {
		if path == at || strings.HasPrefix(path, at+"/") {
			return h, at
		}
	}
	return nil, ""
}

// serve answers a request for a page or a tool. Pages are found by their exact path, and have only
// GET and HEAD.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if page, ok := s.pages[path]; ok {
		noteOf(r).route = path
		if !reads(r.Method) {
			s.notAllowed(w, r, []string{http.MethodGet})
			return
		}
		page(w, r)
		return
	}
	c, err := s.find(r)
	if err != nil {
		s.refuseUnrouted(w, r, err)
		return
	}
	noteOf(r).route, noteOf(r).tool = c.pattern, c.tool
	s.call(w, r, c)
}

// call authenticates a request, calls its tool and writes the response. The request counts against
// the share of its caller from its authentication to the end of the response. The headers of the
// rate limit are sent with refusals too.
func (s *server) call(w http.ResponseWriter, r *http.Request, c *call) {
	caller, err := s.caller(r)
	if err != nil {
		s.refuseUnread(w, r, fault.Of(err))
		return
	}
	flight, err := s.opt.Shares.Begin(caller)
	if err != nil {
		s.opt.Meter.Refused(access.Overload)
		s.refuseUnread(w, r, fault.Of(err))
		return
	}
	defer flight.End()
	a, err := s.do(r, c, caller, flight)
	access.SetRateHeaders(w.Header(), *caller.Allowance)
	if err != nil {
		s.refuse(w, r, fault.Of(err))
		return
	}
	s.write(w, r, a)
}

// do reads the arguments of a call and makes the call when the caller's share allows it. The call
// has ended before its answer is written. An error means that the call was not made. A call that
// does not reach its tool, because of its name or its arguments, is counted here, so that mistakes
// count against the rate limit.
func (s *server) do(
	r *http.Request, c *call, caller auth.Caller, flight *access.Flight,
) (answer, error) {
	httpbody.Count(r, flight.Take)
	request, bare, err := c.request(r, &caller)
	ctx := auth.WithCaller(r.Context(), caller)
	if c.tool == nil || err != nil && !fault.Is(err, fault.Unavailable) {
		err = cmp.Or(s.opt.Count(ctx, caller), err) // not counted by a tool
	}
	if err == nil {
		err = flight.Run(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	noteOf(r).told = s.opt.Audited && c.tool != nil
	a := s.cat.Do(ctx, request)
	flight.Answered(len(a.JSON()))
	return answer{a, bare}, nil
}

// reads reports whether a method is GET or HEAD.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// MaxBody is the maximum size of a request body in bytes (CONTRACT §9).
const MaxBody = tool.MaxBody

// maxRequests is the default limit of requests in flight.
const maxRequests = 2048

// Options configure a handler. The zero value trusts every caller, and serves only requests to
// loopback names. Functions in it must be safe for concurrent use.
type Options struct {
	// Hosts are the names of the server, each as host:port, or as host alone for the default port.
	// Requests for other names, and from pages of other origins, are refused. Empty: the loopback
	// names with the port of the listener.
	Hosts []string

	// Origins are the origins of other sites whose pages may call the server, in the form that
	// browsers send: https://notes.example.test. Such a page must send a token like any other
	// client; credentials of the browser are never allowed. Entries that are not origins, such as
	// null or *, are ignored. Empty: no other site may.
	Origins []string

	// Only are the families whose routes are served, for one of several handlers behind a gateway
	// that sends each its own paths. Routes by tool name, pages and metadata are then not served,
	// and Mount must be empty. Nil: everything is served.
	Only []*tool.Family

	// Decoded says that a gateway decodes the paths of requests before they arrive, so that a slash
	// in an id becomes a slash of the path. If no route matches such a path, a parameter at the end
	// of a route matches all the rest. The gateway must pass on a path that is escaped again, and
	// the path cannot contain a ?.
	Decoded bool

	// Peer returns nil for a request that arrived unread and unchanged, otherwise a fault that says
	// why this cannot be known. It is called first, for all requests except health checks. Nil:
	// every request is accepted.
	Peer func(*http.Request) *fault.Fault

	// Authenticate returns the caller of a request. Nil: every request has auth.LocalCaller. It is
	// called before any of the body is read, and never for a request with two tokens.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Shares divides calls, requests in flight, and the bytes of bodies and answers among tenants
	// and principals. Nil: no limits.
	Shares *access.Shares

	// Count counts a request that is not counted by a tool, such as one for an unknown tool. If it
	// returns an error, that is the answer. Nil: such requests are not counted.
	Count func(context.Context, auth.Caller) error

	// Resource describes the server to OAuth clients.
	Resource access.Resource

	// Requests limits the requests in flight of each address and in total, for all protocols. A
	// request above the limit is UNAVAILABLE, before anything is read or done. Health checks have a
	// limit of their own. Nil: 2048 in total.
	Requests *forwarded.AddressLimiter

	// Ready returns nil if calls can be served, otherwise the reason why not. /readyz calls it and
	// shows an UNAVAILABLE fault with a `reason` in its details; other errors are only logged. Nil:
	// always ready.
	Ready func(context.Context) error

	// Document returns the content of /openapi.json. It is called on the first request. Nil: there
	// is no such page.
	Document func() ([]byte, error)

	// Docs is the HTML of /docs, which describes the tools for people. It must not load other
	// resources, and may contain one style and one script. VersionMark in it is replaced by
	// Version. Nil: there is no such page.
	Docs []byte

	// Mount are handlers of other protocols, by the path at and below which they are served. They
	// receive their full path, and authenticate callers themselves. A handler that is a Resource
	// has metadata of its own.
	Mount map[string]http.Handler

	// Audited says that the catalogue logs each call. The log line of a request that makes a call
	// then has level Debug, so that a call is logged only once.
	Audited bool

	Version string       // of the program, shown in /docs
	Log     *slog.Logger // receives one line for each request; nil: none
	Meter   Meter        // nil: nothing is counted
}

// A Meter counts requests. It must be safe for concurrent use. It gets no path, host or caller, so
// metrics cannot contain them.
type Meter interface {
	Routes(patterns ...string)                                    // announces the routes that Request may get
	Request(route, method string, status int, took time.Duration) // counts an answered request
	Panic()                                                       // counts a panic in a handler
	Refused(why access.Reason)                                    // counts a refused request
}

// A Resource is a mounted handler that OAuth clients can discover.
type Resource interface {
	http.Handler

	// Serves reports whether a path belongs to the resource. It does no I/O and no authentication.
	Serves(path string) bool
}

// unmetered is a Meter that counts nothing.
type unmetered struct{}

func (unmetered) Routes(...string)                           {}
func (unmetered) Request(string, string, int, time.Duration) {}
func (unmetered) Panic()                                     {}
func (unmetered) Refused(access.Reason)                      {}

// filled returns the options with defaults for missing values. It leaves out origins that are not
// valid, and makes requests with two tokens fail.
func (o Options) filled() Options {
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.LocalCaller(), nil }
	}
	o.Authenticate = access.OneToken(o.Authenticate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Peer == nil {
		o.Peer = func(*http.Request) *fault.Fault { return nil }
	}
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	o.Origins = slices.DeleteFunc(slices.Clone(o.Origins), isNoOrigin)
	if o.Count == nil {
		o.Count = func(context.Context, auth.Caller) error { return nil }
	}
	if o.Requests == nil {
		o.Requests = forwarded.NewAddressLimiter(maxRequests, forwarded.Proxies{})
	}
	return o
}

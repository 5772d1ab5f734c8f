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
// finds the tool of a request, args.go its arguments, and answer.go writes the response. options.go
// is what a deployment can set. client.go, clientfault.go and post.go are the client, which shares only the names of headers and the size of a body with the server.
//
// A response to a call is complete in memory before its first byte is sent, so its status is always
// right, and a slow client keeps no store open.
package httptool

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
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

// Package httptool serves a catalogue over HTTP, and calls one that is served so (CONTRACT §5).
//
// Routes, arguments and documentation are derived from the tools' Specs; the package knows no tool
// by name. A request passes, in this order: a net for panics, the log line, the pace at which its answer
// must be read, the limits of requests of an address and of bodies, the headers that every answer has, the
// check of how it came and of Host, what everybody may read of where tokens are to be had, the check of
// Origin, and then its route. Nothing of its body is read, and no store is asked, before it is known who
// sends it. Only then it has a share of what its tenant may do at once; see access.Shares.
package httptool

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/payload"
	"rookery/internal/tool"
)

// server is what all requests share.
type server struct {
	cat    *tool.Catalogue
	opt    Options
	routes []*route
	pages  map[string]http.HandlerFunc // what is served beside the tools, by path
}

// New makes the handler of a catalogue. It panics if a tool has a parameter in its path that is no
// argument: the program is malformed.
func New(cat *tool.Catalogue, o Options) http.Handler {
	s := &server{cat: cat, opt: o.filled()}
	s.routes, s.pages = routesOf(cat.Tools(), o.Only), s.pagesOf()
	s.opt.Meter.Routes(s.patterns()...)
	zip, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		panic("httptool: the options of compression are malformed: " + err.Error())
	}
	served := s.mounted(zip(http.HandlerFunc(s.serve)))
	return s.observed(s.paced(s.crowded(s.guarded(s.described(s.invited(served))))))
}

// pagesOf are the pages beside the tools, by path: none where only some families are served.
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

// patterns are all routes that a request can have in the log and in metrics.
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

// mounted serves what other handlers are mounted for, and leaves the rest to next.
func (s *server) mounted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, at := s.mountOf(r.URL.Path); h != nil {
			noteOf(r).route = at
			h.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mountOf is the handler that is mounted for a path, and where; nil if none is.
func (s *server) mountOf(path string) (h http.Handler, at string) {
	for at, h := range s.opt.Mount {
		if path == at || strings.HasPrefix(path, at+"/") {
			return h, at
		}
	}
	return nil, ""
}

// serve answers a request for a page or a tool.
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
		s.lost(w, r, err)
		return
	}
	noteOf(r).route, noteOf(r).tool = c.pattern, c.tool
	s.call(w, r, c)
}

// call calls a tool and writes what it answers.
func (s *server) call(w http.ResponseWriter, r *http.Request, c *call) {
	caller, err := s.caller(r)
	if err != nil {
		s.turnAway(w, r, fault.Of(err))
		return
	}
	flight, err := s.opt.Shares.Begin(caller)
	if err != nil {
		s.opt.Meter.Refused(access.Overload)
		s.turnAway(w, r, fault.Of(err))
		return
	}
	defer flight.End()
	a, err := s.invoke(r, c, caller, flight)
	access.Spent(w.Header(), *caller.Allowance)
	if err != nil {
		s.refuse(w, r, fault.Of(err))
		return
	}
	s.write(w, r, a)
}

// invoke reads the arguments of a call and makes it when its turn comes. The call is over before its answer
// is written. An error says that it was not made.
func (s *server) invoke(
	r *http.Request, c *call, caller auth.Caller, flight *access.Flight,
) (answer, error) {
	payload.Count(r, flight.Take)
	args, bare, err := c.arguments(r, &caller)
	ctx := auth.WithCaller(r.Context(), caller)
	if c.tool == nil || err != nil && !fault.Is(err, fault.Unavailable) {
		err = cmp.Or(s.opt.Count(ctx, caller), err) // no tool counts it
	}
	if err == nil {
		err = flight.Run(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	noteOf(r).told = s.opt.Audited && c.tool != nil
	data, err := s.cat.Invoke(ctx, c.name, args)
	flight.Answered(len(data))
	return answer{data: data, err: err, bare: bare}, nil
}

// reads reports whether a method is one of those that only read.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

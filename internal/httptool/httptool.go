// Package httptool serves a catalogue over HTTP, and calls one that is served so (CONTRACT §5).
//
// Routes, arguments and documentation are derived from the tools' Specs; the package knows no tool
// by name. A request passes, in this order: a net for panics, the log line, the headers that every
// answer has, the check of Host and Origin, the limit of bodies, and then its route.
package httptool

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// MaxBody is the number of bytes that the body of a request may have (CONTRACT §9).
const MaxBody = tool.MaxBody

// Options are what a handler is made with, beside its catalogue. The zero value serves everybody on
// loopback.
type Options struct {
	// Hosts are the names that the server is called by, each host:port, or host alone for the
	// default port. A request for another name, or from a page of another origin, is refused.
	// Empty: the names of loopback, with the port of the listener.
	Hosts []string

	// Authenticate says who sent a request. Nil: everybody is auth.LocalCaller.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Ready is nil while calls can be served, and else says why not; only the log shows the reason.
	// /readyz asks it. Without one they always can.
	Ready func(context.Context) error

	// Document is what /openapi.json answers. Empty: there is no such page.
	Document []byte

	// Mount are handlers of other protocols, by the path that they and all below it are served at.
	// They see their own path, and authenticate their callers themselves.
	Mount map[string]http.Handler

	Version string       // of the program, shown in /docs
	Log     *slog.Logger // one line a request; nil: none
}

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
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.LocalCaller(), nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{cat: cat, opt: o, routes: routesOf(cat.Tools())}
	s.pages = map[string]http.HandlerFunc{
		"/healthz": s.healthy, "/readyz": s.ready, "/docs": s.docs(),
	}
	if len(o.Document) > 0 {
		s.pages["/openapi.json"] = s.document
	}
	zip, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		panic("httptool: the options of compression are malformed: " + err.Error())
	}
	return s.observed(s.guarded(s.mounted(zip(http.HandlerFunc(s.serve)))))
}

// mounted serves what other handlers are mounted for, and leaves the rest to next.
func (s *server) mounted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for at, h := range s.opt.Mount {
			if r.URL.Path == at || strings.HasPrefix(r.URL.Path, at+"/") {
				noteOf(r).route = at
				h.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers a request for a page or a tool.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if page, ok := s.pages[path]; ok {
		noteOf(r).route = path
		if !reads(r.Method) {
			notAllowed(w, r, []string{http.MethodGet})
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
		refuse(w, r, fault.Of(err))
		return
	}
	args, bare, err := c.arguments(r)
	if err != nil {
		refuse(w, r, fault.Of(err))
		return
	}
	data, err := s.cat.Invoke(auth.WithCaller(r.Context(), caller), c.name, args)
	write(w, r, answer{data: data, err: err, bare: bare})
}

// reads reports whether a method is one of those that only read.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

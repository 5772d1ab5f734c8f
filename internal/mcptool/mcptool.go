// Package mcptool serves a catalogue of tools over the Model Context Protocol (CONTRACT §6).
//
// The endpoint is stateless: each POST is answered by a server object that exists only for that
// request, so that any instance can answer any request. Both generations of the protocol are
// supported: 2026-07-28, which has no sessions, and the earlier ones, whose `initialize` is
// answered without creating a session.
//
// Resources, prompts and completions are tools whose Spec declares them as such. Lists of tools
// omit prompts and tools that complete.
//
// The path and the headers of a request determine the tools in its view. A tool outside the view
// cannot be called. A tool that the caller's role, or a read-only path or header, does not permit
// is not listed, but a call of it reaches the catalogue, which refuses it with PERMISSION_DENIED or
// READ_ONLY.
//
// The paths are /mcp, with a short list of the tools that most agents need; /mcp/x/{set}[,{set}…]
// and /mcp/x/all, with the tools of some families or all; and the same below /mcp/readonly. Lists
// are short because every model reads them: arguments that are rarely used, and members of optional
// objects, are left out, but accepted.
//
// The SDK speaks the protocol. This package authenticates a request (mcptool.go, message.go),
// determines its view (view.go), answers lists from the catalogue (listentry.go, resource.go), and
// calls tools for the SDK (exchange.go, resource.go). message.go turns refusals of the SDK and of
// tools into responses with the right status.
//
// A request is refused in two ways. Before its messages are handled, it gets an HTTP status and a
// JSON-RPC error. After that, a call that fails is a successful response with an envelope, because
// a model can read only that. There is one exception: a call that a better token would permit makes
// the whole request 401 or 403 with a challenge, so that the client can ask its user for that
// token.
package mcptool

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Path is where the handler must be mounted: it serves this path and everything below.
const Path = "/mcp"

// maxBody is the maximum size of a request body in bytes (CONTRACT §5).
const maxBody = tool.MaxBody

// Options configure an endpoint. The zero value works. Functions in it must be safe for concurrent
// use.
type Options struct {
	// First names the tools that Path itself lists, in this order. Unknown names are ignored, so
	// that one list serves catalogues of different sizes.
	First []string

	// Authenticate returns the caller of a request. Nil: every request has auth.LocalCaller. It is
	// called before any of the body is read, and never for a request with two tokens.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Shares divides calls, requests in flight, and the bytes of bodies and answers among tenants
	// and principals. Nil: no limits.
	Shares *access.Shares

	// Count counts a message that does not call a tool. If it returns an error, that is the answer.
	// Nil: such messages are not counted.
	Count func(context.Context, auth.Caller) error

	// Resource describes the server to OAuth clients. Each path of the endpoint is a resource of
	// its own; the HTTP server in which the endpoint is mounted serves the metadata.
	Resource access.Resource

	Documents []Document // served to every caller, first in the list of resources
	PageSize  int        // of the list of resources; 0: tool.MaxValues

	// Instructions returns the text for a model that a client gets when it connects. Nil: no text.
	Instructions func(Offer) string

	Version string // of the program
	Log     *slog.Logger
	Meter   Meter // nil: nothing is counted
}

// An Offer is what a client can do with its path and role.
type Offer struct {
	Tools  []string // long names of the tools that are listed
	Writes bool     // at least one of them changes something
}

// A Meter counts refused requests. It must be safe for concurrent use. Calls are counted by the
// catalogue.
type Meter interface {
	Refused(why access.Reason)
}

// unmetered is a Meter that counts nothing.
type unmetered struct{}

func (unmetered) Refused(access.Reason) {}

// New returns the handler of an endpoint, which is an httptool.Resource. It checks neither Host nor
// Origin, and limits only the body size: the HTTP server in which it is mounted does the rest. It
// panics if the list of resources would contain values of several kinds.
func New(cat *tool.Catalogue, o Options) http.Handler { return newEndpoint(cat, o) }

// An endpoint is the state shared by all requests.
type endpoint struct {
	cat   *tool.Catalogue
	opt   Options
	first []*tool.Tool
	pages map[*tool.Tool]func() *mcp.Tool // list entries with long names
	short map[*tool.Tool]func() *mcp.Tool // list entries for Path
}

// newEndpoint returns an endpoint with defaults for missing options. List entries are built on
// first use, because a function in the cloud serves few requests before it ends.
func newEndpoint(cat *tool.Catalogue, o Options) *endpoint {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.LocalCaller(), nil }
	}
	o.Authenticate = access.OneToken(o.Authenticate)
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	if o.Count == nil {
		o.Count = func(context.Context, auth.Caller) error { return nil }
	}
	e := &endpoint{cat: cat, opt: o, pages: map[*tool.Tool]func() *mcp.Tool{},
		short: map[*tool.Tool]func() *mcp.Tool{}}
	for _, name := range o.First {
		if t, ok := cat.Find(name); ok {
			e.first = append(e.first, t)
			e.short[t] = sync.OnceValue(func() *mcp.Tool { return shortPage(t) })
		}
	}
	for _, t := range cat.Tools() {
		e.pages[t] = sync.OnceValue(func() *mcp.Tool { return page(t) })
	}
	checkEach(cat.Tools())
	return e
}

// Serves reports whether a path belongs to the endpoint. It implements httptool.Resource: each such
// path is a resource of OAuth.
func (e *endpoint) Serves(path string) bool {
	if path != Path && !strings.HasPrefix(path, Path+"/") {
		return false
	}
	_, f := e.atPath(path)
	return f == nil
}

// ServeHTTP answers one request. It authenticates before it reads the body. The body of a refused
// request is read only far enough to find its JSON-RPC id, because a client that cannot match a
// refusal to a call closes the connection.
//
// The order is: the path, the method, the caller and its headers, the share of its tenant, and then
// the messages. Every refusal is a JSON-RPC error with the HTTP status of its fault.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w, request: access.RequestID(
		cmp.Or(w.Header().Get("X-Request-Id"), r.Header.Get("X-Request-Id")))}
	w.Header().Set("X-Request-Id", out.request)
	httpbody.Bound(w, r, maxBody)
	defer out.finish()
	v, f := e.atPath(r.URL.Path)
	if f != nil {
		e.refuseUnread(out, r, f)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		if r.ContentLength != 0 {
			httpbody.StopReading(w, r) // the body is not needed
		}
		out.refuse(http.StatusMethodNotAllowed, fault.New(fault.InvalidParameter,
			"an MCP endpoint accepts only POST; it has no streams and no sessions"))
		return
	}
	caller, err := e.admit(r, v)
	if err != nil {
		e.refuseUnread(out, r, err)
		return
	}
	flight, err := e.opt.Shares.Begin(caller)
	if err != nil {
		e.opt.Meter.Refused(access.Overload)
		e.refuseUnread(out, r, err)
		return
	}
	defer flight.End()
	caller.RequestID = out.request
	x := &exchange{endpoint: e, view: v, caller: caller}
	out.outcome, out.flight = &x.outcome, flight
	e.exchange(out, r, x)
}

// exchange answers the messages of an authenticated request. They run as one call, which has ended
// when the response begins. A request that is refused before a message was counted is counted here,
// so that malformed requests count against the rate limit.
func (e *endpoint) exchange(out *answer, r *http.Request, x *exchange) {
	httpbody.Count(r, out.flight.Take)
	body, f := read(r)
	out.id = idOf(body)
	if f == nil {
		if f = headersAgree(r.Header, body); f != nil {
			out.code = mcp.CodeHeaderMismatch
		}
	}
	if f == nil {
		f = faultOf(out.flight.Run(r.Context()))
	} else if over := faultOf(x.count(r.Context())); over != nil {
		f = over
	}
	if f != nil {
		e.refuse(out, r, f)
		return
	}
	x.lone = !isBatch(body)
	e.serve(out, r, x, body)
	if !x.counted.Load() {
		_ = x.count(r.Context()) // the SDK has refused the request
	}
}

// faultOf returns an error as a fault, or nil.
func faultOf(err error) *fault.Fault {
	if err == nil {
		return nil
	}
	return fault.Of(err)
}

// serve passes a valid HTTP request to the SDK. The answer of the SDK is replaced if a call was
// refused for lack of a better token; see outcome. Everything that the SDK would do for browsers
// and sessions is off, because the HTTP server does it, or because there are none.
func (e *endpoint) serve(out *answer, r *http.Request, x *exchange, body []byte) {
	ctx, cancel := context.WithTimeout(r.Context(), turnTimeout)
	defer cancel()
	x.turn = newTurn(ctx)
	server := x.server()
	x.offer(server, calledIn(body))
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Del("Last-Event-ID") // streams cannot be resumed, but clients may send it
	if name, _ := plainHeader(r.Header.Get(nameHeader)); name != "" {
		r.Header.Set(nameHeader, name) // the SDK compares it without decoding
	}
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, Logger: e.opt.Log, MaxRequestBodyBytes: maxBody,
			DisableLocalhostProtection: true, PropagateRequestCancellation: true,
		}).ServeHTTP(out, r)
	if f := x.refusal(); f != nil {
		e.refuse(out, r, f)
	}
}

// admit authenticates a request, and narrows the view by the headers. The caller gets the agent and
// the session of the headers, and is read-only if the path or a header says so. The error is a
// fault.
func (e *endpoint) admit(r *http.Request, v *view) (auth.Caller, error) {
	caller, err := e.opt.Authenticate(r)
	if err != nil {
		return caller, err
	}
	h := r.Header
	if f := e.narrow(v, h); f != nil {
		return caller, f
	}
	readOnly, f := flag(h, "X-Readonly")
	if f != nil {
		return caller, f
	}
	for name, field := range map[string]*string{
		"X-Agent-Id": &caller.Agent, "X-Session-Id": &caller.Session,
	} {
		value := h.Get(name)
		if utf8.RuneCountInString(value) > tool.MaxActor || len(h.Values(name)) > 1 || !utf8.ValidString(value) {
			return caller, fault.New(fault.InvalidParameter,
				"header %s must be one value in UTF-8, of at most %d characters", name, tool.MaxActor)
		}
		*field = cmp.Or(value, *field)
	}
	caller.ReadOnly = caller.ReadOnly || readOnly || v.readOnly
	return caller, nil
}

// Package mcptool serves a catalogue of tools over the Model Context Protocol (CONTRACT §6), and
// calls one that is served so.
//
// The endpoint is stateless: each POST is answered by a server that is made for it and forgotten,
// so any instance can answer any call. Both eras of the protocol are spoken: 2026-07-28, which
// knows no sessions, and the ones before it, whose `initialize` is answered without giving one.
//
// Resources, prompts and completions are tools too, which say in their Spec that they are; a list of
// tools leaves out prompts and what completes.
//
// The path and the headers of a request say which tools it sees; see view. What a request does not
// see for that reason it cannot call either. What the caller's role, or a read-only path or header,
// takes away is not listed, but a call of it reaches the catalogue, which refuses it in its own
// words: PERMISSION_DENIED or READ_ONLY.
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

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/payload"
	"rookery/internal/tool"
)

// Path is where the handler belongs: at this path, and everything beneath.
const Path = "/mcp"

// maxBody is how much of a request is read (CONTRACT §5).
const maxBody = tool.MaxBody

// maxName is the longest agent or session that a header may give.
const maxName = 128

// Options are what an endpoint is made with, beside its catalogue. The zero value works.
type Options struct {
	// First names the tools that Path itself lists, in this order. Names that no tool has are left
	// out, so that one list serves catalogues of different sizes.
	First []string

	// Authenticate says who sent a request. Nil: everybody is auth.LocalCaller. It is asked before
	// anything of the body is read, and never about a request that shows two tokens.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Shares divide calls, requests in flight and the bytes of bodies and answers among tenants and
	// principals. Nil sets no limits.
	Shares *access.Shares

	// Count counts a message of a caller that calls no tool. An error is the answer. Nil: nothing is
	// counted.
	Count func(context.Context, auth.Caller) error

	// Resource is what the server is to clients of OAuth: each path of the endpoint is one, with
	// metadata of its own, which the server that it is mounted in answers.
	Resource access.Resource

	Documents []Document // served to everybody, first in the list of resources
	PageSize  int        // of the list of resources; 0: tool.MaxValues

	// Instructions writes the text that a client gets when it connects, for a model. Nil: no text.
	Instructions func(Offer) string

	Version string // of the program
	Log     *slog.Logger
	Meter   Meter // nil: nobody counts
}

// An Offer says what a client can do at the path and in the role in which it connects.
type Offer struct {
	Tools  []string // the long names of the tools that it is shown
	Writes bool     // a tool that changes something is among them
}

// A Meter counts requests that are turned away.
type Meter interface {
	Refused(why access.Reason)
}

// unmetered is the Meter of nobody.
type unmetered struct{}

func (unmetered) Refused(access.Reason) {}

// New makes the handler of an endpoint, which is an httptool.Resource. It checks neither Host nor Origin,
// and sets no limits but that of a body: these are the business of the server that it is mounted in.
func New(cat *tool.Catalogue, o Options) http.Handler { return newEndpoint(cat, o) }

// An endpoint is what all requests share.
type endpoint struct {
	cat   *tool.Catalogue
	opt   Options
	first []*tool.Tool
	pages map[*tool.Tool]func() *mcp.Tool // the entries of lists, by their long names
	short map[*tool.Tool]func() *mcp.Tool // the entries of the list of Path
}

func newEndpoint(cat *tool.Catalogue, o Options) *endpoint {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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

// Serves reports whether a path is one of the endpoint's.
func (e *endpoint) Serves(path string) bool {
	if path != Path && !strings.HasPrefix(path, Path+"/") {
		return false
	}
	_, f := e.atPath(path)
	return f == nil
}

// ServeHTTP answers one request. Who sends it is asked first. The body of one that is refused is read as
// far as its id may be: a refusal bears the id of the message that it answers, for a client that cannot
// tell which of its calls was refused gives up the connection.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w, request: access.RequestID(
		cmp.Or(w.Header().Get("X-Request-Id"), r.Header.Get("X-Request-Id")))}
	w.Header().Set("X-Request-Id", out.request)
	payload.Bound(w, r, maxBody)
	defer out.finish()
	v, f := e.atPath(r.URL.Path)
	if f != nil {
		e.turnAway(out, r, f)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		if r.ContentLength != 0 {
			payload.Leave(w, r) // nobody waits for its body
		}
		out.refuse(http.StatusMethodNotAllowed, fault.New(fault.InvalidParameter,
			"an MCP endpoint takes POST only; it opens no streams and keeps no sessions"))
		return
	}
	caller, err := e.admit(r, v)
	if err != nil {
		e.turnAway(out, r, err)
		return
	}
	flight, err := e.opt.Shares.Begin(caller)
	if err != nil {
		e.opt.Meter.Refused(access.Overload)
		e.turnAway(out, r, err)
		return
	}
	defer flight.End()
	caller.RequestID = out.request
	x := &exchange{endpoint: e, view: v, caller: caller}
	out.outcome, out.flight = &x.outcome, flight
	e.exchange(out, r, x)
}

// exchange answers the messages of a request of a caller who is known. They run as one call, which is over
// when the answer begins.
func (e *endpoint) exchange(out *answer, r *http.Request, x *exchange) {
	payload.Count(r, out.flight.Take)
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
		_ = x.count(r.Context()) // the SDK has refused it, and says why
	}
}

// faultOf returns an error as a fault; nil for none.
func faultOf(err error) *fault.Fault {
	if err == nil {
		return nil
	}
	return fault.Of(err)
}

// serve answers a request that is of the right form as far as HTTP is concerned.
func (e *endpoint) serve(out *answer, r *http.Request, x *exchange, body []byte) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	x.turn = newTurn(ctx)
	server := x.server()
	x.offer(server, calledIn(body))
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Del("Last-Event-ID") // nothing can be resumed; a client may send it all the same
	if name, _ := plainHeader(r.Header.Get(nameHeader)); name != "" {
		r.Header.Set(nameHeader, name) // the SDK compares it as it is
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

// admit finds who calls, and narrows the view by the headers and by what the caller may see.
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
		if len(value) > maxName || len(h.Values(name)) > 1 || !utf8.ValidString(value) {
			return caller, fault.New(fault.InvalidParameter,
				"header %s must be one value in UTF-8, of at most %d bytes", name, maxName)
		}
		*field = cmp.Or(value, *field)
	}
	caller.ReadOnly = caller.ReadOnly || readOnly || v.readOnly
	return caller, nil
}

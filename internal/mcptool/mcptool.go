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
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// Path is where the handler belongs: at this path, and everything beneath.
const Path = "/mcp"

// maxBody is how much of a request is read (CONTRACT §5).
const maxBody = tool.MaxBody

// maxName is the longest agent, session or request id that a header may give.
const maxName = 128

// Options are what an endpoint is made with, beside its catalogue. The zero value works.
type Options struct {
	// First names the tools that Path itself lists, in this order. Names that no tool has are left
	// out, so that one list serves catalogues of different sizes.
	First []string

	// Authenticate says who sent a request. Nil: everybody is auth.LocalCaller.
	Authenticate func(*http.Request) (auth.Caller, error)

	Documents []Document // served to everybody, first in the list of resources
	PageSize  int        // of the list of resources; 0: tool.MaxValues

	Instructions string // for a model, given when a client connects
	Version      string // of the program
	Log          *slog.Logger

	// StdioPath is the path whose tools ServeStdio serves; empty: Path.
	StdioPath string
}

// New makes the handler of an endpoint. It checks neither Host nor Origin, and sets no limits but
// that of a body: these are the business of the server that it is mounted in.
func New(cat *tool.Catalogue, o Options) http.Handler { return newEndpoint(cat, o) }

// An endpoint is what all requests share.
type endpoint struct {
	cat   *tool.Catalogue
	opt   Options
	first []*tool.Tool
	pages map[*tool.Tool]*mcp.Tool // how each tool is listed, by its long name
}

func newEndpoint(cat *tool.Catalogue, o Options) *endpoint {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Authenticate == nil {
		o.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.LocalCaller(), nil }
	}
	e := &endpoint{cat: cat, opt: o, pages: map[*tool.Tool]*mcp.Tool{}}
	for _, name := range o.First {
		if t, ok := cat.Find(name); ok {
			e.first = append(e.first, t)
		}
	}
	for _, t := range cat.Tools() {
		e.pages[t] = page(t)
	}
	checkEach(cat.Tools())
	return e
}

// ServeHTTP answers one request. The body is read before anything can be refused, because a
// refusal bears the id of the message that it answers: a client that cannot tell which of its calls
// was refused gives up the connection.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w, request: requestID(w.Header().Get("X-Request-Id"), r)}
	w.Header().Set("X-Request-Id", out.request)
	defer out.finish()
	v, f := e.atPath(r.URL.Path)
	if f == nil && r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		out.refuse(http.StatusMethodNotAllowed, fault.New(fault.InvalidParameter,
			"an MCP endpoint takes POST only; it opens no streams and keeps no sessions"))
		return
	}
	body, tooLarge := read(r)
	out.id = idOf(body)
	switch {
	case f != nil:
		out.refuse(f.HTTP(), f)
	case tooLarge != nil:
		out.refuse(tooLarge.HTTP(), tooLarge)
	default:
		e.serve(out, r, v, body)
	}
}

// serve answers a request that is of the right form as far as HTTP is concerned.
func (e *endpoint) serve(out *answer, r *http.Request, v *view, body []byte) {
	caller, err := e.admit(r, v)
	if err != nil {
		e.refuse(out, r, err)
		return
	}
	caller.RequestID = out.request
	x := &exchange{endpoint: e, view: v, caller: caller}
	server := x.server()
	x.offer(server, calledIn(body))
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Del("Last-Event-ID") // nothing can be resumed; a client may send it all the same
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, Logger: e.opt.Log, MaxRequestBodyBytes: maxBody,
			DisableLocalhostProtection: true, PropagateRequestCancellation: true,
		}).ServeHTTP(out, r)
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
		if len(h.Get(name)) > maxName {
			return caller, fault.New(fault.InvalidParameter,
				"header %s is longer than %d bytes", name, maxName)
		}
		*field = cmp.Or(h.Get(name), *field)
	}
	caller.ReadOnly = caller.ReadOnly || readOnly || v.readOnly
	return caller, nil
}

// requestID is the id that the server around us has given the request; else the client's, if it can
// stand in a log line; else a new one.
func requestID(given string, r *http.Request) string {
	id := cmp.Or(given, r.Header.Get("X-Request-Id"))
	plain := !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' })
	if id == "" || len(id) > maxName || !plain {
		return rand.Text()
	}
	return id
}

// refuse answers a request that is not admitted.
func (e *endpoint) refuse(out *answer, r *http.Request, err error) {
	f := fault.Of(err)
	switch f.Status() {
	case fault.StatusInternal:
		e.opt.Log.ErrorContext(r.Context(), "request not admitted", slog.Any("cause", err))
	case fault.StatusUnauthenticated:
		out.Header().Set("WWW-Authenticate", "Bearer")
	}
	if f.RetryAfter > 0 {
		out.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	out.refuse(f.HTTP(), f)
}

// read reads the body, or as much of it as it may have. Of a larger one a few MiB more are thrown
// away: a client that is still sending when it is refused may not get to see the answer.
func read(r *http.Request) ([]byte, *fault.Fault) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, 4*maxBody) // what fails here is the client's loss
		f := fault.New(fault.BatchTooLarge, "the body of a request has at most %d bytes", maxBody).
			With("limit", maxBody).Fix("send it in several calls")
		f.BodyTooLarge = true
		return body, f
	}
	if err != nil {
		return body, fault.New(fault.InvalidParameter, "the body was cut off").Because(err)
	}
	if !json.Valid(body) {
		return body, fault.New(fault.InvalidParameter, "the body must be one JSON-RPC message")
	}
	return body, nil
}

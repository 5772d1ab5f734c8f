package httptool

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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

package httptool

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/peer"
	"rookery/internal/tool"
)

// MaxBody is the number of bytes that the body of a request may have (CONTRACT §9).
const MaxBody = tool.MaxBody

// maxRequests is how many requests are in flight at once by default.
const maxRequests = 2048

// Options are what a handler is made with, beside its catalogue. The zero value serves everybody on
// loopback.
type Options struct {
	// Hosts are the names that the server is called by, each host:port, or host alone for the
	// default port. A request for another name, or from a page of another origin, is refused.
	// Empty: the names of loopback, with the port of the listener.
	Hosts []string

	// Origins are those of other sites whose pages may call the server, as browsers write them:
	// https://notes.example.test. Such a page must show a token, as everybody must: a browser is
	// never told to send credentials of its own. What is no origin, such as null or *, is nobody's.
	// Empty: no other site may.
	Origins []string

	// Only are the families whose routes are served, for one of several handlers behind a gateway that sends
	// each its own paths. Tools by their names, pages and metadata are then not served, and Mount must be
	// empty. Nil: everything is served.
	Only []*tool.Family

	// Decoded says that a gateway decodes the paths of requests before they come here, so that a slash in an
	// id is one of the path. Where no route has a path, and one ends in a parameter, that takes all the rest.
	// The gateway must pass on a path that is escaped again, and no ? can be in it.
	Decoded bool

	// Peer is nil for a request that came to us unread and unchanged; else it says why that cannot
	// be known. It is asked first, about all but the probes. Nil: all are.
	Peer func(*http.Request) *fault.Fault

	// Authenticate says who sent a request. Nil: everybody is auth.LocalCaller. It is asked before
	// anything of the body is read, and never about a request that shows two tokens.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Shares divide calls, requests in flight and the bytes of bodies and answers among tenants and
	// principals. Nil sets no limits.
	Shares *access.Shares

	// Count counts a request of a caller that no tool counts, such as one that names no tool. An error is
	// the answer. Nil: nothing is counted.
	Count func(context.Context, auth.Caller) error

	// Resource is what the server is to clients of OAuth.
	Resource access.Resource

	// Requests limits the requests in flight of each address and of all, whatever their protocol. One more
	// is UNAVAILABLE, before anything is read or asked. Probes have a limit of their own. Nil: 2048 of all.
	Requests *peer.Crowd

	// Ready is nil while calls can be served, and else says why not. /readyz asks it, and shows an
	// UNAVAILABLE that has a reason in its details; of any other error only the log shows the cause. Without
	// one they always can.
	Ready func(context.Context) error

	// Document makes what /openapi.json answers, when it is first asked for. Nil: there is no such page.
	Document func() ([]byte, error)

	// Docs is what /docs answers, in HTML: it describes the tools for people. It needs nothing from elsewhere,
	// has one style, in its text, and is shown with Version in place of VersionMark. Nil: there is no such page.
	Docs []byte

	// Mount are handlers of other protocols, by the path that they and all below it are served at.
	// They see their own path, and authenticate their callers themselves. One that is a Resource has
	// its own metadata.
	Mount map[string]http.Handler

	// Audited says that the catalogue logs each call: a request that makes one is then logged for debugging
	// only, so that a read is one line.
	Audited bool

	Version string       // of the program, shown in /docs
	Log     *slog.Logger // one line a request; nil: none
	Meter   Meter        // nil: nobody counts
}

// A Meter counts requests. All methods may be called at once by many.
type Meter interface {
	Routes(patterns ...string)                                    // those that Request may name
	Request(route, method string, status int, took time.Duration) // one was answered
	Panic()                                                       // a handler has panicked
	Refused(why access.Reason)                                    // one was turned away
}

// A Resource is a mounted handler that clients of OAuth may find by themselves.
type Resource interface {
	http.Handler

	// Serves reports whether a path is one of its own. It asks nothing and nobody.
	Serves(path string) bool
}

// unmetered is the Meter of nobody.
type unmetered struct{}

func (unmetered) Routes(...string)                           {}
func (unmetered) Request(string, string, int, time.Duration) {}
func (unmetered) Panic()                                     {}
func (unmetered) Refused(access.Reason)                      {}

// filled are the options with what stands for those that were not given.
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
		o.Requests = peer.NewCrowd(maxRequests, peer.Proxies{})
	}
	return o
}

package awsapp

import (
	"bytes"
	"context"
	"encoding/base64"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A request is a decoded event of an HTTP API, payload format 2.0. It is in the context of the
// adapter's request, which restored replaces by the request of the client.
type request struct {
	event *events.APIGatewayV2HTTPRequest
	url   *url.URL
	body  string
}

type requestKey struct{}

// isEscaped reports whether the path of an event is still escaped. An HTTP API decodes paths; a
// function URL does not. The domain of the event shows which of the two sent it. An escaped slash
// in a path is therefore ambiguous behind an HTTP API; docs/design/0036 has the consequences.
func isEscaped(e *events.APIGatewayV2HTTPRequest) bool {
	host, _, _ := strings.Cut(e.RequestContext.DomainName, ":")
	_, region, of := strings.Cut(host, ".lambda-url.")
	return of && region != ""
}

// read decodes an event. Its error is a fault.
func read(e *events.APIGatewayV2HTTPRequest) (*request, error) {
	r := &request{event: e, body: e.Body}
	var err error
	if r.url, err = urlOf(e); err != nil {
		return nil, err
	}
	if e.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			return nil, fault.New(fault.InvalidParameter, "the body of the event is not base64")
		}
		r.body = string(body)
	}
	return r, nil
}

// urlOf returns the URL of a request as in net/http: path and query.
func urlOf(e *events.APIGatewayV2HTTPRequest) (*url.URL, error) {
	path := e.RawPath
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := &url.URL{Path: path, RawQuery: e.RawQueryString}
	if isEscaped(e) {
		var err error
		if u.Path, err = url.PathUnescape(path); err != nil {
			return nil, fault.New(fault.InvalidPath, "the path of the request is not escaped UTF-8")
		}
		u.RawPath = path
	}
	return u, nil
}

// bare returns an event with only a body. The adapter would split headers at commas, cut a query at
// a #, and print paths that it cannot parse, so restored adds everything else to its request.
func (r *request) bare() events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: "/", Body: r.body}
	e.RequestContext.DomainName, e.RequestContext.HTTP.Method = "gateway", http.MethodPost
	return e
}

// restore sets the fields of the adapter's request as net/http would have.
func (r *request) restore(to *http.Request) {
	about := r.event.RequestContext
	to.Method, to.Host = about.HTTP.Method, about.DomainName
	to.URL, to.RequestURI = r.url, r.url.RequestURI()
	to.RemoteAddr = net.JoinHostPort(about.HTTP.SourceIP, "0")
	to.Header = r.headers()
}

// headers returns the headers of a request, with one value for each name, which the gateway has
// joined from all values. If the client sent no request id, that of the gateway is used.
func (r *request) headers() http.Header {
	h := make(http.Header, len(r.event.Headers)+1)
	for _, name := range slices.Sorted(maps.Keys(r.event.Headers)) {
		h.Add(name, r.event.Headers[name])
	}
	if len(r.event.Cookies) > 0 {
		h.Set("Cookie", strings.Join(r.event.Cookies, "; "))
	}
	if id := r.event.RequestContext.RequestID; len(h.Values(requestID)) == 0 && id != "" {
		h.Set(requestID, id)
	}
	h.Del("Host")
	return h
}

// requestID is the header with the id of a request.
const requestID = "X-Request-Id"

// proxy serves a request.
func (a *App) proxy(ctx context.Context, r *request) (events.APIGatewayV2HTTPResponse, error) {
	return a.adapter.ProxyWithContext(context.WithValue(ctx, requestKey{}, r), r.bare())
}

// serveRestored serves the request that the adapter created for an event. An answer that is too
// large for a function is replaced by BATCH_TOO_LARGE: the calls in it were made, and a repetition
// with the same idempotency keys gets their answers in smaller parts.
func (a *App) serveRestored(w http.ResponseWriter, to *http.Request) {
	r, _ := to.Context().Value(requestKey{}).(*request)
	r.restore(to)
	out := a.serve(to, a.handler(isEscaped(r.event)))
	if out.body.Len() > maxBody {
		out = refusal(idOf(out, to), tooLarge())
	}
	out.writeTo(w, to.Method)
}

// tooLarge returns the fault for an answer that is larger than a function may send.
func tooLarge() *fault.Fault {
	return fault.New(fault.BatchTooLarge, "the calls were made, and their answers have more than %d bytes "+
		"together, which is more than the gateway takes", maxBody).
		Fix("send fewer calls at once").Fix("send the header Accept-Encoding: gzip")
}

// An answer is the response to a request, buffered until it is complete, because a function has one
// response and cannot stream it. As in net/http, its headers are fixed by the first byte or by the
// status. It is used by one goroutine.
type answer struct {
	header http.Header
	status int // 0: neither status nor body were written
	begun  http.Header
	body   bytes.Buffer
}

// newAnswer returns an empty answer.
func newAnswer() *answer { return &answer{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Informational statuses (1xx) are dropped.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.begun = status, a.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// Flush implements http.Flusher, because handlers that stream require it. It fixes the headers;
// nothing is sent before the end.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// hopByHop contains the headers of a connection, which the gateway sets itself.
var hopByHop = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade"}

// writeTo writes the complete answer to a request with a method. The response to HEAD has no body.
// Headers of a connection are left out, and the challenge is copied to a header that the gateway
// does not rename.
func (a *answer) writeTo(w http.ResponseWriter, method string) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.begun)
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	// The gateway renames WWW-Authenticate; a template can restore the header from this one.
	if challenge := a.begun.Values("WWW-Authenticate"); len(challenge) > 0 {
		w.Header()["Rookery-Challenge"] = slices.Clone(challenge)
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead && a.body.Len() > 0 {
		_, _ = w.Write(a.body.Bytes()) // w is in memory, so there is no error
	}
}

// Limits of a body. The response of a function is JSON, so a body is sent as a JSON text or in
// base64.
const (
	// plainBody is the largest body in bytes that is sent as text. The JSON escapes of a larger one
	// could make it larger than base64 does.
	plainBody = 512 << 10

	// maxBody is the largest body in bytes that fits into the response of a function, 6,291,556
	// bytes of JSON, in base64 and with headers.
	maxBody = (6_291_556 - 128<<10) / 4 * 3
)

// encoded returns the response with a large body in base64, whose size is known to fit. A small
// body stays text, which is faster to encode.
func encoded(r events.APIGatewayV2HTTPResponse) events.APIGatewayV2HTTPResponse {
	if !r.IsBase64Encoded && len(r.Body) > plainBody {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
	}
	return r
}

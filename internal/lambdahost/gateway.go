package lambdahost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Quotas of an HTTP API, in bytes.
const (
	MaxHeader = 10_240   // the request line and the headers
	MaxBody   = 10 << 20 // the body of a request

	integrationTimeout = 30 * time.Second
)

// An Invoker passes an event to a function and returns its answer, as a *Host does.
type Invoker interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

var _ Invoker = (*Host)(nil)

// A Gateway serves functions over HTTP as an HTTP API does, with its default stage, events of
// version 2.0 and no authorizer. It is safe for concurrent use. It terminates no TLS, but tells
// functions that the client used https.
type Gateway struct {
	routes   []route // in the order of byRank
	fallback *route  // $default; nil: none
	timeout  time.Duration

	// Overwrites contains the response parameters of the integrations: by the status of an answer,
	// the headers that are overwritten with the value of a header of the function. The gateway
	// renames the function's headers, but not overwritten ones (not documented). Overwrites must be
	// set before the first request.
	Overwrites map[int]map[string]string
}

var _ http.Handler = (*Gateway)(nil)

// NewGateway returns the gateway over routes. Their keys are those of an HTTP API, such as "ANY
// /v1/vaults/{vault}/objects/{rest+}" and "$default". A malformed key is an error. Without
// "$default", a request that matches no route is 404. Several routes may have one function.
func NewGateway(routes map[string]Invoker) (*Gateway, error) {
	g := &Gateway{timeout: integrationTimeout}
	for key, function := range routes {
		if key == defaultRoute {
			g.fallback = &route{key: key, function: function}
			continue
		}
		r, err := parseRoute(key, function)
		if err != nil {
			return nil, err
		}
		g.routes = append(g.routes, r)
	}
	slices.SortFunc(g.routes, byRank)
	return g, nil
}

// ServeHTTP passes a request to the function of its route. The gateway's own answers are
// {"message":…}, without the headers of a function. It reads the whole body first, and waits for
// the function for at most integrationTimeout; the function continues after that.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID()
	w.Header().Set("Apigw-Requestid", id)
	if headerSize(r) > MaxHeader {
		refuse(w, http.StatusRequestHeaderFieldsTooLarge)
		return
	}
	path := decodedPath(r)
	to, parameters, ok := g.find(r.Method, path)
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		refuseBody(w, err)
		return
	}
	in := request{r: r, id: id, path: path, key: to.key, parameters: parameters, body: body}
	event, err := in.event()
	if err != nil {
		refuse(w, http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	answer, err := to.function.Invoke(ctx, event)
	if err != nil {
		refuse(w, statusOf(err))
		return
	}
	g.relay(w, r, answer)
}

// find returns the most specific route that matches, and its path parameters, which are nil for the
// default route. ok is false if no route matches. Routes are tried in their order, so the first
// match is the most specific one.
func (g *Gateway) find(method, path string) (route, map[string]string, bool) {
	for _, r := range g.routes {
		if parameters, ok := r.match(method, path); ok {
			return r, parameters, true
		}
	}
	if g.fallback != nil {
		return *g.fallback, nil, true
	}
	return route{}, nil, false
}

// headerSize returns the size in bytes of the request line and the headers in HTTP/1.1,
// approximately: the line breaks of the request line are not counted.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(": \r\n") + len(value)
		}
	}
	return size
}

// statusOf returns the status with which an HTTP API answers if the function has not: 413 for an
// event that is too large for Lambda, 503 if no environment is free or if the function is too slow
// for the gateway, and otherwise 500. Not documented.
func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrEventTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrThrottled), errors.Is(err, ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// refuseBody answers a request whose body cannot be read.
func refuseBody(w http.ResponseWriter, err error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	refuse(w, http.StatusBadRequest)
}

// refuse sends an answer of the gateway: the text of the status as a JSON message. Not documented:
// the body.
func refuse(w http.ResponseWriter, code int) {
	text := fmt.Sprintf(`{"message":%q}`, http.StatusText(code))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

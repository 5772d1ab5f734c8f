package awsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// grace is the time before the end of an invocation at which its call must end, so that the answer
// can be sent.
const grace = time.Second

// beforeDeadline returns the context of an invocation, which ends before the deadline of the
// invocation by the given time.
func beforeDeadline(ctx context.Context, before time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-before))
	}
	return context.WithCancel(ctx)
}

var _ lambda.Handler = (*App)(nil)

// Invoke answers one event. A request of an HTTP API, or of the URL of the function, gets its
// response; a command of an operator, which invokes the function directly, gets its result. Errors
// contain nothing of a request, because Lambda logs them. The call ends a second (grace) before the
// invocation, so that the answer can be sent; then it waits for work that it has left behind.
func (a *App) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	a.opt.Begin()
	defer a.later.wait(laterTimeout)
	ctx, cancel := beforeDeadline(ctx, grace)
	defer cancel()
	var kind struct {
		Version string           `json:"version"`
		Request *json.RawMessage `json:"requestContext"`
		Command *string          `json:"rookery"`
	}
	if json.Unmarshal(payload, &kind) != nil {
		return nil, errUnknown
	}
	switch {
	case kind.Request == nil && kind.Command != nil:
		return a.command(ctx, *kind.Command, payload)
	case kind.Request == nil:
		return nil, errUnknown
	case kind.Version != "2.0":
		return nil, errors.New("the payload format of the integration must be 2.0")
	}
	return a.request(ctx, payload)
}

// errUnknown is the error for an event that no function of Rookery handles.
var errUnknown = errors.New("the event is neither a request of an HTTP API nor a command of Rookery")

// request answers a request of an HTTP API.
func (a *App) request(ctx context.Context, payload []byte) ([]byte, error) {
	var e events.APIGatewayV2HTTPRequest
	if json.Unmarshal(payload, &e) != nil {
		return nil, errUnknown
	}
	r, err := read(&e)
	if err != nil {
		return undecodableResponse(&e, err)
	}
	response, err := a.proxy(ctx, r)
	if err != nil {
		return nil, errors.New("the response could not be made") // the cause may contain parts of the request
	}
	return marshal(response)
}

// marshal returns a response in the format of the gateway. It does not escape <, > and &, because
// each escape takes six bytes, and the size of a response is limited.
func marshal(r events.APIGatewayV2HTTPResponse) ([]byte, error) {
	data, err := tool.Marshal(encoded(r))
	if err != nil {
		return nil, fmt.Errorf("write a response: %w", err)
	}
	return data, nil
}

// undecodableResponse returns the response to a request that cannot be decoded.
func undecodableResponse(e *events.APIGatewayV2HTTPRequest, err error) ([]byte, error) {
	out := refusal((&request{event: e}).headers().Get(requestID), fault.Of(err))
	response := events.APIGatewayV2HTTPResponse{
		StatusCode: out.status, Body: out.body.String(), Headers: map[string]string{},
	}
	for name := range out.header {
		response.Headers[name] = out.header.Get(name)
	}
	return marshal(response)
}

// serve returns the answer of a handler to a request. If the handler panics, the answer is
// INTERNAL, even after a part was written, because none of it was sent. The process continues: the
// panic of one request must not end those of others.
func (a *App) serve(r *http.Request, h http.Handler) (out *answer) {
	out = newAnswer()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		// httptool logs and counts panics, and aborts an answer that has begun with
		// http.ErrAbortHandler.
		if p != http.ErrAbortHandler { //nolint:errorlint // it is thrown as it is
			a.panicked(r.Context(), p)
		}
		out = refusal(idOf(out, r), fault.Of(fmt.Errorf("panic in a handler: %T", p)))
	}()
	h.ServeHTTP(out, r)
	return out
}

// panicked logs a panic.
func (a *App) panicked(ctx context.Context, p any) {
	a.opt.Log.ErrorContext(ctx, "request panicked", slog.String("panic", fmt.Sprintf("%T", p)),
		slog.String("stack", string(debug.Stack())))
}

// idOf returns the id of a request: the one that its handler set, or else its own.
func idOf(out *answer, r *http.Request) string {
	return cmp.Or(out.header.Get(requestID), r.Header.Get(requestID))
}

// refusal returns the answer with a fault to a request with this id.
func refusal(id string, f *fault.Fault) *answer {
	g := *f
	g.RequestID = access.RequestID(id)
	out := newAnswer()
	h := out.Header()
	h.Set(requestID, g.RequestID)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	out.WriteHeader(g.HTTP())
	_, _ = out.Write(tool.Refusal(&g, nil)) // the answer is in memory, so there is no error
	return out
}

// laterTimeout is how long a call waits at its end for work that calls have left behind.
const laterTimeout = 250 * time.Millisecond

// A background runs work that calls leave behind, in goroutines. The process is frozen between calls, so
// work that takes longer than laterTimeout continues during the next call, or never. It is safe for
// concurrent use.
type background struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when nothing runs
}

// newBackground returns a later without work.
func newBackground() *background { return &background{} }

// run runs do in a goroutine.
func (l *background) run(do func()) {
	l.mu.Lock()
	if l.running++; l.running == 1 {
		l.idle = make(chan struct{})
	}
	l.mu.Unlock()
	go func() {
		defer l.done()
		do()
	}()
}

// done records the end of one goroutine.
func (l *background) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.running == 0 {
		close(l.idle)
	}
}

// wait waits until no work is running, for at most the given time, and reports whether that is so.
// Without it, the process would be frozen as soon as the call is answered, and a short write could
// take minutes.
func (l *background) wait(most time.Duration) bool {
	l.mu.Lock()
	running, idle := l.running, l.idle
	l.mu.Unlock()
	if running == 0 {
		return true
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}

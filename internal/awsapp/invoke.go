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
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"rookery/internal/access"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// grace is what is left of the time of an invocation when its call must end, for the answer to go out.
const grace = time.Second

// early is the context of an invocation, which ends so long before the invocation does.
func early(ctx context.Context, before time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-before))
	}
	return context.WithCancel(ctx)
}

var _ lambda.Handler = (*App)(nil)

// Invoke answers one event: a request of an HTTP API, or of the URL of the function, with its response; and an
// operator's command, which came to the function itself, with its result. An error says nothing of what a request
// was.
func (a *App) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	a.opt.Begin()
	defer a.later.wait(patience)
	ctx, cancel := early(ctx, grace)
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

// errUnknown is the error of an event that no function of ours answers.
var errUnknown = errors.New("the event is neither a request of an HTTP API nor a command of Rookery")

// request answers a request of an HTTP API.
func (a *App) request(ctx context.Context, payload []byte) ([]byte, error) {
	var e events.APIGatewayV2HTTPRequest
	if json.Unmarshal(payload, &e) != nil {
		return nil, errUnknown
	}
	r, err := read(&e)
	if err != nil {
		return unread(&e, err)
	}
	response, err := a.proxy(ctx, r)
	if err != nil {
		return nil, errors.New("the response could not be made") // the cause may name what was asked
	}
	return marshal(response)
}

// marshal is a response as the gateway reads it. <, > and & stay as they are, for each would take six bytes.
func marshal(r events.APIGatewayV2HTTPResponse) ([]byte, error) {
	data, err := tool.Marshal(encoded(r))
	if err != nil {
		return nil, fmt.Errorf("write a response: %w", err)
	}
	return data, nil
}

// unread answers a request that cannot be read.
func unread(e *events.APIGatewayV2HTTPRequest, err error) ([]byte, error) {
	out := refusal((&request{event: e}).headers().Get(requestID), fault.Of(err))
	response := events.APIGatewayV2HTTPResponse{
		StatusCode: out.status, Body: out.body.String(), Headers: map[string]string{},
	}
	for name := range out.header {
		response.Headers[name] = out.header.Get(name)
	}
	return marshal(response)
}

// serve is the answer of a handler to a request. A panic is an INTERNAL, whatever was written before it: nothing
// of that has gone out.
func (a *App) serve(r *http.Request, h http.Handler) (out *answer) {
	out = newAnswer()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		// httptool logs and counts panics, and ends an answer that has begun with this one.
		if p != http.ErrAbortHandler { //nolint:errorlint // it is thrown as it is
			a.panicked(r.Context(), p)
		}
		out = refusal(idOf(out, r), fault.Of(fmt.Errorf("panic in a handler: %T", p)))
	}()
	h.ServeHTTP(out, r)
	return out
}

// panicked logs and counts a panic.
func (a *App) panicked(ctx context.Context, p any) {
	if a.opt.Meter != nil {
		a.opt.Meter.Panic()
	}
	a.opt.Log.ErrorContext(ctx, "request panicked", slog.String("panic", fmt.Sprintf("%T", p)),
		slog.String("stack", string(debug.Stack())))
}

// idOf is the id of a request: that which its handler gave it, else its own.
func idOf(out *answer, r *http.Request) string {
	return cmp.Or(out.header.Get(requestID), r.Header.Get(requestID))
}

// refusal is the answer to a request with this id, with a fault.
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
	_, _ = out.Write(tool.Refusal(&g, nil)) // it goes into memory
	return out
}

package awsapp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// event returns a request of an HTTP API.
func event(method, path string) events.APIGatewayV2HTTPRequest {
	var e events.APIGatewayV2HTTPRequest
	e.Version, e.RawPath, e.Headers = "2.0", path, map[string]string{}
	e.RequestContext.DomainName, e.RequestContext.RequestID = strings.TrimPrefix(base, "https://"), "gateway-id="
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = method, "203.0.113.9"
	return e
}

// TestLargeAnswers checks that an answer of any permitted size is sent completely, within the size
// that a function may send.
func TestLargeAnswers(t *testing.T) {
	a := newDeployment(t).function(t)
	for _, size := range []int{0, 1, 512 << 10, 512<<10 + 1, 1 << 20, 4 << 20, 4<<20 + 300<<10} {
		for _, text := range []string{"<", `"`, "\x01", "Æ", "\xff"} {
			body := strings.Repeat(text, size/len(text))
			a.Serving(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, body)
			}))
			r := respond(t, a, event("GET", "/"))
			require.Equal(t, 200, r.StatusCode)
			require.Equal(t, len(body), len(r.Body))
			require.True(t, body == r.Body)
			r = respond(t, a, event("HEAD", "/"))
			require.Empty(t, r.Body)
		}
	}
}

// TestTooLargeAnswers checks that an answer which is larger than a function may send becomes an
// error that says so.
func TestTooLargeAnswers(t *testing.T) {
	a := newDeployment(t).function(t)
	a.Serving(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "mine")
		_, _ = io.WriteString(w, strings.Repeat("<", 5<<20))
	}))
	r := respond(t, a, event("GET", "/"))
	require.Equal(t, 400, r.StatusCode)
	require.Equal(t, fault.BatchTooLarge, tooltest.CodeOf(t, json.RawMessage(r.Body)), r.Body)
	require.Equal(t, "mine", r.Headers["X-Request-Id"])
	require.Contains(t, r.Body, `"request_id":"mine"`)
}

// TestAnswers checks the conversion of a handler's response: a handler that writes nothing, an
// informational status, a header that is set after the beginning, headers of the connection, and a
// challenge, which the gateway renames.
func TestAnswers(t *testing.T) {
	a := newDeployment(t).function(t)
	a.Serving(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := respond(t, a, event("GET", "/"))
	require.Equal(t, 200, r.StatusCode)
	a.Serving(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Connection", "close")
		w.WriteHeader(103)
		w.WriteHeader(401)
		w.Header().Set("Late", "x")
		w.WriteHeader(200)
		require.NoError(t, http.NewResponseController(w).Flush())
	}))
	r = respond(t, a, event("GET", "/"))
	require.Equal(t, 401, r.StatusCode)
	require.Equal(t, map[string]string{"Www-Authenticate": "Bearer", "Rookery-Challenge": "Bearer"}, r.Headers)
}

// TestPanics checks that a panic is answered with INTERNAL, even if the handler had written
// something, and that the next call is answered.
func TestPanics(t *testing.T) {
	d := newDeployment(t)
	a := d.function(t)
	for name, panics := range map[string]http.HandlerFunc{
		"at once": func(http.ResponseWriter, *http.Request) { panic("zebrafinch") },
		"late": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "gateway-id=")
			_, _ = io.WriteString(w, "begun")
			panic(http.ErrAbortHandler)
		},
	} {
		a.Serving(panics)
		r := respond(t, a, event("GET", "/"))
		require.Equal(t, 500, r.StatusCode, name)
		require.Equal(t, fault.Internal, tooltest.CodeOf(t, json.RawMessage(r.Body)), r.Body)
		require.Equal(t, "gateway-id=", r.Headers["X-Request-Id"], name)
		require.NotContains(t, r.Body, "begun")
	}
	require.NotContains(t, d.logs.String(), "zebrafinch")
	require.Contains(t, d.logs.String(), "panicked")

	o := awsapp.Outer(d.options(t), func(tool.Handler) tool.Handler {
		return func(context.Context, *tool.Call) (tool.Reply, error) { panic("in a tool") }
	})
	secret := token(t, a, "acme")
	w := awsapp.Recorded(through(t, newFunction(t, o)), asked("GET", "/v1/whoami", secret, ""))
	require.Equal(t, 500, w.Code)
}

// TestRequestIDs checks that a request has the id that its client sends, or else that of the
// gateway.
func TestRequestIDs(t *testing.T) {
	a := newDeployment(t).function(t)
	e := event("GET", "/healthz")
	require.Equal(t, "gateway-id=", respond(t, a, e).Headers["X-Request-Id"])
	e.Headers["x-request-id"] = "mine"
	require.Equal(t, "mine", respond(t, a, e).Headers["X-Request-Id"])
	e.Body, e.IsBase64Encoded = "no base64!", true
	r := respond(t, a, e)
	require.Equal(t, 400, r.StatusCode)
	require.Contains(t, r.Body, `"request_id":"mine"`)
}

// TestDeadlines checks that a call must end before its invocation does, and that an invocation
// whose time has passed is answered nevertheless.
func TestDeadlines(t *testing.T) {
	d := newDeployment(t)
	secret := token(t, d.function(t), "acme")
	var end atomic.Pointer[time.Time]
	a := newFunction(t, awsapp.Outer(d.options(t), func(tool.Handler) tool.Handler {
		return func(ctx context.Context, _ *tool.Call) (tool.Reply, error) {
			if at, ok := ctx.Deadline(); ok {
				end.Store(&at)
			}
			return tool.Reply{Data: struct{}{}}, nil
		}
	}))
	e := event("GET", "/v1/whoami")
	e.Headers["authorization"] = "Bearer " + secret
	payload := marshalled(t, e)
	limit := time.Now().Add(11 * time.Second) // a call itself has 25
	ctx, cancel := context.WithDeadline(t.Context(), limit)
	defer cancel()
	data, err := a.Invoke(ctx, payload)
	require.NoError(t, err)
	require.Contains(t, string(data), `"statusCode":200`)
	require.WithinDuration(t, limit.Add(-time.Second), *end.Load(), 0)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	data, err = d.function(t).Invoke(gone, payload)
	require.NoError(t, err)
	require.Contains(t, string(data), `"statusCode":503`)
}

// TestLater checks that the work which calls leave runs concurrently with them, and that the end of
// a call waits for it, but only for a limited time.
func TestLater(t *testing.T) {
	a := newDeployment(t).function(t)
	done := make(chan struct{})
	a.Serving(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		a.Later(func() { close(done) })
	}))
	respond(t, a, event("GET", "/"))
	select {
	case <-done:
	default:
		require.Fail(t, "the call ended first")
	}
	held := make(chan struct{})
	a.Serving(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		a.Later(func() { <-held })
	}))
	require.Equal(t, 200, respond(t, a, event("GET", "/")).StatusCode)
	require.False(t, a.Waits(0))
	close(held)
	require.True(t, a.Waits(time.Minute))
}

// TestUnknownEvents checks events that are not requests of an HTTP API.
func TestUnknownEvents(t *testing.T) {
	a := newDeployment(t).function(t)
	for _, payload := range []string{
		``, `x`, `[]`, `{}`, `{"Records":[]}`, `{"version":"1.0","requestContext":{}}`, `{"requestContext":null}`,
		`{"version":"2.0","requestContext":{"http":"zebrafinch"}}`, `{"rookery":"zebrafinch"}`, `{"rookery":1}`,
		`{"rookery":"token-create"}`, `{"rookery":"token-create","tenant":1}`,
	} {
		_, err := a.Invoke(t.Context(), []byte(payload))
		require.Error(t, err, payload)
		require.NotContains(t, err.Error(), "zebrafinch")
	}
}

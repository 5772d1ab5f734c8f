// Package awsclient has the parts of an AWS client that the adapters share: the HTTP client of the process, a clock
// that is corrected by the store's answers, which failures may be retried, and the check that no request is signed
// late.
package awsclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"

	"github.com/rookeryhq/rookery/internal/table"
)

const (
	dialTimeout   = time.Second
	tlsTimeout    = 2 * time.Second
	headerTimeout = 5 * time.Second
	idleTimeout   = 50 * time.Second
	idlePerHost   = 64

	// staleAfter is how long after its last request a client no longer trusts the connections that it
	// has: while a process is frozen the peer closes them, and a POST or PUT on one is not repeated.
	staleAfter = 30 * time.Second
)

// An HTTP is the HTTP client of a process for all of AWS. It is safe for concurrent use.
type HTTP struct {
	client *http.Client
	now    func() time.Time
	last   atomic.Int64 // when the last request was sent, in Unix nanoseconds; 0: none was
	sent   atomic.Int64 // how many requests were sent
}

var _ aws.HTTPClient = (*HTTP)(nil)

// NewHTTP returns a client with short timeouts for a connection, 5 s for the header of an answer, and 64
// connections kept to each host. now is the wall clock; nil is time.Now.
func NewHTTP(now func() time.Time) *HTTP {
	if now == nil {
		now = time.Now
	}
	built := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = tlsTimeout
			t.ResponseHeaderTimeout = headerTimeout
			t.MaxIdleConnsPerHost, t.MaxIdleConns = idlePerHost, 0
			t.IdleConnTimeout = idleTimeout
		})
	// As the SDK's own clients do, it follows no redirect.
	return &HTTP{now: now, client: &http.Client{
		Transport: built.GetTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// unsent is the failure of a request of which nothing was sent: there was no connection to send it on.
type unsent struct{ error }

// Unwrap returns why there was none.
func (u unsent) Unwrap() error { return u.error }

// Do implements aws.HTTPClient.
func (h *HTTP) Do(r *http.Request) (*http.Response, error) {
	h.last.Store(h.now().UnixNano())
	h.sent.Add(1)
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	answer, err := h.client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err != nil && !connected.Load() {
		err = unsent{err}
	}
	return answer, err
}

// Sent returns how many requests were sent so far. Each attempt of the SDK counts.
func (h *HTTP) Sent() int64 { return h.sent.Load() }

// Begin closes the connections that are idle, if the last request was sent more than 30 s ago. A function
// calls it at the beginning of each invocation.
func (h *HTTP) Begin() {
	if last := h.last.Load(); h.now().UnixNano()-last > int64(staleAfter) {
		h.client.CloseIdleConnections()
	}
}

// ErrLate says that the time of table.SendBefore has passed. The request was not sent.
var ErrLate = errors.New("too late to send the request")

// errSilent is the end of an attempt that was not answered in time.
type errSilent struct{ after time.Duration }

// Error implements error.
func (e errSilent) Error() string { return fmt.Sprintf("no answer in %v", e.after) }

// Timeout and RetryableError say how the SDK treats it.
func (errSilent) Timeout() bool        { return true }
func (errSilent) RetryableError() bool { return true }

// NeverLate returns an option for clients, one of their APIOptions: no attempt is signed and sent after the time of
// table.SendBefore, by now. The SDK signs each attempt anew, so without it one that waited, or was frozen, would be
// honoured however late.
func NeverLate(now func() time.Time) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("NeverLate", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if before, ok := table.SentBefore(ctx); ok && !now().Before(before) {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, ErrLate
			}
			return next.HandleFinalize(ctx, in)
		}), "Signing", middleware.Before)
	}
}

// Within returns an option for clients, one of their APIOptions: an attempt is given up when it was not answered
// after d. It is not for operations whose answer is streamed to the caller: the stream would end with the attempt.
func Within(d time.Duration) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Within", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			attempt, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			out, metadata, err := next.HandleFinalize(attempt, in)
			if err != nil && attempt.Err() != nil && ctx.Err() == nil {
				err = errSilent{d} // not the caller's context: that would forbid a retry
			}
			return out, metadata, err
		}), "Retry", middleware.After)
	}
}

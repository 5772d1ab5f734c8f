package awsclient

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
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

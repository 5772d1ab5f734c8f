// Package httpbody reads the bodies of requests, within a bound on their size.
//
// A client that sends a whole body before it reads the answer does not receive the answer to a body
// that is too large if the connection is closed first. So the rest of such a body is read first,
// within other bounds.
package httpbody

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Bounds for a body that is too large: the bytes and the time for which it is read and discarded,
// and the bytes of its beginning that Read returns.
const (
	maxDiscard     = 16 << 20
	discardTimeout = 10 * time.Second
	maxBeginning   = 64 << 10
)

// A boundedBody is a body that returns an *http.MaxBytesError at its bound.
type boundedBody struct {
	io.ReadCloser
	whole io.ReadCloser // the body without a bound
	bound int64
	w     http.ResponseWriter
	r     *http.Request
	count func(n int) error // may be nil
}

// Bound bounds the body of a request, in bytes. It does nothing if the body is bounded already.
func Bound(w http.ResponseWriter, r *http.Request, bytes int64) {
	if _, is := r.Body.(*boundedBody); !is {
		r.Body = &boundedBody{http.MaxBytesReader(w, r.Body, bytes), r.Body, bytes, w, r, nil}
	}
}

// Count makes Read call count with the number of bytes of each part of a bounded body. An error of
// count ends the reading, and Read returns it.
func Count(r *http.Request, count func(n int) error) {
	if b, is := r.Body.(*boundedBody); is {
		b.count = count
	}
}

// Read reads and counts a part of the body.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.count != nil && n > 0 {
		if over := b.count(n); over != nil {
			return 0, over
		}
	}
	return n, err
}

// Read reads a bounded body to its end. It panics if the body is not bounded. For a body that is
// larger than its bound, it returns the beginning and a BATCH_TOO_LARGE with the status 413. A
// fault of count is returned as it is. Any other error means that the body was cut off. A client
// that asks before it sends a body that is too large (RFC 9110 §10.1.1) is answered before it sends
// it.
func Read(r *http.Request) ([]byte, error) {
	b, is := r.Body.(*boundedBody)
	if !is {
		panic("payload: the body has no bound")
	}
	if r.ContentLength > b.bound {
		return b.refuse(r)
	}
	data, err := io.ReadAll(b)
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		b.speedUp()
		b.discard()
		return data, TooLarge(b.bound)
	}
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		StopReading(b.w, b.r)
		return data, f
	}
	if err != nil {
		return data, fmt.Errorf("read body: %w", err)
	}
	return data, nil
}

// refuse returns the result of Read for a body whose length in the header exceeds the bound.
func (b *boundedBody) refuse(r *http.Request) (beginning []byte, err error) {
	if r.Header.Get("Expect") == "" {
		b.speedUp()
		// The beginning of a body that is cut off is shorter.
		beginning, _ = io.ReadAll(io.LimitReader(b.whole, maxBeginning))
		b.discard()
	}
	return beginning, TooLarge(b.bound)
}

// discard reads and discards the rest of the body. If the rest exceeds the bounds, the connection
// is closed with the answer.
func (b *boundedBody) discard() {
	if _, err := io.CopyN(io.Discard, b.whole, maxDiscard); !errors.Is(err, io.EOF) {
		StopReading(b.w, b.r)
	}
}

// StopReading prepares an answer after which no more of the body is read. Over HTTP/1 the
// connection is then closed, because the next request follows the body. Over HTTP/2 only the stream
// ends, because others share the connection.
func StopReading(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

// speedUp sets a deadline for the rest of the body. It ignores connections without deadlines, such
// as a body in memory.
func (b *boundedBody) speedUp() {
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(discardTimeout))
}

// TooLarge returns the fault of a body that exceeds a bound in bytes.
func TooLarge(bytes int64) *fault.Fault {
	f := fault.New(fault.BatchTooLarge, "the body of a request has at most %d bytes", bytes).
		With("limit", bytes).Fix("send it in several calls")
	f.BodyTooLarge = true
	return f
}

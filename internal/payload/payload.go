// Package payload reads the bodies of requests, none of which may be larger than a bound.
//
// A client that sends all of a body before it looks for an answer does not see the one that it is too large,
// if the connection has ended before: so what is still to come is taken first, within bounds of its own.
package payload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rookery/internal/fault"
)

// What is taken of a body that is too large, to be thrown away, and how much of its beginning is kept.
const (
	most   = 16 << 20
	within = 10 * time.Second
	kept   = 64 << 10
)

// A bounded body ends behind its bound with an *http.MaxBytesError.
type bounded struct {
	io.ReadCloser
	whole io.ReadCloser // as it comes
	bound int64
	w     http.ResponseWriter
	r     *http.Request
	count func(n int) error // nil: nothing is counted
}

// Bound bounds the body of a request for all that read it, to so many bytes. A body that is bounded already
// is left as it is.
func Bound(w http.ResponseWriter, r *http.Request, bytes int64) {
	if _, is := r.Body.(*bounded); !is {
		r.Body = &bounded{http.MaxBytesReader(w, r.Body, bytes), r.Body, bytes, w, r, nil}
	}
}

// Count has Read count the bytes of a bounded body as they come. An error ends the reading, and Read
// returns it.
func Count(r *http.Request, count func(n int) error) {
	if b, is := r.Body.(*bounded); is {
		b.count = count
	}
}

// Read reads and counts.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.count != nil && n > 0 {
		if over := b.count(n); over != nil {
			return 0, over
		}
	}
	return n, err
}

// Read reads a body to its end. Of one that is larger than its bound it answers the beginning, with a
// BATCH_TOO_LARGE that is a 413. Any other error says that the body was cut off. A client that asks whether
// it may send a body that is too large (RFC 9110 §10.1.1) is answered before it does.
func Read(r *http.Request) ([]byte, error) {
	b, is := r.Body.(*bounded)
	if !is {
		panic("payload: the body has no bound")
	}
	if r.ContentLength > b.bound {
		return b.refuse(r)
	}
	data, err := io.ReadAll(b)
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		b.hurry()
		b.discard()
		return data, TooLarge(b.bound)
	}
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		Leave(b.w, b.r)
		return data, f
	}
	if err != nil {
		return data, fmt.Errorf("read body: %w", err)
	}
	return data, nil
}

// refuse is what Read answers of a body that says itself that it is too large.
func (b *bounded) refuse(r *http.Request) (beginning []byte, err error) {
	if r.Header.Get("Expect") == "" {
		b.hurry()
		beginning, _ = io.ReadAll(io.LimitReader(b.whole, kept)) // what is cut off is the client's loss
		b.discard()
	}
	return beginning, TooLarge(b.bound)
}

// discard throws the rest of the body away. The connection of a client that goes on all the same ends with
// the answer.
func (b *bounded) discard() {
	if _, err := io.CopyN(io.Discard, b.whole, most); !errors.Is(err, io.EOF) {
		Leave(b.w, b.r)
	}
}

// Leave says with an answer that no more is read of the body. Over HTTP/1 the connection ends with that, for
// the next request stands behind the body. Over HTTP/2 only the stream does, and others may share the
// connection.
func Leave(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
	}
}

// hurry bounds for how long a client may go on to send. What cannot be bounded in time, such as a body in memory,
// does not have to be.
func (b *bounded) hurry() {
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(within))
}

// TooLarge is the fault of a body that has more than so many bytes.
func TooLarge(bytes int64) *fault.Fault {
	f := fault.New(fault.BatchTooLarge, "the body of a request has at most %d bytes", bytes).
		With("limit", bytes).Fix("send it in several calls")
	f.BodyTooLarge = true
	return f
}

package httptool

import (
	"net/http"
	"time"
)

// The pace at which a client must read a response: it has paceTime for each part of pacePart bytes.
// A client that is slower loses its connection or, with HTTP/2, its stream. The length of the
// response is not limited.
const (
	pacePart = 32 << 10
	paceTime = 10 * time.Second

	// hasteTime is the time for each part of a refusal to a client that already has too many
	// requests.
	hasteTime = time.Second
)

// pace applies the pace to every response, so that a client that reads slowly cannot keep a
// connection and a handler for as long as it likes.
func (s *server) pace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&pacer{w, http.NewResponseController(w), paceTime}, r)
	})
}

// A pacer is a response whose write deadline is extended as its client reads. It receives the
// compressed data, so its parts are of the bytes that are sent.
type pacer struct {
	http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
}

// Write writes data in parts, each with a deadline of its own. It returns the error of a client
// that is too slow, or has disconnected; the handler ignores it.
func (p *pacer) Write(data []byte) (written int, err error) {
	for {
		part := data[written:min(written+pacePart, len(data))]
		// The error is ignored: a response without deadlines, such as one in memory, does not need
		// them.
		_ = p.control.SetWriteDeadline(time.Now().Add(p.time))
		n, err := p.ResponseWriter.Write(part)
		written += n
		if err != nil || written == len(data) {
			return written, err
		}
	}
}

// Flush sends the data written so far.
func (p *pacer) Flush() {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.time))
	_ = p.control.Flush() // if this is not supported, the data is sent at the end
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (p *pacer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

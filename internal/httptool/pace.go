package httptool

import (
	"net/http"
	"time"
)

// How fast an answer must be read: the client has so much time for each part. One that reads goes on for as
// long as the answer is; one that does not loses its connection, or over HTTP/2 its stream.
const (
	pacePart = 32 << 10
	paceTime = 10 * time.Second

	// hasteTime is the time for the whole of a refusal to a client that has too many requests already.
	hasteTime = time.Second
)

// paced has every answer read at a pace.
func (s *server) paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&pacer{w, http.NewResponseController(w), paceTime}, r)
	})
}

// A pacer is a response whose deadline follows what its client reads.
type pacer struct {
	http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
}

// Write writes an answer part by part, each with a deadline of its own.
func (p *pacer) Write(data []byte) (written int, err error) {
	for {
		part := data[written:min(written+pacePart, len(data))]
		// A response without deadlines, such as one in memory, does not need one.
		_ = p.control.SetWriteDeadline(time.Now().Add(p.time))
		n, err := p.ResponseWriter.Write(part)
		written += n
		if err != nil || written == len(data) {
			return written, err
		}
	}
}

// Flush sends what is written so far.
func (p *pacer) Flush() {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.time))
	_ = p.control.Flush() // without it, it comes with the end
}

// Unwrap returns the response itself, for http.ResponseController.
func (p *pacer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

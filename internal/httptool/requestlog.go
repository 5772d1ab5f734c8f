package httptool

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// requestID is the header with the id of a request, which is also in logs and answers.
const requestID = "X-Request-Id"

// A note is the data for the log line of a request. From the request itself it contains only the
// id, and the method if it is a known one. It is in the context of the request, and the handlers of
// the chain fill it in.
type note struct {
	id    string
	route string // the pattern of the route
	tool  *tool.Tool
	code  fault.Code
	told  bool // the call is logged on a line of its own
}

// A noteKey is the context key of a note.
type noteKey struct{}

// noteOf returns the note of a request that passed through observe.
func noteOf(r *http.Request) *note { return r.Context().Value(noteKey{}).(*note) }

// observe gives every request an id, recovers from panics, and writes the log line. The id is that
// of the client if it can be logged, otherwise a new one; the response has it in any case.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		n := &note{id: access.RequestID(r.Header.Get(requestID))}
		w.Header().Set(requestID, n.id)
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		out := &recorder{ResponseWriter: w}
		defer s.log(r, out, start)
		defer s.rescue(out, r)
		next.ServeHTTP(out, r)
	})
}

// rescue answers a request whose handler has panicked. If the response has begun, it aborts the
// connection, because the client would take the part for the whole. The log line of the panic has
// its type and stack, but not its value, which may contain texts.
func (s *server) rescue(w *recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // it is thrown as it is
		panic(p)
	}
	noteOf(r).code = fault.Internal
	s.opt.Meter.Panic()
	s.opt.Log.ErrorContext(r.Context(), "request panicked", slog.String("request_id", noteOf(r).id),
		slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.refuse(w, r, fault.Of(fmt.Errorf("panic in a handler: %T", p)))
}

// log counts a request and writes its log line. If the call is logged by the catalogue, the line
// has level Debug. It contains no path, query or body, only the pattern of the route.
func (s *server) log(r *http.Request, w *recorder, start time.Time) {
	n, took := noteOf(r), time.Since(start)
	s.opt.Meter.Request(n.route, r.Method, w.status, took)
	level := slog.LevelInfo
	if n.told {
		level = slog.LevelDebug
	}
	if !s.opt.Log.Enabled(r.Context(), level) {
		return
	}
	method := r.Method
	if !slices.Contains(methods, method) {
		method = "other"
	}
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("route", n.route), slog.Int("status", w.status),
		slog.Int64("ms", took.Milliseconds()), slog.String("request_id", n.id),
	}
	if n.tool != nil {
		attrs = append(attrs, slog.String("tool", n.tool.Name))
	}
	if n.code != "" {
		attrs = append(attrs, slog.String("code", string(n.code)))
	}
	s.opt.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// methods are the methods that are logged by name.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// A recorder is a response that records its status, 0 until it begins. It is what rescue asks
// whether a response has begun.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the final status; an informational (1xx) status is not recorded.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response. Without an earlier WriteHeader the status is 200.
func (w *recorder) Write(data []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(data)
}

// Flush sends the data written so far, for handlers that stream.
func (w *recorder) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // if this is not supported, the data is sent at the end
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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

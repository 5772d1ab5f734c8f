package httptool

import (
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
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Flush sends the data written so far, for handlers that stream.
func (w *recorder) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // if this is not supported, the data is sent at the end
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

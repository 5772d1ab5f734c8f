package lambdahost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// routes returns the handler of the Runtime API, which has four routes
// (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html).
func (e *environment) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", e.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", e.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", e.failure)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", e.initFailure)
	return mux
}

// next ends the call before, and answers with the next event when there is one. A process asks in a
// loop; while it has nothing to do, its request stays open. Lambda freezes the process at this
// moment.
func (e *environment) next(w http.ResponseWriter, r *http.Request) {
	e.finish()
	select {
	case c := <-e.calls:
		e.mu.Lock()
		e.now[c.id], e.served = c, true
		e.mu.Unlock()
		c.write(w, e.function)
	case <-r.Context().Done():
	}
}

// finish ends the call before, and makes the environment ready. If a process serves several calls
// at once, it is unknown which one was before, so each call ends with its answer. Otherwise a call
// lasts until the process asks again, because it may work after it has answered.
func (e *environment) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.asked {
		e.asked = true
		close(e.ready)
	}
	if e.function.Concurrency > 1 {
		return
	}
	for _, c := range e.now {
		e.end(c)
	}
}

// end ends a call: serve returns its outcome. A call without an outcome ends with an error. The
// caller holds e.mu.
func (e *environment) end(c *call) {
	delete(e.now, c.id)
	close(c.done)
}

// write sends an event with the headers of the Runtime API: the id of the call, its deadline in
// Unix milliseconds, and made-up names of the function and the trace.
func (c *call) write(w http.ResponseWriter, f Function) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(c.event)))
	header.Set("Lambda-Runtime-Aws-Request-Id", c.id)
	header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(c.deadline.UnixMilli(), 10))
	header.Set("Lambda-Runtime-Invoked-Function-Arn",
		"arn:aws:lambda:us-east-1:000000000000:function:"+f.Name)
	header.Set("Lambda-Runtime-Trace-Id", traceID())
	_, _ = w.Write(c.event)
}

// traceID returns the id of a trace that is not sampled.
func traceID() string {
	id := requestID()
	at := strconv.FormatInt(time.Now().Unix(), 16)
	return "Root=1-" + at + "-" + id[24:] + id[24:] + ";Parent=" + id[:8] + id[:8] + ";Sampled=0"
}

// response receives the answer of a call. A larger answer than Lambda takes is the error of the
// call, and the process gets 413. If the connection is cut, there is no answer, and the call ends
// with its timeout or with the process.
func (e *environment) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e.post(r.PathValue("id"), outcome{err: &Error{TypeTooLarge, "the answer is too large"}})
		status(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
		return
	}
	if err != nil {
		return // the connection was cut, so the process has posted nothing
	}
	e.accept(w, r, outcome{answer: body})
}

// failure receives the error of a call: the function has returned an error or panicked, and its
// runtime has noticed. The process goes on, and asks for the next event.
func (e *environment) failure(w http.ResponseWriter, r *http.Request) {
	if err := readError(w, r); err != nil {
		e.accept(w, r, outcome{err: err})
	}
}

// initFailure receives the error of a start, after which the process ends; it is killed if it does
// not. Calls that wait for the process get the error.
func (e *environment) initFailure(w http.ResponseWriter, r *http.Request) {
	err := readError(w, r)
	if err == nil {
		return
	}
	e.mu.Lock()
	e.broken = &Error{TypeInit, err.Message}
	e.mu.Unlock()
	status(w, http.StatusAccepted, "")
	e.kill()
}

// readError returns the error that a process posted; nil if the connection was cut.
func readError(w http.ResponseWriter, r *http.Request) *Error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxAnswer))
	if err != nil {
		return nil
	}
	failed := &Error{}
	if json.NewDecoder(bytes.NewReader(body)).Decode(failed) != nil || failed.Type == "" {
		failed.Type = TypeUnknown
	}
	return failed
}

// accept posts the outcome of a call, and answers the process: 202, or 400 for an id that is not
// that of a running call.
func (e *environment) accept(w http.ResponseWriter, r *http.Request, o outcome) {
	if !e.post(r.PathValue("id"), o) {
		status(w, http.StatusBadRequest, "InvalidRequestID")
		return
	}
	status(w, http.StatusAccepted, "")
}

// post sets the outcome of a call. It returns false if no call with this id is running, or if it
// has an outcome already; then the process gets 400, as from Lambda. With a Concurrency of more
// than 1, the call ends.
func (e *environment) post(id string, o outcome) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.now[id]
	if c == nil || c.posted {
		return false
	}
	c.outcome, c.posted = o, true
	if e.function.Concurrency > 1 {
		e.end(c)
	}
	return true
}

// status answers a post, with an error type if failed is not empty.
func status(w http.ResponseWriter, code int, failed string) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"status": "OK"}
	if failed != "" {
		answer = map[string]string{"errorType": failed, "errorMessage": failed}
	}
	text, _ := json.Marshal(answer)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// Errors of a call that no process has received.
var (
	ErrEventTooLarge = errors.New("the event is larger than Lambda takes")
	ErrThrottled     = errors.New("all environments that the function may have are busy")
	ErrClosed        = errors.New("the host is closed")
)

// The types of an Error, as Lambda names them. The error that a function reports has its own type.
const (
	TypeExit       = "Runtime.ExitError"
	TypeTimeout    = "Sandbox.Timedout"
	TypeInit       = "Runtime.InitError"
	TypeEntrypoint = "Runtime.InvalidEntrypoint"
	TypeTooLarge   = "Function.ResponseSizeTooLarge"
	TypeUnknown    = "Unhandled"
)

// An Error is the end of a call without an answer: the function reported an error, its process
// ended, or its timeout was exceeded. Its JSON is that of the Runtime API.
type Error struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Type, e.Message) }

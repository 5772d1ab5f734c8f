package mcptool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// idOf returns the id of the JSON-RPC message at the beginning of a body, or "null" if there is
// none. The body may be truncated after the id. Only texts and numbers are ids. The id of a batch
// is "null".
func idOf(body []byte) json.RawMessage {
	null := json.RawMessage("null")
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return null
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return null
		}
		if key == "id" && (value[0] == '"' || value[0] == '-' || '0' <= value[0] && value[0] <= '9') {
			return value
		}
	}
	return null
}

// isBatch reports whether a body is a batch of messages.
func isBatch(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) }

// calledIn returns the names of the tools that the message or batch in a body calls, as they are
// sent. The body may be anything; a message that calls no tool is skipped.
func calledIn(body []byte) []string {
	type message struct {
		Method string
		Params struct{ Name string }
	}
	var batch []message
	if json.Unmarshal(body, &batch) != nil {
		var one message
		_ = json.Unmarshal(body, &one) // another body calls no tool; the SDK reports it
		batch = []message{one}
	}
	var names []string
	for _, m := range batch {
		if m.Method == "tools/call" {
			names = append(names, m.Params.Name)
		}
	}
	return names
}

// An answer is a response whose refusals are JSON-RPC errors with the id of the request's message,
// including those that the SDK writes as plain text. It is between the SDK and the HTTP server, and
// used by one goroutine at a time. It also ends the call in the caller's share when the response
// begins.
type answer struct {
	http.ResponseWriter
	request string          // id of the request, for logs
	id      json.RawMessage // id of the message; nil: unknown
	outcome *outcome        // of its calls; nil: there are none
	flight  *access.Flight  // of the request; nil: not admitted yet
	code    int64           // of a refusal; 0: that of its status

	began   bool
	refused int // status of a plain-text refusal that is held back
	text    strings.Builder
}

// Unwrap returns the underlying writer, with which the SDK can flush a stream.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader holds back a refusal in plain text, and an answer that the outcome replaces. It sets
// Cache-Control: no-store, which is stricter than the SDK's value, and the headers of the rate
// limit.
func (a *answer) WriteHeader(status int) {
	a.Header().Set("Cache-Control", "no-store")
	if a.outcome != nil {
		access.SetRateHeaders(a.Header(), a.outcome.allowance())
	}
	a.began = true
	if a.replaced() {
		return
	}
	if status >= 400 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.refused = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// replaced reports whether the refusal in the outcome replaces the SDK's response.
func (a *answer) replaced() bool { return a.outcome != nil && a.outcome.refusal() != nil }

// Write writes a part of the response, or collects the text of a refusal that is held back. It
// discards a response that the outcome replaces.
func (a *answer) Write(data []byte) (int, error) {
	if !a.began {
		a.WriteHeader(http.StatusOK)
	}
	a.flight.Answered(len(data))
	if a.replaced() {
		return len(data), nil
	}
	if a.refused != 0 {
		return a.text.Write(data)
	}
	return a.ResponseWriter.Write(data)
}

// finish writes a refusal that was held back. ServeHTTP calls it at the end, whatever happened.
func (a *answer) finish() {
	if status := a.refused; status != 0 {
		a.refused = 0
		a.refuse(status, fault.New(fault.InvalidParameter, "%s", strings.TrimSpace(a.text.String())))
	}
}

// refuse writes a JSON-RPC error with a fault as its data. It must be called at most once, and
// before anything else is written. The code of the error is that of the answer, or follows from the
// status.
func (a *answer) refuse(status int, f *fault.Fault) {
	named := *f
	named.RequestID = a.request
	if a.id == nil {
		a.id = json.RawMessage("null")
	}
	code := int64(jsonrpc.CodeInvalidRequest)
	switch {
	case a.code != 0 && status == http.StatusBadRequest:
		code = a.code
	case status >= 500:
		code = jsonrpc.CodeInternalError
	}
	body, err := tool.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", a.id, protocolError(code, &named)})
	if err != nil {
		http.Error(a.ResponseWriter, "", http.StatusInternalServerError)
		return
	}
	a.Header().Set("Content-Type", "application/json")
	a.Header().Del("Content-Length")
	a.flight.Answered(len(body))
	a.ResponseWriter.WriteHeader(status)
	_, _ = a.ResponseWriter.Write(body) // on an error the client has disconnected
}

// An outcome collects the results of a request's calls that affect the headers and the status of
// the response. The zero value is that of a request without calls. It is safe for concurrent use.
type outcome struct {
	// lone says that the request is a single message. Then a refusal for lack of permission, which
	// a better token would avoid, applies to the whole HTTP request and gets a challenge, as OAuth
	// requires. In a batch it is only the answer of its own message, because the results of the
	// other messages must be returned.
	lone bool

	mu     sync.Mutex
	left   auth.Allowance // after the call that left the least
	denied *fault.Fault
}

// spend records how much of the caller's rate limit a call has left. Of several calls, the one that
// left the least counts. A call without a rate limit is ignored.
func (o *outcome) spend(left auth.Allowance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left.Limit > 0 && (o.left.Limit == 0 || left.Remaining < o.left.Remaining) {
		o.left = left
	}
}

// allowance returns the smallest remainder of the caller's rate limit.
func (o *outcome) allowance() auth.Allowance {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}

// deny records that a call was refused for lack of a better token. In a batch it does nothing; see
// lone.
func (o *outcome) deny(f *fault.Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lone {
		o.denied = f
	}
}

// refusal returns the fault with which the whole request is refused, or nil.
func (o *outcome) refusal() *fault.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.denied
}

// turnTimeout is the time after reading a request within which its calls may begin. Together with
// the deadline of the last call it is shorter than the minute after which a server closes a
// connection, so that every call gets an answer.
const turnTimeout = 30 * time.Second

// A turn makes the calls of one HTTP request run one after another: however many messages it has,
// it counts as one call in flight in the HTTP server. The zero value does not limit them. The order
// of the calls is that in which the SDK begins them.
type turn struct {
	taken chan struct{}   // has room for one token; nil: no limit
	over  <-chan struct{} // closed when no further call may begin
}

// newTurn returns a turn for the calls of a request. No call begins after ctx has ended, and a call
// that waits then is refused.
func newTurn(ctx context.Context) turn { return turn{make(chan struct{}, 1), ctx.Done()} }

// take waits until no other call is running. The caller must call end when its call has ended.
// UNAVAILABLE means that it took too long or that ctx ended; the call must not run then. A call
// that has begun is not interrupted by turnTimeout.
func (t turn) take(ctx context.Context) (end func(), err error) {
	if t.taken == nil {
		return func() {}, nil
	}
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, turnTimeoutFault()
	case <-t.over:
		return nil, turnTimeoutFault()
	}
	end = func() { <-t.taken }
	select {
	case <-t.over: // both were ready at the same time
		end()
		return nil, turnTimeoutFault()
	default:
		return end, nil
	}
}

// turnTimeoutFault returns the fault of a call that did not get its turn.
func turnTimeoutFault() *fault.Fault {
	return fault.New(fault.Unavailable,
		"the call was not run: those before it in the request took too long").
		Fix("send it again, in a request of its own")
}

// Headers in which a client repeats parts of the body, for proxies that do not read bodies.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// headersAgree returns the fault of a header that is sent twice, or that differs from the method or
// the name in a message of the body. The SDK checks this only in the newest protocol, but a proxy
// that routes by a header does not know which protocol is used. In a batch, every message must
// agree.
//
// Without this check, a caller could name a harmless method in the header, which a proxy permits,
// and another one in the body. Therefore all values of a duplicate key are compared.
func headersAgree(h http.Header, body []byte) *fault.Fault {
	for _, name := range []string{"MCP-Protocol-Version", methodHeader, nameHeader, vaultHeader} {
		if len(h.Values(name)) > 1 {
			return fault.New(fault.InvalidParameter, "header %s must be one value", name)
		}
	}
	for _, part := range messagesOf(body) {
		methods := textsOf(membersOf(part, "method"))
		if differs(h, methodHeader, methods) {
			return fault.New(fault.InvalidParameter, "header %s and the body name different methods", methodHeader)
		}
		if key := nameKeys[methods[0]]; key != "" && differs(h, nameHeader, namesOf(part, key)) {
			return fault.New(fault.InvalidParameter, "header %s and the body name different things", nameHeader)
		}
	}
	return nil
}

// nameKeys maps the methods with the header Mcp-Name to the parameter that it repeats.
var nameKeys = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// namesOf returns the values of a parameter of a message, with "" if it has none, so that a header
// without the parameter differs.
func namesOf(message json.RawMessage, key string) []string {
	var all []json.RawMessage
	for _, params := range membersOf(message, "params") {
		all = append(all, membersOf(params, key)...)
	}
	return textsOf(all)
}

// membersOf returns all values of a key in a JSON object; keys are compared exactly. Of a duplicate
// key, two parsers may use different values, so all are returned. It returns nil for anything but
// an object.
func membersOf(object json.RawMessage, key string) []json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var all []json.RawMessage
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return all
		}
		if name == key {
			all = append(all, value)
		}
	}
	return all
}

// textsOf decodes JSON strings. A value of another type becomes "", and an empty list becomes one
// "", so the result is never empty.
func textsOf(all []json.RawMessage) []string {
	texts := make([]string, max(1, len(all)))
	for i, raw := range all {
		_ = json.Unmarshal(raw, &texts[i]) // another type leaves it empty
	}
	return texts
}

// differs reports whether a header is sent and differs from one of the texts. A header that cannot
// be decoded differs from every text.
func differs(h http.Header, name string, texts []string) bool {
	sent := h.Get(name)
	if sent == "" {
		return false
	}
	plain, ok := plainHeader(sent)
	return !ok || slices.ContainsFunc(texts, func(text string) bool { return text != plain })
}

// plainHeader decodes the value of a header: Base64 between =?base64? and ?=, for values that a
// header cannot contain, otherwise the literal value. It returns false if the Base64 is invalid.
func plainHeader(value string) (plain string, ok bool) {
	coded, begins := strings.CutPrefix(value, "=?base64?")
	coded, ends := strings.CutSuffix(coded, "?=")
	if !begins || !ends {
		return value, true
	}
	data, err := base64.StdEncoding.DecodeString(coded)
	return string(data), err == nil
}

// Limits, in bytes and in time, of reading the body of a request that is refused, to find its id.
// They are small because a client that is not authenticated occupies a connection meanwhile.
const (
	idWithin = 64 << 10
	idWait   = 10 * time.Millisecond
)

// maxBatch is the maximum number of messages in a request. Those that call tools run one after
// another; see turn.
const maxBatch = 100

// refuseUnread answers a request that is not admitted and whose body has not been read. It reads at
// most idWithin bytes, for at most idWait, to find the id. If the body is not complete by then, the
// connection is closed after the answer. err is a fault; it decides the status and the headers of
// the answer, see refuse.
func (e *endpoint) refuseUnread(out *answer, r *http.Request, err error) {
	// The error is ignored: a body in memory has no deadline and needs none.
	_ = http.NewResponseController(out.ResponseWriter).SetReadDeadline(time.Now().Add(idWait))
	head, cut := io.ReadAll(io.LimitReader(r.Body, idWithin))
	if len(head) == idWithin || cut != nil {
		httpbody.StopReading(out, r)
	}
	out.id = idOf(head)
	e.refuse(out, r, err)
}

// refuse answers a whole request with a fault: the HTTP status of the fault, a challenge if a token
// is missing or is not sufficient, and the time after which to try again. Errors of this program
// are logged.
func (e *endpoint) refuse(out *answer, r *http.Request, err error) {
	f := fault.Of(err)
	sent := access.HasBearerToken(r.Header)
	switch f.Status() {
	case fault.StatusInternal:
		e.opt.Log.ErrorContext(r.Context(), "request not admitted", slog.Any("cause", err))
	case fault.StatusUnauthenticated:
		e.opt.Meter.Refused(access.Unauthenticated(f, sent))
	}
	if c := e.opt.Resource.Challenge(r.URL.Path, f, sent); c != "" {
		out.Header().Set("WWW-Authenticate", c)
	}
	if f.RetryAfter > 0 {
		out.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	out.refuse(f.HTTP(), f)
}

// read reads and validates the body: it must be JSON, and one message or a batch of at most
// maxBatch messages. If it is too large, read returns its beginning with the fault, so that the id
// can be found.
func read(r *http.Request) ([]byte, *fault.Fault) {
	body, err := httpbody.Read(r)
	if fault.Is(err, fault.BatchTooLarge) || fault.Is(err, fault.Unavailable) {
		return body, fault.Of(err)
	}
	if err != nil {
		return body, fault.New(fault.InvalidParameter, "the body was cut off").Because(err)
	}
	if !json.Valid(body) || !isMessages(body) {
		return body, fault.New(fault.InvalidParameter, "the body must be one JSON-RPC message")
	}
	if len(messagesOf(body)) > maxBatch {
		return body, fault.New(fault.BatchTooLarge, "a batch has at most %d messages", maxBatch).
			With("limit", maxBatch).Fix("send it in several requests")
	}
	return body, nil
}

// isMessages reports whether the JSON of a body is an object or a list of objects. For anything
// else the SDK's error would quote the body, and errors must not contain texts of a caller.
func isMessages(body []byte) bool {
	return !slices.ContainsFunc(messagesOf(body), func(part json.RawMessage) bool {
		return !bytes.HasPrefix(bytes.TrimSpace(part), []byte("{"))
	})
}

// messagesOf returns the messages of a batch, or a single message. The body must be valid JSON.
func messagesOf(body []byte) []json.RawMessage {
	if !isBatch(body) {
		return []json.RawMessage{body}
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(body, &parts) // it is valid and an array
	return parts
}

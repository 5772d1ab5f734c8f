package mcptool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
)

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

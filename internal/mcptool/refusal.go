package mcptool

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
)

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

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

	"rookery/internal/access"
	"rookery/internal/fault"
	"rookery/internal/payload"
)

// Of a request that is refused so much is read to find its id, if it is there already: who has not been
// let in holds a place that others need.
const (
	idWithin = 64 << 10
	idWait   = 10 * time.Millisecond
)

// maxBatch is how many messages a request has at most. Those that call something take turns: see turn.
const maxBatch = 100

// turnAway answers a request that is not admitted, and of whose body nothing has been read. The
// connection ends with it, if more of the body is to come.
func (e *endpoint) turnAway(out *answer, r *http.Request, err error) {
	// What cannot be bounded in time, such as a body in memory, does not have to be.
	_ = http.NewResponseController(out.ResponseWriter).SetReadDeadline(time.Now().Add(idWait))
	head, cut := io.ReadAll(io.LimitReader(r.Body, idWithin))
	if len(head) == idWithin || cut != nil {
		payload.Leave(out, r)
	}
	out.id = idOf(head)
	e.refuse(out, r, err)
}

// refuse answers a request with a fault of its own, whichever call it was to make.
func (e *endpoint) refuse(out *answer, r *http.Request, err error) {
	f := fault.Of(err)
	sent := access.Sent(r.Header)
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

// read reads the body, or of one that is too large the beginning.
func read(r *http.Request) ([]byte, *fault.Fault) {
	body, err := payload.Read(r)
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

// isMessages reports whether JSON is an object, or several. Of anything else the SDK would tell what it is,
// to the word.
func isMessages(body []byte) bool {
	return !slices.ContainsFunc(messagesOf(body), func(part json.RawMessage) bool {
		return !bytes.HasPrefix(bytes.TrimSpace(part), []byte("{"))
	})
}

// messagesOf are the parts of JSON that is a batch, else the whole of it.
func messagesOf(body []byte) []json.RawMessage {
	if !isBatch(body) {
		return []json.RawMessage{body}
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(body, &parts) // it is valid, and an array
	return parts
}

package awsapp

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// An answer is the response to a request, buffered until it is complete, because a function has one
// response and cannot stream it. As in net/http, its headers are fixed by the first byte or by the
// status. It is used by one goroutine.
type answer struct {
	header http.Header
	status int // 0: neither status nor body were written
	begun  http.Header
	body   bytes.Buffer
}

// newAnswer returns an empty answer.
func newAnswer() *answer { return &answer{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Informational statuses (1xx) are dropped.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.begun = status, a.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// Flush implements http.Flusher, because handlers that stream require it. It fixes the headers;
// nothing is sent before the end.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// hopByHop contains the headers of a connection, which the gateway sets itself.
var hopByHop = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade"}

// writeTo writes the complete answer to a request with a method. The response to HEAD has no body.
// Headers of a connection are left out, and the challenge is copied to a header that the gateway
// does not rename.
func (a *answer) writeTo(w http.ResponseWriter, method string) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.begun)
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	// The gateway renames WWW-Authenticate; a template can restore the header from this one.
	if challenge := a.begun.Values("WWW-Authenticate"); len(challenge) > 0 {
		w.Header()["Rookery-Challenge"] = slices.Clone(challenge)
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead && a.body.Len() > 0 {
		_, _ = w.Write(a.body.Bytes()) // w is in memory, so there is no error
	}
}

// Limits of a body. The response of a function is JSON, so a body is sent as a JSON text or in
// base64.
const (
	// plainBody is the largest body in bytes that is sent as text. The JSON escapes of a larger one
	// could make it larger than base64 does.
	plainBody = 512 << 10

	// maxBody is the largest body in bytes that fits into the response of a function, 6,291,556
	// bytes of JSON, in base64 and with headers.
	maxBody = (6_291_556 - 128<<10) / 4 * 3
)

// encoded returns the response with a large body in base64, whose size is known to fit. A small
// body stays text, which is faster to encode.
func encoded(r events.APIGatewayV2HTTPResponse) events.APIGatewayV2HTTPResponse {
	if !r.IsBase64Encoded && len(r.Body) > plainBody {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
	}
	return r
}

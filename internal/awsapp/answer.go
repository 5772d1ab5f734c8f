package awsapp

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// An answer is the response to a request, kept until it is whole: nothing of it is sent before. It begins as one
// of net/http does: with the first byte, or with the status.
type answer struct {
	header http.Header
	status int // 0: it has not begun
	begun  http.Header
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. A status that only informs is not the answer.
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

// Flush implements http.Flusher: handlers that stream ask for it, and all of it goes out at the end.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// hopByHop are the headers of a connection, which the gateway has its own of.
var hopByHop = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade"}

// writeTo writes the whole answer to a request of a method.
func (a *answer) writeTo(w http.ResponseWriter, method string) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.begun)
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	// The gateway renames the header of a challenge; a template can name it back from this one.
	if challenge := a.begun.Values("WWW-Authenticate"); len(challenge) > 0 {
		w.Header()["Rookery-Challenge"] = slices.Clone(challenge)
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead && a.body.Len() > 0 {
		_, _ = w.Write(a.body.Bytes()) // it goes into memory
	}
}

const (
	// plainBody is how many bytes a body may have that goes out as text. What JSON escapes in a larger one could
	// make it larger than base64 does.
	plainBody = 512 << 10

	// maxBody is how many bytes of a body fit into what a function may answer, 6,291,556 bytes of JSON, in
	// base64 and beside headers.
	maxBody = (6_291_556 - 128<<10) / 4 * 3
)

// encoded puts a large body into base64.
func encoded(r events.APIGatewayV2HTTPResponse) events.APIGatewayV2HTTPResponse {
	if !r.IsBase64Encoded && len(r.Body) > plainBody {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
	}
	return r
}

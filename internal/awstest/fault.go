package awstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// A Fault is what Faults does with a request.
type Fault int

// The faults. Those that end in After let the request have its effect first.
const (
	None                Fault = iota
	Throttle                  // of DynamoDB: too many requests; the request has no effect
	SlowDown                  // the same of S3: 503
	Conflict                  // of a conditional PUT to S3: 409, another one is on its way
	TransactionConflict       // of a write to DynamoDB: another transaction has the item
	ErrorBefore               // 500
	ErrorAfter
	ResetBefore // the connection is reset
	ResetAfter
	CutAfter      // half of the answer's body
	SilenceBefore // no answer until the request is given up
	SilenceAfter
)

// faults are all of them, in the order in which Every takes them.
var faults = []Fault{
	Throttle, SlowDown, ErrorAfter, TransactionConflict, ResetBefore, ResetAfter, Conflict, ErrorBefore,
	CutAfter, SilenceBefore, SilenceAfter,
}

// HasEffect reports whether a request that meets the fault may have its effect.
func (f Fault) HasEffect() bool {
	return f == None || f == ErrorAfter || f == ResetAfter || f == CutAfter || f == SilenceAfter
}

// A Request is what a plan is asked about.
type Request struct {
	N         int // from 1, over all requests of the Faults
	Operation string
	Body      []byte
	*http.Request
}

// dynamo reports whether the request is one to DynamoDB.
func (r Request) dynamo() bool { return r.Operation != "" }

// Writes reports whether the request changes something.
func (r Request) Writes() bool {
	if r.dynamo() {
		return r.Operation != "GetItem" && r.Operation != "Query"
	}
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// Meets reports whether the store could answer the request so.
func (r Request) Meets(f Fault) bool {
	switch f {
	case Throttle:
		return r.dynamo()
	case SlowDown:
		return !r.dynamo()
	case TransactionConflict:
		return r.dynamo() && r.Writes()
	case Conflict:
		return !r.dynamo() && r.Header.Get("If-Match")+r.Header.Get("If-None-Match") != ""
	}
	return true
}

// Faults is an HTTP client of AWS that fails as planned. It is safe for concurrent use.
type Faults struct {
	next aws.HTTPClient
	plan func(Request) Fault

	mu  sync.Mutex
	n   int
	met map[Fault]int
}

var _ aws.HTTPClient = (*Faults)(nil)

// NewFaults returns a client that sends through next. The plan is asked once about each request, one after the
// other.
func NewFaults(next aws.HTTPClient, plan func(Request) Fault) *Faults {
	return &Faults{next: next, plan: plan, met: map[Fault]int{}}
}

// Every returns a plan: at every n-th request the next of all faults that it can meet, beginning with number first;
// of the silences, which last as long as an attempt may, one of each. A request that met a fault meets none when it
// is sent again, by the SDK or by an adapter, so that no call fails only because many are made at once.
func Every(n, first int) func(Request) Fault {
	turn, silences, met := first, map[Fault]bool{}, map[string]bool{}
	return func(r Request) Fault {
		call := r.Header.Get("Amz-Sdk-Invocation-Id")
		same := r.Operation + r.Method + r.URL.String() + string(r.Body)
		if r.N%n != 0 || met[same] || call != "" && met[call] {
			delete(met, same)
			return None
		}
		met[call], met[same] = true, r.Writes()
		for range faults {
			f := faults[turn%len(faults)]
			turn++
			if !r.Meets(f) || silences[f] {
				continue
			}
			silences[f] = f == SilenceBefore || f == SilenceAfter
			return f
		}
		return None
	}
}

// At returns a plan: the fault at the n-th request, from 1, and none elsewhere.
func At(n int, f Fault) func(Request) Fault {
	return func(r Request) Fault {
		if r.N == n {
			return f
		}
		return None
	}
}

// Met returns how often each fault was met.
func (f *Faults) Met() map[Fault]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	met := map[Fault]int{}
	for fault, n := range f.met {
		met[fault] = n
	}
	return met
}

// Requests returns how many requests came, those that failed too.
func (f *Faults) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// begin counts a request and asks the plan.
func (f *Faults) begin(r *http.Request) (Request, Fault, error) {
	body, err := takeBody(r)
	if err != nil {
		return Request{}, None, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	asked := Request{N: f.n, Operation: operation, Body: body, Request: r}
	fault := f.plan(asked)
	f.met[fault]++
	return asked, fault, nil
}

// takeBody reads the body of a request, and puts it back.
func takeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// Do implements aws.HTTPClient.
func (f *Faults) Do(r *http.Request) (*http.Response, error) {
	asked, fault, err := f.begin(r)
	if err != nil {
		return nil, err
	}
	if !fault.HasEffect() {
		return asked.fail(fault)
	}
	answer, err := f.next.Do(r)
	if err != nil || fault == None {
		return answer, err
	}
	if fault == CutAfter {
		answer.Body, err = half(answer.Body)
		return answer, err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return nil, err
	}
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	return asked.fail(fault)
}

// fail is the answer to a request that met a fault.
func (r Request) fail(f Fault) (*http.Response, error) {
	switch f {
	case Throttle:
		return r.refuse(http.StatusBadRequest, "ProvisionedThroughputExceededException", ""), nil
	case SlowDown:
		return r.refuse(http.StatusServiceUnavailable, "SlowDown", ""), nil
	case Conflict:
		return r.refuse(http.StatusConflict, "ConditionalRequestConflict", ""), nil
	case TransactionConflict:
		return r.conflict(), nil
	case ErrorBefore, ErrorAfter:
		if r.dynamo() {
			return r.refuse(http.StatusInternalServerError, "InternalServerError", ""), nil
		}
		return r.refuse(http.StatusInternalServerError, "InternalError", ""), nil
	case SilenceBefore, SilenceAfter:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// conflict is the answer of DynamoDB to a write whose first item another transaction has.
func (r Request) conflict() *http.Response {
	var body struct{ TransactItems []json.RawMessage }
	if r.Operation != "TransactWriteItems" || json.Unmarshal(r.Body, &body) != nil {
		return r.refuse(http.StatusBadRequest, "TransactionConflictException", "")
	}
	reasons := `{"Code":"TransactionConflict"}` +
		strings.Repeat(`,{"Code":"None"}`, max(0, len(body.TransactItems)-1))
	return r.refuse(http.StatusBadRequest, "TransactionCanceledException",
		`,"CancellationReasons":[`+reasons+`]`)
}

// refuse is an answer with an error, in the format of the service.
func (r Request) refuse(status int, code, more string) *http.Response {
	body, kind := fmt.Sprintf("<Error><Code>%s</Code><Message>injected</Message></Error>", code), "application/xml"
	if r.dynamo() {
		body = fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"%s}`, code, more)
		kind = "application/x-amz-json-1.0"
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Request: r.Request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {kind}},
		Body:   io.NopCloser(strings.NewReader(body)),
	}
}

// half is a body that breaks off in the middle.
func half(body io.ReadCloser) (io.ReadCloser, error) {
	all, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, err
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(all[:len(all)/2]), broken{})), nil
}

// broken is a connection that ended too soon.
type broken struct{}

// Read implements io.Reader.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

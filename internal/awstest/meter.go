package awstest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// A Meter is an HTTP client of AWS that counts requests by operation, and the bytes of their bodies: of DynamoDB
// by the name of the operation, of S3 by the method, and LIST. Each attempt of the SDK counts. It is safe for
// concurrent use.
type Meter struct {
	Ignore func(operation string, body []byte) bool // requests that are not counted; nil: all are

	mu   sync.Mutex
	seen map[string]int
	sent int64
	got  int64
}

var _ aws.HTTPClient = (*Meter)(nil)

// Do implements aws.HTTPClient.
func (m *Meter) Do(r *http.Request) (*http.Response, error) {
	body, err := whole(r)
	if err != nil {
		return nil, err
	}
	name := operation(r)
	if m.Ignore != nil && m.Ignore(name, body) {
		return client.Do(r)
	}
	m.mu.Lock()
	if m.seen == nil {
		m.seen = map[string]int{}
	}
	m.seen[name]++
	m.sent += int64(len(body))
	m.mu.Unlock()
	answer, err := client.Do(r)
	if err == nil {
		answer.Body = &metered{answer.Body, m}
	}
	return answer, err
}

// whole returns the body of a request, and leaves it to be read again.
func whole(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return body, nil
}

// operation is the name of a request.
func operation(r *http.Request) string {
	_, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case ok:
		return name
	case r.URL.Query().Has("list-type"):
		return "LIST"
	}
	return r.Method
}

// metered is the body of an answer, whose bytes are counted.
type metered struct {
	io.ReadCloser
	m *Meter
}

func (b *metered) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.m.mu.Lock()
	b.m.got += int64(n)
	b.m.mu.Unlock()
	return n, err
}

// Reset begins a new count.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen, m.sent, m.got = nil, 0, 0
}

// A Count is what was counted.
type Count struct {
	Operations map[string]int
	Sent, Got  int64 // bytes of bodies
}

// Count returns what was counted since Reset.
func (m *Meter) Count() Count {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Count{maps.Clone(m.seen), m.sent, m.got}
}

// Requests is how many there were.
func (c Count) Requests() int {
	n := 0
	for _, of := range c.Operations {
		n += of
	}
	return n
}

// String is the requests by operation, such as "1 PutItem, 1 Query".
func (c Count) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.Operations)) {
		all = append(all, fmt.Sprintf("%d %s", c.Operations[name], name))
	}
	return strings.Join(all, ", ")
}

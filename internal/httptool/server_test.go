package httptool_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// serve runs a server over a new sample catalogue.
func serve(t *testing.T, o httptool.Options) *httptest.Server {
	t.Helper()
	if o.Docs == nil {
		o.Docs = []byte(docsPage)
	}
	s := httptest.NewServer(httptool.New(tooltest.Sample(), o))
	t.Cleanup(s.Close)
	return s
}

// An ask is a request of a test. The first two words of line are its method and its target.
type ask struct {
	line   string
	body   string
	header map[string]string // if there is a body, Content-Type is JSON by default
}

// A got is a response.
type got struct {
	status int
	header http.Header
	body   string
}

// envelope decodes the response as an envelope.
func (g got) envelope(t *testing.T) (e struct {
	OK       bool
	Data     map[string]any
	Error    *fault.Fault
	Warnings []tool.Warning
	Meta     map[string]any
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(g.body), &e), g.body)
	require.NotNil(t, e.Warnings, g.body)
	return e
}

func send(t *testing.T, s *httptest.Server, a ask) got {
	t.Helper()
	method, target, _ := strings.Cut(a.line, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, strings.NewReader(a.body))
	require.NoError(t, err)
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return got{resp.StatusCode, resp.Header, string(data)}
}

// A lines is a log whose lines are decoded from JSON.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) log() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

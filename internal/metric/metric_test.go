package metric_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/metric"
	"github.com/rookeryhq/rookery/internal/tool"
)

// canary is a word that no metric shows.
const canary = "canarybird"

type in struct {
	Text string `json:"text" jsonschema:"what to do"`
}

type out struct {
	Text string `json:"text"`
}

// catalogue has a tool that ends as its argument says, behind the interceptor.
func catalogue(t *testing.T, m *metric.Metrics) *tool.Catalogue {
	t.Helper()
	family := &tool.Family{
		Name: "f", Base: "/v1", Missing: fault.InvalidParameter,
		Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	}
	spec := tool.Spec{
		Name: "f_do", Family: family, Title: "Do", Doc: "Do what is said.", Role: auth.Reader,
	}
	do := tool.New(spec, func(_ context.Context, _ auth.Caller, i in) (out, error) {
		switch word, _, _ := strings.Cut(i.Text, " "); word {
		case "panic":
			panic(i.Text)
		case "fail":
			return out{}, errors.New(i.Text)
		case "late":
			return out{}, fmt.Errorf("read %s: %w", i.Text, context.DeadlineExceeded)
		case "limit":
			return out{}, fault.New(fault.RateLimited, "%s", i.Text)
		case "strange":
			return out{}, fault.New(fault.Code(strings.ToUpper(i.Text)), "no")
		}
		return out(i), nil
	})
	cat, err := tool.NewCatalogue([]*tool.Tool{do}, tool.Options{
		Interceptors: []tool.Interceptor{m.Interceptor()},
	})
	require.NoError(t, err)
	return cat
}

// call calls the tool with a text.
func call(t *testing.T, cat *tool.Catalogue, name, text string) {
	t.Helper()
	args, err := json.Marshal(in{text})
	require.NoError(t, err)
	ctx := auth.WithCaller(t.Context(), auth.Caller{
		Tenant: canary, Principal: canary, Agent: canary, RequestID: canary,
		Roles: map[string]auth.Role{canary: auth.Admin},
	})
	_, _ = cat.Invoke(ctx, name, args) // how it ends is what the metrics are to say
}

// scrape is what Prometheus reads, and that it is valid and well formed.
func scrape(t *testing.T, m *metric.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, metric.Path, nil))
	require.Equal(t, http.StatusOK, w.Code)
	problems, err := promlint.New(strings.NewReader(w.Body.String())).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	return w.Body.String()
}

// TestCalls holds that calls are counted by tool and outcome, and that a call that ended, however it
// did, no longer runs.
func TestCalls(t *testing.T) {
	m := metric.New("1.2.3")
	cat := catalogue(t, m)
	for _, text := range []string{"go", "go", "panic", "fail", "late", "limit", "strange"} {
		call(t, cat, "f_do", text)
	}
	text := scrape(t, m)
	for _, line := range []string{
		`rookery_build_info{version="1.2.3"} 1`,
		`rookery_calls_total{code="OK",tool="f_do"} 2`,
		`rookery_calls_total{code="INTERNAL",tool="f_do"} 2`,
		`rookery_calls_total{code="UNAVAILABLE",tool="f_do"} 1`,
		`rookery_calls_total{code="RATE_LIMITED",tool="f_do"} 1`,
		`rookery_calls_total{code="other",tool="f_do"} 1`,
		`rookery_call_duration_seconds_count{kind="read"} 7`,
		`rookery_calls_in_flight 0`,
		`rookery_panics_total 1`,
		`rookery_rate_limited_total 1`,
		`rookery_refused_total{reason="no_token"} 0`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Contains(t, text, "\ngo_goroutines ")
	require.Contains(t, text, "\nprocess_start_time_seconds ")
}

// TestRequests holds what is counted at the edge.
func TestRequests(t *testing.T) {
	m := metric.New("1.2.3")
	m.Routes("/v1/vaults/{vault}/objects", "/mcp")
	m.Routes("/healthz")
	m.Request("/mcp", "POST", 200, time.Millisecond)
	m.Request("/v1/vaults/{vault}/objects", "GET", 404, time.Millisecond)
	m.Request("/healthz", "GET", 0, time.Millisecond)
	m.Request("", "GET", 403, time.Millisecond)
	m.Panic()
	m.Limited()
	m.Refused(access.Expired)
	text := scrape(t, m)
	for _, line := range []string{
		`rookery_http_requests_total{method="POST",route="/mcp",status="200"} 1`,
		`rookery_http_requests_total{method="GET",route="/v1/vaults/{vault}/objects",status="404"} 1`,
		`rookery_http_requests_total{method="GET",route="/healthz",status="none"} 1`,
		`rookery_http_requests_total{method="GET",route="none",status="403"} 1`,
		`rookery_http_request_duration_seconds_count 4`,
		`rookery_panics_total 1`,
		`rookery_rate_limited_total 1`,
		`rookery_refused_total{reason="expired"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

// TestNothingOfACallerIsShown holds that nobody outside can make a series, and that no word of a call
// stands in the metrics, whatever it is put into.
func TestNothingOfACallerIsShown(t *testing.T) {
	m := metric.New("1.2.3")
	cat := catalogue(t, m)
	hostile := func(i int) {
		word := fmt.Sprintf("%s%d", canary, i)
		for _, first := range []string{"go", "panic", "fail", "late", "limit", "strange"} {
			call(t, cat, "f_do", first+" "+word)
		}
		call(t, cat, word, "go")
		m.Request("/v1/vaults/"+word, word, 1000+i, time.Millisecond)
		m.Refused(access.Reason(word))
	}
	hostile(0)
	before := strings.Count(scrape(t, m), "\nrookery_")
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { hostile(i + 1) })
	}
	all.Wait()
	text := scrape(t, m)
	require.Equal(t, before, strings.Count(text, "\nrookery_"))
	require.NotContains(t, strings.ToLower(text), canary)
	require.Contains(t, text,
		`rookery_http_requests_total{method="other",route="other",status="other"} 51`+"\n")
	require.Contains(t, text, `rookery_refused_total{reason="other"} 51`+"\n")
	require.Contains(t, text, "rookery_calls_in_flight 0\n")
}

// TestServe holds that a listener answers the metrics and nothing else, until its context ends.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- metric.New("1.2.3").Serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/metrics", 200}, {"HEAD", "/metrics", 200}, {"POST", "/metrics", 405},
		{"GET", "/", 404}, {"GET", "/debug/pprof/", 404}, {"GET", "/v1/whoami", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, c.status, resp.StatusCode, "%s %s", c.method, c.path)
		if c.status == http.StatusOK {
			require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
			require.Contains(t, resp.Header.Get("Content-Type"), "version=0.0.4")
			require.Equal(t, c.method == "GET", len(body) > 0)
		}
	}
	cancel()
	require.NoError(t, <-done)
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}

// TestServeOnAClosedListener holds that a listener that cannot serve is told of.
func TestServeOnAClosedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, metric.New("1.2.3").Serve(t.Context(), l), net.ErrClosed)
}

// BenchmarkInterceptor is what the metrics cost a call.
func BenchmarkInterceptor(b *testing.B) {
	m := metric.New("1.2.3")
	h := m.Interceptor()(func(context.Context, *tool.Call) (tool.Reply, error) {
		return tool.Reply{}, nil
	})
	c := &tool.Call{Tool: &tool.Tool{Spec: tool.Spec{Name: "f_do"}}}
	for b.Loop() {
		if _, err := h(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// Package metric collects the metrics of a server for Prometheus.
//
// Every label has a small set of values that the program knows in advance: the name of a tool, the
// pattern of a route, a code, a status. No part of a request becomes a label, so clients cannot
// create an unbounded number of series, and readers of the metrics see nothing private.
package metric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// other replaces label values that are not known in advance.
const other = "other"

// Metrics are the metrics of one server. All methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	routes   routes

	calls     *prometheus.CounterVec   // by tool and code
	took      *prometheus.HistogramVec // by kind of tool
	inFlight  prometheus.Gauge
	requests  *prometheus.CounterVec // by route, method and status
	answered  prometheus.Histogram
	panics    prometheus.Counter
	refused   *prometheus.CounterVec // by reason
	throttled prometheus.Counter
	waited    prometheus.Histogram
}

// buckets are bounds of durations in seconds, from a read in memory to the deadline of a call.
var buckets = []float64{.001, .005, .025, .1, .5, 2.5, 10, 25}

// New returns the metrics of a server of this version, including those of the process and of the Go
// runtime.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    counters("calls_total", "Calls of tools, by their outcome.", "tool", "code"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "call_duration_seconds",
			Help: "How long calls of tools took, by what the tool does.", Buckets: buckets,
		}, []string{"kind"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "calls_in_flight", Help: "Calls of tools that run now.",
		}),
		requests: counters("http_requests_total", "Requests, by their answer.",
			"route", "method", "status"),
		answered: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds",
			Help: "How long requests took.", Buckets: buckets,
		}),
		panics: counter("panics_total", "Panics that were caught."),
		refused: counters("refused_total", "Requests that were turned away before any tool was called.",
			"reason"),
		throttled: counter("rate_limited_total", "Calls that were over a rate or a quota."),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "call_wait_calls",
			Help:    "How many other calls began to run while one waited for its turn.",
			Buckets: []float64{0, 1, 4, 16, 64, 256, 1024},
		}),
	}
	m.register(version)
	return m
}

// namespace is the prefix of the names of Rookery's metrics.
const namespace = "rookery"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	o := prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
	return prometheus.NewCounterVec(o, labels)
}

// register fills the registry, and creates the counters of refusals with the value 0, so that their
// first event is an increase.
func (m *Metrics) register(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		build, m.calls, m.took, m.inFlight, m.requests, m.answered, m.panics, m.refused, m.throttled, m.waited,
	)
	for _, r := range access.Reasons() {
		m.refused.WithLabelValues(string(r))
	}
}

// Gauge adds a gauge with the name rookery_ and name. value is called whenever the metrics are
// read, and must be safe for concurrent use.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: name, Help: help,
	}, value))
}

// Routes adds patterns of routes, which may be labels of Request from then on.
func (m *Metrics) Routes(patterns ...string) { m.routes.add(patterns) }

// Request counts an answered request. A route that is not in Routes, and a method or a status that
// HTTP does not define, are counted as "other"; a missing route or a status of 0 as "none".
func (m *Metrics) Request(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = other
	}
	m.requests.WithLabelValues(m.routes.label(route), method, labelOf(status)).Inc()
	m.answered.Observe(took.Seconds())
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// labelOf returns the label of a status.
func labelOf(status int) string {
	switch {
	case status == 0:
		return "none"
	case http.StatusText(status) == "":
		return other
	}
	return strconv.Itoa(status)
}

// Panic counts a panic that was recovered outside of tools. Interceptor counts those of tools.
func (m *Metrics) Panic() { m.panics.Inc() }

// Refused counts a request that was refused before a tool was called.
func (m *Metrics) Refused(why access.Reason) {
	if !slices.Contains(access.Reasons(), why) {
		why = other
	}
	m.refused.WithLabelValues(string(why)).Inc()
}

// Waited counts a call that waited for its turn while passed other calls started.
func (m *Metrics) Waited(_ string, passed int) { m.waited.Observe(float64(passed)) }

// Limited counts a call that exceeded a rate or a quota. Interceptor counts those of tools.
func (m *Metrics) Limited() { m.throttled.Inc() }

// ok is the code of a successful call.
const ok = "OK"

// codeOf returns the label of a call's outcome: ok, or the code in its answer.
func codeOf(err error) string {
	var f *fault.Fault
	switch {
	case err == nil:
		return ok
	case errors.As(err, &f):
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return string(fault.Unavailable)
	}
	code := fault.Of(err).Code
	if !slices.Contains(fault.Codes(), code) {
		return other
	}
	return string(code)
}

// kindOf returns the label of a kind of tool.
func kindOf(k tool.Kind) string {
	switch k {
	case tool.Read:
		return "read"
	case tool.View:
		return "view"
	case tool.Write:
		return "write"
	case tool.Destroy:
		return "destroy"
	}
	return other
}

// Interceptor returns an interceptor that counts calls, their outcomes, their durations and the
// calls in flight. It must be outside of the interceptors that refuse calls, so that refusals are
// counted. It counts a panic, and does not recover it.
func (m *Metrics) Interceptor() tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (r tool.Reply, err error) {
			start, code := time.Now(), string(fault.Internal)
			m.inFlight.Inc()
			panicked := true
			defer func() {
				m.inFlight.Dec()
				if panicked {
					m.panics.Inc()
				}
				m.calls.WithLabelValues(c.Tool.Name, code).Inc()
				m.took.WithLabelValues(kindOf(c.Needs().Kind)).Observe(time.Since(start).Seconds())
			}()
			r, err = next(ctx, c)
			panicked, code = false, codeOf(err)
			if err != nil && fault.Of(err).Status() == fault.StatusRateLimited {
				m.Limited()
			}
			return r, err
		}
	}
}

// A routes is the set of known patterns of routes. The zero value is empty. It is safe for
// concurrent use.
type routes struct {
	mu    sync.RWMutex
	known map[string]bool
}

// add adds patterns.
func (r *routes) add(patterns []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]bool{}
	}
	for _, p := range patterns {
		r.known[p] = true
	}
}

// label returns the label of a route.
func (r *routes) label(route string) string {
	if route == "" {
		return "none"
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.known[route] {
		return other
	}
	return route
}

// Path is the path of the metrics in Handler.
const Path = "/metrics"

// Handler returns a handler that answers GET Path in the text format of Prometheus, and other
// requests with 404 or 405. It does not authenticate, so it belongs on a separate listener that
// cannot be reached from the internet.
func (m *Metrics) Handler() http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		scrape.ServeHTTP(w, r)
	})
	return mux
}

// Serve serves Handler on the listener until the context ends, and closes the listener. It returns
// nil after the context has ended.
func (m *Metrics) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler:           m.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    8 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // the last scrape is cut off
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

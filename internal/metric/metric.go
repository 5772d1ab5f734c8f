// Package metric counts what a server does, for Prometheus.
//
// A label has one of a few values that the program knows beforehand: the name of a tool, the pattern
// of a route, a code, a status. Nothing that a request says becomes one, so that nobody outside can
// make series without end, and nothing private is shown to whoever reads them.
package metric

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rookery/internal/access"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// other stands for every value of a label that is none of those known beforehand.
const other = "other"

// Metrics are the counts of one server. All methods may be called at once by many.
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

// New makes the metrics of a server of this version, with those of the process and of Go's runtime.
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

// namespace begins the names of all metrics of ours.
const namespace = "rookery"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	o := prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
	return prometheus.NewCounterVec(o, labels)
}

// register fills the registry, and begins at 0 what one would miss if it began with its first event.
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

// Gauge adds a number that is asked for whenever the metrics are read: rookery_ and its name.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: name, Help: help,
	}, value))
}

// Routes makes patterns of routes known: each is a label of Request from then on.
func (m *Metrics) Routes(patterns ...string) { m.routes.add(patterns) }

// Request counts a request that was answered. A route that Routes was not told of, a method or a
// status that HTTP does not know is "other"; a request without a route or an answer has "none".
func (m *Metrics) Request(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = other
	}
	m.requests.WithLabelValues(m.routes.label(route), method, labelOf(status)).Inc()
	m.answered.Observe(took.Seconds())
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// labelOf is the label of a status.
func labelOf(status int) string {
	switch {
	case status == 0:
		return "none"
	case http.StatusText(status) == "":
		return other
	}
	return strconv.Itoa(status)
}

// Panic counts a panic that was caught outside of any tool. Interceptor counts those of tools.
func (m *Metrics) Panic() { m.panics.Inc() }

// Refused counts a request that was turned away before any tool was called.
func (m *Metrics) Refused(why access.Reason) {
	if !slices.Contains(access.Reasons(), why) {
		why = other
	}
	m.refused.WithLabelValues(string(why)).Inc()
}

// Waited counts a call that began to run after so many others that came to run while it waited.
func (m *Metrics) Waited(_ string, passed int) { m.waited.Observe(float64(passed)) }

// Limited counts a call that was over a rate or a quota. Interceptor counts those of tools.
func (m *Metrics) Limited() { m.throttled.Inc() }

// ok is the code of a call that went well.
const ok = "OK"

// codeOf is the label of how a call ended: the code that its caller is told.
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

// kindOf is the label of what a tool does.
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

package awsapp

import (
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// namespace is the namespace of the metrics in CloudWatch.
const namespace = "Rookery"

// The dimensions of metrics. They contain no tenant, vault or principal, because AWS charges for
// each value of a dimension as a metric.
const (
	stackDimension    = "stack"
	functionDimension = "function"
	toolDimension     = "tool"
)

// Metrics adds attributes to the log line of a call that make it a line of CloudWatch's embedded
// metric format. CloudWatch derives these metrics from it without another request: calls, errors,
// duration_ms, aws_requests and memory_refusals (docs/design/0065-metrics-and-alarms.md). A nil
// *Metrics adds nothing.
type Metrics struct {
	stack, function string
	directive       []directive
	requests        func() int64
}

// NewMetrics returns the metrics of a function, or nil if the environment has no stack. requests
// returns how many requests to AWS the process has sent.
func NewMetrics(e Environment, requests func() int64) *Metrics {
	if e.Stack == "" {
		return nil
	}
	dimensions := [][]string{{stackDimension}}
	if e.ToolMetrics {
		dimensions = append(dimensions, []string{stackDimension, functionDimension},
			[]string{stackDimension, toolDimension})
	}
	return &Metrics{
		stack: e.Stack, function: e.Function, requests: requests,
		directive: []directive{{Namespace: namespace, Dimensions: dimensions, Metrics: definitions}},
	}
}

// A directive lists the members of a log line that are metrics, and those that are their
// dimensions.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// A definition is the name and the unit of a metric.
type definition struct{ Name, Unit string }

// definitions are the metrics of a call, which are members of its log line.
var definitions = []definition{
	{"calls", "Count"}, {"errors", "Count"}, {"duration_ms", "Milliseconds"}, {"aws_requests", "Count"},
	{"memory_refusals", "Count"},
}

// An embedded is the member of a log line that describes its metrics.
type embedded struct {
	Timestamp         int64 // Unix milliseconds
	CloudWatchMetrics []directive
}

// measure returns the function with which the auditor measures calls, or nil. The requests to AWS
// of a call are those that the process has sent meanwhile, which includes those of concurrent
// calls.
func (m *Metrics) measure(now func() time.Time) func() func(audit.EndedCall) []slog.Attr {
	if m == nil {
		return nil
	}
	return func() func(audit.EndedCall) []slog.Attr {
		before := m.requests()
		return func(e audit.EndedCall) []slog.Attr {
			return m.attributes(e, now(), m.requests()-before)
		}
	}
}

// attributes returns the attributes for the log line of a call. The name of the tool is already in
// the line. at is the time of the metrics; requests is the number of requests to AWS during the
// call.
func (m *Metrics) attributes(e audit.EndedCall, at time.Time, requests int64) []slog.Attr {
	return []slog.Attr{
		slog.String(stackDimension, m.stack), slog.String(functionDimension, m.function),
		slog.Int("calls", 1), slog.Int("errors", oneIf(failed(e.Fault))),
		slog.Float64("duration_ms", float64(e.Took.Microseconds())/1000),
		slog.Int64("aws_requests", requests), slog.Int("memory_refusals", oneIf(refusedForMemory(e.Fault))),
		slog.Any("_aws", embedded{at.UnixMilli(), m.directive}),
	}
}

// failed reports whether the deployment, and not the caller, is the cause of a failed call.
func failed(f *fault.Fault) bool {
	return f != nil && (f.Status() == fault.StatusInternal || f.Status() == fault.StatusUnavailable)
}

// refusedForMemory reports whether a call failed because its vault does not fit into the memory of
// the function.
func refusedForMemory(f *fault.Fault) bool {
	return f != nil && f.Details["reason"] == tenant.ReasonMemory
}

// oneIf returns 1 if a condition is true, otherwise 0.
func oneIf(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

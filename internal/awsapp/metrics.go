package awsapp

import (
	"log/slog"
	"time"

	"rookery/internal/audit"
	"rookery/internal/fault"
	"rookery/internal/team"
)

// namespace is that of the metrics in CloudWatch.
const namespace = "Rookery"

// The dimensions of metrics. None names a tenant, a vault or a principal: each value of a dimension is a metric
// that AWS charges for.
const (
	stackDimension    = "stack"
	functionDimension = "function"
	toolDimension     = "tool"
)

// Metrics are attributes that make the log line of a call one of the embedded metric format of CloudWatch, which
// counts from it without another request: calls, errors, duration_ms, aws_requests and memory_refusals
// (docs/design/0065-metrics-and-alarms.md).
type Metrics struct {
	stack, function string
	directive       []directive
	requests        func() int64
}

// NewMetrics returns the metrics of a function. Requests returns how many requests to AWS the process has sent.
// Without a stack in the environment there are none: it returns nil.
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

// A directive says which members of a log line are metrics, and which are their dimensions.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// A definition is that of a metric.
type definition struct{ Name, Unit string }

// definitions are the metrics of a call: members of its log line.
var definitions = []definition{
	{"calls", "Count"}, {"errors", "Count"}, {"duration_ms", "Milliseconds"}, {"aws_requests", "Count"},
	{"memory_refusals", "Count"},
}

// embedded is the member of a log line in which CloudWatch finds its metrics.
type embedded struct {
	Timestamp         int64 // Unix milliseconds
	CloudWatchMetrics []directive
}

// measure returns what the auditor measures calls with; nil: nothing.
func (m *Metrics) measure(now func() time.Time) func() func(audit.Ended) []slog.Attr {
	if m == nil {
		return nil
	}
	return func() func(audit.Ended) []slog.Attr {
		before := m.requests()
		return func(e audit.Ended) []slog.Attr {
			return m.attributes(e, now(), m.requests()-before)
		}
	}
}

// attributes are those of the line of a call. The line has the name of the tool already.
func (m *Metrics) attributes(e audit.Ended, at time.Time, requests int64) []slog.Attr {
	return []slog.Attr{
		slog.String(stackDimension, m.stack), slog.String(functionDimension, m.function),
		slog.Int("calls", 1), slog.Int("errors", oneIf(failed(e.Fault))),
		slog.Float64("duration_ms", float64(e.Took.Microseconds())/1000),
		slog.Int64("aws_requests", requests), slog.Int("memory_refusals", oneIf(refusedForMemory(e.Fault))),
		slog.Any("_aws", embedded{at.UnixMilli(), m.directive}),
	}
}

// failed reports whether a call failed for a reason that the deployment answers for, not its caller.
func failed(f *fault.Fault) bool {
	return f != nil && (f.Status() == fault.StatusInternal || f.Status() == fault.StatusUnavailable)
}

// refusedForMemory reports whether the vault of a call does not fit into the memory of the function.
func refusedForMemory(f *fault.Fault) bool {
	return f != nil && f.Details["reason"] == team.ReasonMemory
}

func oneIf(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

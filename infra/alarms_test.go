package infra_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A datum is a value of a metric, as CloudWatch has it: all in one period.
type datum struct {
	namespace, name string
	dimensions      string // NAME=VALUE, sorted, joined by commas
	value           float64
}

// cloudwatch are the values of one period.
type cloudwatch []datum

// dimensionsOf are the dimensions of a metric of the template as a datum has them.
func dimensionsOf(v any) string {
	var all []string
	list, _ := v.([]any)
	for _, d := range list {
		m, _ := d.(map[string]any)
		all = append(all, fmt.Sprintf("%v=%v", m["Name"], m["Value"]))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// statistic is a statistic of a metric; false: it has no value.
func (c cloudwatch) statistic(metric map[string]any, stat string) (float64, bool) {
	var values []float64
	for _, d := range c {
		if d.namespace == metric["Namespace"] && d.name == metric["MetricName"] &&
			d.dimensions == dimensionsOf(metric["Dimensions"]) {
			values = append(values, d.value)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch {
	case stat == "Sum":
		return sum, true
	case stat == "Maximum":
		return values[len(values)-1], true
	case stat == "Average":
		return sum / float64(len(values)), true
	case strings.HasPrefix(stat, "p"):
		p, _ := strconv.ParseFloat(stat[1:], 64)
		return values[max(0, int(math.Ceil(p/100*float64(len(values))))-1)], true
	}
	return 0, false
}

// share is the one expression of two metrics that the template has.
var share = regexp.MustCompile(`^100 \* (\w+) / (\w+)$`)

// value is what an alarm compares with its threshold; false: nothing.
func (c cloudwatch) value(t *testing.T, alarm map[string]any) (float64, bool) {
	t.Helper()
	queries, _ := alarm["Metrics"].([]any)
	if queries == nil {
		stat := fmt.Sprint(alarm["Statistic"])
		if e := alarm["ExtendedStatistic"]; e != nil {
			stat = fmt.Sprint(e)
		}
		return c.statistic(alarm, stat)
	}
	known, expression := map[string]float64{}, ""
	for _, q := range queries {
		of, _ := q.(map[string]any)
		if e := of["Expression"]; e != nil {
			require.Equal(t, true, of["ReturnData"])
			expression = fmt.Sprint(e)
			continue
		}
		stat, _ := of["MetricStat"].(map[string]any)
		metric, _ := stat["Metric"].(map[string]any)
		if v, ok := c.statistic(metric, fmt.Sprint(stat["Stat"])); ok {
			known[fmt.Sprint(of["Id"])] = v
		}
	}
	if expression == "SUM(METRICS())" {
		sum := 0.0
		for _, v := range known {
			sum += v
		}
		return sum, len(known) > 0
	}
	m := share.FindStringSubmatch(expression)
	require.NotNil(t, m, "the expression %q is not known", expression)
	a, b := known[m[1]], known[m[2]]
	return 100 * a / b, b > 0
}

// fires reports whether an alarm fires: its value of the one period that there is breaches the threshold. Where
// it looks at several periods, all are as this one.
func (c cloudwatch) fires(t *testing.T, tpl *Template, id string) bool {
	t.Helper()
	require.Contains(t, tpl.Resources, id)
	alarm := tpl.Resources[id].Properties
	require.Equal(t, "notBreaching", alarm["TreatMissingData"], id)
	v, ok := c.value(t, alarm)
	threshold, err := strconv.ParseFloat(fmt.Sprint(alarm["Threshold"]), 64)
	require.NoError(t, err)
	switch alarm["ComparisonOperator"] {
	case "GreaterThanThreshold":
		return ok && v > threshold
	case "GreaterThanOrEqualToThreshold":
		return ok && v >= threshold
	}
	t.Fatalf("%s: the operator %v is not known", id, alarm["ComparisonOperator"])
	return false
}

// firing are the ids of all alarms that fire.
func (c cloudwatch) firing(t *testing.T, tpl *Template) []string {
	t.Helper()
	var all []string
	for id, r := range tpl.Resources {
		if r.Type == "AWS::CloudWatch::Alarm" && c.fires(t, tpl, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// TestEvaluator covers the evaluator of alarms: values on both sides of a threshold, shares, sums and missing values.
func TestEvaluator(t *testing.T) {
	tpl := template(t)
	require.Empty(t, cloudwatch{}.firing(t, tpl))
	requests := func(n int) (all cloudwatch) {
		for range n {
			all = append(all, datum{"AWS/ApiGateway", "Count", "ApiId=Api", 1})
		}
		return all
	}
	failure := datum{"AWS/ApiGateway", "5xx", "ApiId=Api", 1}
	require.Empty(t, append(requests(101), failure).firing(t, tpl), "less than one of a hundred")
	require.Equal(t, []string{"ServerErrorsAlarm"}, append(requests(100), failure).firing(t, tpl))
	late := func(d float64) cloudwatch {
		return cloudwatch{{"AWS/Lambda", "IteratorAge", "FunctionName=StreamFunction", d}}
	}
	require.Empty(t, late(600000).firing(t, tpl))
	require.Equal(t, []string{"StreamBehindAlarm"}, late(600001).firing(t, tpl))
	require.Empty(t, waited(15*time.Minute).firing(t, tpl))
	require.Equal(t, []string{"JobsAgeAlarm"}, waited(15*time.Minute+time.Second).firing(t, tpl))
	other := cloudwatch{{"AWS/Lambda", "Errors", "FunctionName=other", 9}}
	require.Empty(t, other.firing(t, tpl), "a function of another stack")
}

// waited is what SQS measures of the queue of jobs whose oldest message was sent so long ago.
func waited(age time.Duration) cloudwatch {
	return cloudwatch{{"AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName=JobsQueue.QueueName", age.Seconds()}}
}

package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkRecallByWords recalls memories of 10,000 by words, through the tool: by words that few have, and by one that
// all have too, so that thousands have the same score.
func BenchmarkRecallByWords(b *testing.B) {
	const n, page = 10_000, 1000
	p := open(b)
	for from := 0; from < n; from += page {
		var lines strings.Builder
		for i := from; i < from+page; i++ {
			fmt.Fprintf(&lines, `{"session_id":"s%d","intent":{"goal":"repair component c%d of the %s","task_type":"bug_fix"},`+
				`"outcome":{"success":true,"summary":"the %s was replaced"}}`+"\n", i/20, i, shipPart(i), shipPart(i/7))
		}
		p.do(b, "import", args{"files": []args{{"path": "memories.jsonl", "content": lines.String()}}})
	}
	for _, bench := range []struct {
		name  string
		query func(i int) string
	}{
		{"few", func(i int) string { return fmt.Sprintf("what became of the %s c%d", shipPart(i), i) }},
		{"all", func(i int) string { return fmt.Sprintf("component c%d", i) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				in := args{"query": bench.query(i * 7919 % n), "depth": "outcome"}
				began := time.Now()
				_, err := p.call("memory_recall", in)
				took = append(took, time.Since(began))
				require.NoError(b, err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[0].Microseconds()), "least-µs")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// shipPart is one of 64 names of parts.
func shipPart(i int) string {
	fronts := []string{"forward", "rear", "upper", "lower", "inner", "outer", "spare", "main"}
	parts := []string{"pump", "valve", "winch", "mast", "rudder", "anchor", "lantern", "hatch"}
	return fronts[i%8] + " " + parts[i/8%8]
}

package raven_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchVault has so many people, each with a task.
func benchVault(b *testing.B, n int) *place {
	b.Helper()
	p := open(b, map[string]string{"schema.yaml": batchSchema})
	for from := 0; from < n; from += 1000 {
		files := map[string]string{}
		for i := from; i < min(n, from+1000); i++ {
			files[fmt.Sprintf("people/p%05d.md", i)] = fmt.Sprintf(
				"---\ntype: person\nname: P%d\nrating: %d\n---\n\n# P%d\n\n- @due(2026-03-05) call [[people/p00000]]\n", i, i%5+1, i)
		}
		p.write(b, files)
	}
	return p
}

// BenchmarkBatch measures a batch of 100 operations in a vault of 10,000 notes, until it is durable.
func BenchmarkBatch(b *testing.B) {
	p := benchVault(b, 10_000)
	n := 0
	for b.Loop() {
		all := list{}
		for i := range 50 {
			id := fmt.Sprintf("new/n%d-%d", n, i)
			all = append(all, op("create", "object", args{"type": "page", "path": id}),
				op("create", "trait", args{"trait_type": "due", "value": "today", "parent_id": id, "content": "x"}))
		}
		n++
		require.True(b, p.answer(b, "raven_batch", args{"operations": all}).OK)
	}
}

// BenchmarkBulkSet measures a change of 1,000 of 10,000 notes with a plan, without the making of the plan.
func BenchmarkBulkSet(b *testing.B) {
	p := benchVault(b, 10_000)
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		in := args{"query": "type:person startswith(.name, \"P1\") .name!=P1 !startswith(.name, \"P10\") .rating>=1", "set": args{"email": fmt.Sprintf("e%d@example.test", n)}}
		var plan bulkData
		p.must(b, "raven_set", with(in, args{"dry_run": true}), &plan)
		b.StartTimer()
		e := p.answer(b, "raven_set", with(in, args{"plan_token": plan.Token}))
		require.True(b, e.OK, "%v", e.Error)
		b.ReportMetric(float64(plan.Total), "objects")
	}
}

// BenchmarkLogPage measures a page of 50 entries of the log of 10,000 notes: by time, by id, and by a filter that
// holds for few.
func BenchmarkLogPage(b *testing.B) {
	p := benchVault(b, 10_000)
	p.must(b, "raven_set", args{"id": "people/p00007", "set": args{"rating": 2}}, nil)
	for name, in := range map[string]args{
		"time": {"since": "2026-03-02", "limit": 50}, "id": {"id": "people/p00007"}, "filter": {"all": true, "op": "update"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.must(b, "raven_log", in, nil)
			}
		})
	}
}

package limit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
)

// BenchmarkAdmit measures a call with leased calls, for different numbers of cached callers, with
// the real clock; with one goroutine and with all processors.
func BenchmarkAdmit(b *testing.B) {
	for _, callers := range []int{1, 5000} {
		bed := newBed(b)
		l := limit.New(limit.Options{
			Tables: func(_ context.Context, tenant string) (table.Table, error) {
				return table.Sub(bed.table, tenant), nil
			},
		})
		handle := l.Intercept(
			func(context.Context, *tool.Call) (tool.Reply, error) { return tool.Reply{}, nil })
		for n := range callers {
			l.Fill(ann(fmt.Sprint(n)), 1<<40)
		}
		admit := func(ctx context.Context, c auth.Caller) {
			if _, err := handle(ctx, &tool.Call{Tool: read, Caller: c}); err != nil {
				b.Error(err)
			}
		}
		b.Run(fmt.Sprintf("callers=%d/alone", callers), func(b *testing.B) {
			b.ReportAllocs()
			c := ann("0")
			for b.Loop() {
				admit(b.Context(), c)
			}
		})
		b.Run(fmt.Sprintf("callers=%d/parallel", callers), func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				c, ctx := ann("0"), b.Context()
				for p.Next() {
					admit(ctx, c)
				}
			})
		})
	}
}

// BenchmarkTen measures ten calls of a caller, with the one write that they cost.
func BenchmarkTen(b *testing.B) {
	bed := newBed(b)
	i := bed.instance(0)
	c := ann("a")
	for b.Loop() {
		for range 10 {
			if err := i.call(b.Context(), read, c); err != nil {
				b.Fatal(err)
			}
		}
		bed.clock.on(time.Second)
	}
}

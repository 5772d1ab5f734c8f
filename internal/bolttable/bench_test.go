package bolttable_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// BenchmarkCommit measures durable commits of one item of 1 KB, with different numbers of
// concurrent callers.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "table.db")
			benchmarkCommit(b, open(b, path, bolttable.Options{}), callers)
		})
	}
}

func benchmarkCommit(b *testing.B, tab table.Table, callers int) {
	data := make([]byte, 1<<10)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				k := table.Key{Part: "part", Sort: fmt.Sprintf("log/%012d", n)}
				err := tab.Commit(b.Context(), table.Create(table.Item{Key: k, Data: data}))
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkGet measures reading one item among many.
func BenchmarkGet(b *testing.B) {
	tab := open(b, filepath.Join(b.TempDir(), "table.db"), bolttable.Options{})
	benchmarkFill(b, tab, 1000)
	for i := 0; b.Loop(); i++ {
		k := table.Key{Part: "part", Sort: fmt.Sprintf("%06d", i%1000)}
		if _, err := tab.Get(b.Context(), k); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTail measures the Query of a warm read: the last items of a log.
func BenchmarkTail(b *testing.B) {
	tab := open(b, filepath.Join(b.TempDir(), "table.db"), bolttable.Options{})
	benchmarkFill(b, tab, 1000)
	for b.Loop() {
		for _, err := range tab.Query(b.Context(), "part", "000997", "~") {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchmarkFill(b *testing.B, tab table.Table, n int) {
	b.Helper()
	for i := 0; i < n; i += table.MaxOps {
		var ops []table.Op
		for j := range table.MaxOps {
			k := table.Key{Part: "part", Sort: fmt.Sprintf("%06d", i+j)}
			ops = append(ops, table.Create(table.Item{Key: k, Data: make([]byte, 1<<10)}))
		}
		if err := tab.Commit(b.Context(), ops...); err != nil {
			b.Fatal(err)
		}
	}
}

package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/memory"
)

// many is an index of so many memories of about a kilobyte each.
func many(n int) *memory.Index {
	x := memory.Empty()
	text := strings.Repeat("what was learnt of it ", 8)
	for i := range n {
		m := memory.Memory{
			V: 1, Agent: fmt.Sprintf("agent_%d", i%64), Principal: "p", Session: fmt.Sprintf("s%d", i%1000),
			Created: 1_700_000_000_000 + int64(i),
			Intent:  memory.Intent{Goal: fmt.Sprintf("fix the thing number %d of many", i), TaskType: tasks[i%3], Context: text},
			Outcome: memory.Outcome{Success: i%3 > 0, Summary: text, Learnings: []string{text}},
			Actions: []memory.Action{
				{Type: "file_edit", FilePath: fmt.Sprintf("src/pkg%d/file%d.go", i%50, i%2000), DiffSummary: text},
			},
			Tags: []string{fmt.Sprintf("t%d", i%100), "common"}, Importance: .5,
		}
		x.Apply(memory.Commit{Seq: uint64(i + 1), Time: m.Created, Changes: []memory.Change{{
			Kind: memory.KindMemory, ID: fmt.Sprintf("mem_%08d-0000-4000-8000-000000000000", i), Value: encoded(m),
			Place: memory.Place{Run: uint64(i + 1)},
		}}})
	}
	return x
}

func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		x := many(n)
		b.Run(fmt.Sprintf("with/%d", n), func(b *testing.B) {
			value := encoded(memory.Memory{Agent: "a", Intent: memory.Intent{Goal: "g", TaskType: "other"}, Tags: []string{"x"}})
			for i := range b.N {
				x.With(memory.Commit{Seq: uint64(n + 1 + i), Changes: []memory.Change{
					{Kind: memory.KindMemory, ID: "mem_new", Value: value},
				}})
			}
		})
		image := string(x.AppendImage(nil))
		b.Run(fmt.Sprintf("image/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := memory.ReadImage(image); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(image))/float64(n), "B/memory")
		})
		b.Run(fmt.Sprintf("file/%d", n), func(b *testing.B) {
			for b.Loop() {
				x.OfFile("src/pkg7/file7.go", true)
			}
		})
		b.Run(fmt.Sprintf("filter/%d", n), func(b *testing.B) {
			for b.Loop() {
				for range x.Ranked(memory.Filter{Agent: "agent_7", Tags: []string{"common"}}) {
				}
			}
		})
		b.Run(fmt.Sprintf("held/%d", n), func(b *testing.B) {
			x = nil
			before := heap()
			read, _ := memory.ReadImage(strings.Clone(image))
			b.ReportMetric(float64(heap()-before)/float64(n), "B/memory")
			b.ReportMetric(float64(read.Size())/float64(n), "said-B/memory")
			runtime.KeepAlive(read)
			x = many(n)
		})
	}
}

// TestIndexIsSmall holds what a memory of about a kilobyte may take in an index that was read from its image, and
// that Size says about as much.
func TestIndexIsSmall(t *testing.T) {
	const n, most = 10_000, 1536
	image := string(many(n).AppendImage(nil))
	before := heap()
	read, err := memory.ReadImage(strings.Clone(image))
	require.NoError(t, err)
	held := heap() - before
	require.Equal(t, n, read.Len())
	require.LessOrEqual(t, held/n, int64(most))
	require.InEpsilon(t, held, read.Size(), .1)
	runtime.KeepAlive(image)
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // of one process
}

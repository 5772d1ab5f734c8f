package parallel_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/parallel"
)

// counting yields the numbers below n, and counts in read those that were yielded.
func counting(n int, read *int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			*read++
			if !yield(i) {
				return
			}
		}
	}
}

// TestAhead checks that each value is used once, that the results are in order, and that at most as
// many values as allowed are read in advance.
func TestAhead(t *testing.T) {
	for _, workers := range []int{1, 3, 100} {
		for _, ahead := range []int{1, 7, 1000} {
			read, yielded := 0, 0
			var calls, running, most atomic.Int64
			for v, r := range parallel.Ahead(workers, ahead, counting(50, &read), func(worker, v int) int {
				calls.Add(1)
				if now := running.Add(1); now > most.Load() {
					most.Store(now)
				}
				defer running.Add(-1)
				if worker < 0 || worker >= workers {
					panic("a worker of that number")
				}
				return v * v
			}) {
				require.Equal(t, yielded, v)
				require.Equal(t, v*v, r)
				require.LessOrEqual(t, read-yielded, ahead)
				yielded++
			}
			require.Equal(t, 50, yielded)
			require.EqualValues(t, 50, calls.Load())
			require.LessOrEqual(t, int(most.Load()), workers)
		}
	}
}

// TestAheadWorksMeanwhile checks that later values are worked on while an earlier result is used.
func TestAheadWorksMeanwhile(t *testing.T) {
	done := make(chan int, 10)
	for v := range parallel.Ahead(1, 3, slices.Values([]int{0, 1, 2, 3}), func(_, v int) int {
		done <- v
		return v
	}) {
		for v == 0 && <-done != 2 { // the value 2 is read before 0 is yielded
		}
	}
}

// TestAheadEnds checks that a caller can stop early, and that no call is running afterwards.
func TestAheadEnds(t *testing.T) {
	var running atomic.Int64
	read := 0
	for v := range parallel.Ahead(2, 5, counting(100, &read), func(_, v int) int {
		running.Add(1)
		defer running.Add(-1)
		return v
	}) {
		if v == 10 {
			break
		}
	}
	require.Zero(t, running.Load())
	require.LessOrEqual(t, read, 16)
	for range parallel.Ahead(2, 5, slices.Values([]int(nil)), func(int, int) int { panic("none") }) {
		t.Fatal("no values")
	}
}

// TestAheadPanics checks that a panic reaches the caller in place of the result.
func TestAheadPanics(t *testing.T) {
	read, yielded := 0, 0
	require.PanicsWithValue(t, "odd", func() {
		for range parallel.Ahead(2, 4, counting(20, &read), func(_, v int) int {
			if v == 9 {
				panic("odd")
			}
			return v
		}) {
			yielded++
		}
	})
	require.Equal(t, 9, yielded)
}

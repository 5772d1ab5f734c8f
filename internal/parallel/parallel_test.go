package parallel_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/parallel"
)

// TestForEach checks that every value is used once, by no more calls at a time than allowed, and that
// all errors are returned.
func TestForEach(t *testing.T) {
	for _, atOnce := range []int{1, 3, 100} {
		var mu sync.Mutex
		var seen []int
		running, most := 0, 0
		all := make([]int, 40)
		for i := range all {
			all[i] = i
		}
		err := parallel.ForEach(atOnce, all, func(i int) error {
			mu.Lock()
			seen, running = append(seen, i), running+1
			most = max(most, running)
			mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			running--
			if i%20 == 7 {
				return fmt.Errorf("%d: %w", i, errOdd)
			}
			return nil
		})
		require.ErrorIs(t, err, errOdd)
		require.ErrorContains(t, err, "7:")
		require.ErrorContains(t, err, "27:")
		require.LessOrEqual(t, most, atOnce)
		slices.Sort(seen)
		require.Equal(t, all, seen)
	}
	require.NoError(t, parallel.ForEach(2, nil, func(int) error { return errOdd }))
}

// TestForEachPanics checks that a panic reaches the caller, after all other calls.
func TestForEachPanics(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	require.PanicsWithValue(t, "odd", func() {
		_ = parallel.ForEach(2, make([]int, 10), func(int) error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls == 3 {
				panic("odd")
			}
			return nil
		})
	})
	require.Equal(t, 10, calls)
}

// TestRange checks that each number is used once, and that a panic reaches the caller.
func TestRange(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		used := make([]atomic.Int64, n)
		parallel.Range(n, func(i int) { used[i].Add(1) })
		for i := range used {
			require.EqualValues(t, 1, used[i].Load())
		}
	}
	for _, n := range []int{1, 10} {
		require.PanicsWithValue(t, "odd", func() { parallel.Range(n, func(int) { panic("odd") }) })
	}
}

var errOdd = errors.New("odd")

package team

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A number is a row.
type number struct {
	n    int
	full bool
}

func (n number) refused() bool { return n.full }

// TestOfEach holds that vaults are read 16 at once and told in order, and that one for which there was no memory is
// asked again when the others are done.
func TestOfEach(t *testing.T) {
	var all []int
	for i := range 40 {
		all = append(all, i)
	}
	var running, most atomic.Int64
	full := make(chan struct{})
	asked := make([]int, len(all))
	rows, err := forEach(all, func(i int) (number, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		if now == manyOpen {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full
		asked[i]++
		return number{i, i%7 == 0 && asked[i] == 1}, nil
	})
	require.NoError(t, err)
	require.EqualValues(t, manyOpen, most.Load())
	for i, row := range rows {
		require.Equal(t, number{i, false}, row)
		require.Equal(t, i%7 == 0, asked[i] == 2)
	}
	failed := errors.New("no")
	_, err = forEach(all, func(i int) (number, error) {
		if i == 30 {
			return number{}, failed
		}
		return number{n: i}, nil
	})
	require.ErrorIs(t, err, failed)
}

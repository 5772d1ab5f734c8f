package stream_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/stream"
)

// TestTogetherPanics covers that a panic is an error of one of the things, that says nothing of what it was about, and
// that the others are done.
func TestTogetherPanics(t *testing.T) {
	var done atomic.Int32
	failed := errors.New("failed")
	err := stream.ForEach(2, []int{0, 1, 2, 3}, func(i int) error {
		switch i {
		case 1:
			panic("text of a note")
		case 2:
			return failed
		}
		done.Add(1)
		return nil
	})
	require.ErrorIs(t, err, failed)
	require.ErrorContains(t, err, "panic while files are written: string")
	require.NotContains(t, err.Error(), "text of a note")
	require.EqualValues(t, 2, done.Load())
}

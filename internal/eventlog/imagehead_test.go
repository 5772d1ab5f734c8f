package eventlog_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/stretchr/testify/require"
)

// TestImageOfManySegments checks that the head of an image may exceed the space that is reserved
// for it.
func TestImageOfManySegments(t *testing.T) {
	for _, n := range []int{0, 1, 100, 5000} {
		names, same, err := eventlog.SealedImage(n, []byte("the state"))
		require.NoError(t, err, n)
		require.Equal(t, n, names)
		require.True(t, same, n)
	}
}

package blob_test

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/blob"
)

// TestPieces reads pieces of any sizes as one text, from any offset.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data blob.Pieces = rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 5), 0, 6).Draw(t, "pieces")
		whole := bytes.Join(data, nil)
		require.Equal(t, whole, data.Join())
		require.EqualValues(t, len(whole), data.Size())
		require.NoError(t, iotest.TestReader(data.Reader(), whole))
	})
}

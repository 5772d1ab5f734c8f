package fileblob_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/fileblob"
)

// BenchmarkWrite is what a served folder costs a write to a note: the look before it, and the
// exchange after it.
func BenchmarkWrite(b *testing.B) {
	bucket, err := fileblob.Open(b.TempDir())
	require.NoError(b, err)
	defer bucket.Close()
	key := "vault/demo/books/a-note.md"
	text := bytes.Repeat([]byte("0123456789abcde\n"), 128)
	require.NoError(b, bucket.Exchange(b.Context(), key, text, nil))
	for i := range b.N {
		found, _, err := bucket.Get(b.Context(), key, 0, -1)
		require.NoError(b, err)
		next := append(bytes.Clone(text), fmt.Sprint(i)...)
		require.NoError(b, bucket.Exchange(b.Context(), key, next, found))
	}
}

package fileblob_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fileblob"
)

// BenchmarkWrite measures the cost of a served folder for writing a note: the look before it, and
// the exchange after it.
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

// BenchmarkList measures listing an unchanged folder: 10,000 notes in 300 folders.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	bucket, err := fileblob.Open(dir)
	require.NoError(b, err)
	defer bucket.Close()
	for i := range 10_000 {
		in := filepath.Join(dir, "notes", fmt.Sprintf("folder %d", i%15), fmt.Sprintf("of %d", i%300))
		require.NoError(b, os.MkdirAll(in, 0o755))
		name := filepath.Join(in, fmt.Sprintf("a note of some length %d.md", i))
		require.NoError(b, os.WriteFile(name, []byte("text\n"), 0o600))
	}
	for b.Loop() {
		n := 0
		for o, err := range bucket.List(b.Context(), "") {
			require.NoError(b, err)
			if o.Mark != "" {
				n++
			}
		}
		require.Equal(b, 10_000, n)
	}
}

package fileblob_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExchangeReadsNoFileIntoMemory checks that the files that an exchange compares are not in memory.
func TestExchangeReadsNoFileIntoMemory(t *testing.T) {
	const size = 4 << 20
	for name, o := range openers() {
		t.Run(name, func(t *testing.T) {
			bucket := openWith(t, t.TempDir(), o)
			one, two := bytes.Repeat([]byte("1"), size), bytes.Repeat([]byte("2"), size)
			require.NoError(t, bucket.Exchange(t.Context(), "a.md", one, nil))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, bucket.Exchange(t.Context(), "a.md", two, one))
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4))
		})
	}
}

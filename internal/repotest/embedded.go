package repotest

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// Embedded returns a new embedded engine in a folder of its own, which is closed when the test ends.
// The clock of its table is fixed at the start time of the cases' clocks, so that nothing in the table
// expires.
func Embedded(t testing.TB) Engine {
	t.Helper()
	table, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"),
		bolttable.Options{Now: NewClock().Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, table.Close()) })
	bucket, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	return Engine{Table: table, Bucket: bucket}
}

// Noise returns n bytes of text that hardly get smaller when they are packed, and that JSON does not
// escape. It is the same text each time.
func Noise(n int) string {
	r, b := rand.New(rand.NewPCG(1, uint64(n))), make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[r.IntN(64)]
	}
	return string(b)
}

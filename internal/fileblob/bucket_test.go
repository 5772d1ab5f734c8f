package fileblob_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/blobtest"
	"rookery/internal/fileblob"
)

func open(t *testing.T, dir string) *fileblob.Bucket {
	t.Helper()
	b, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Bucket { return open(t, t.TempDir()) })
}

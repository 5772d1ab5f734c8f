package fileblob_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/blobtest"
	"rookery/internal/fileblob"
)

func open(t *testing.T, dir string) *fileblob.Bucket { return openWith(t, dir, fileblob.Open) }

func openWith(
	t *testing.T, dir string, opener func(string) (*fileblob.Bucket, error),
) *fileblob.Bucket {
	t.Helper()
	b, err := opener(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// openers open a folder in each way that a file system may need.
func openers() map[string]func(string) (*fileblob.Bucket, error) {
	return map[string]func(string) (*fileblob.Bucket, error){
		"swap": fileblob.Open, "without swap": fileblob.OpenWithoutSwap,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Bucket { return open(t, t.TempDir()) })
}

// TestConformanceWithoutSwap is TestConformance on a file system that cannot exchange two files.
func TestConformanceWithoutSwap(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Bucket {
		return openWith(t, t.TempDir(), fileblob.OpenWithoutSwap)
	})
}

func TestExchanger(t *testing.T) {
	t.Parallel()
	runExchanger(t, fileblob.Open)
}

// TestExchangerWithoutSwap is TestExchanger on a file system that cannot exchange two files.
func TestExchangerWithoutSwap(t *testing.T) {
	t.Parallel()
	runExchanger(t, fileblob.OpenWithoutSwap)
}

func runExchanger(t *testing.T, opener func(string) (*fileblob.Bucket, error)) {
	blobtest.RunExchanger(t, func(t *testing.T) blobtest.Opened {
		dir := t.TempDir()
		b := openWith(t, dir, opener)
		return blobtest.Opened{
			Folder: b, Dir: dir,
			Displaced: func() ([]string, error) {
				var texts []string
				for d, err := range b.Displaced(t.Context()) {
					if err != nil {
						return nil, err
					}
					texts = append(texts, string(d.Data))
				}
				return texts, nil
			},
		}
	})
}

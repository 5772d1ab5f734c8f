//go:build linux

package casefoldfs_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/blobtest"
	"github.com/rookeryhq/rookery/internal/casefoldfs"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

func openFolder(t *testing.T, o casefoldfs.Options) (*fileblob.Bucket, string) {
	t.Helper()
	dir := casefoldfs.Mount(t, o)
	b, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b, dir
}

// kinds are the file systems that a folder may lie on.
func kinds() map[string]casefoldfs.Options {
	return map[string]casefoldfs.Options{"exchange": {}, "no exchange": {NoRenameFlags: true}}
}

func TestConformance(t *testing.T) {
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobtest.RunFolding(t, func(t *testing.T) blob.Bucket {
				b, _ := openFolder(t, o)
				return b
			})
		})
	}
}

// TestExchanger runs the suite where files can be exchanged, which is what people have; with
// ROOKERY_SOAK=1 also where they cannot.
func TestExchanger(t *testing.T) {
	for name, o := range kinds() {
		if o.NoRenameFlags && os.Getenv("ROOKERY_SOAK") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobtest.RunExchanger(t, func(t *testing.T) blobtest.Opened {
				b, dir := openFolder(t, o)
				return blobtest.Opened{
					Folder: b, Dir: dir,
					Displaced: func() ([]string, error) { return displaced(t, b) },
				}
			})
		})
	}
}

func displaced(t *testing.T, b *fileblob.Bucket) (texts []string, err error) {
	for d, err := range b.Displaced(t.Context()) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(d.Data))
	}
	return texts, nil
}

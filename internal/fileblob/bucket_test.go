package fileblob_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/blobtest"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

func open(t *testing.T, dir string) *fileblob.Bucket { return openWith(t, dir, fileblob.Open) }

// An opener opens a folder in one of the ways that different file systems require.
type opener func(dir string) (*fileblob.Bucket, error)

func openWith(t *testing.T, dir string, o opener) *fileblob.Bucket {
	t.Helper()
	b, err := o(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func openers() map[string]opener {
	return map[string]opener{
		"swap":              fileblob.Open,
		"without swap":      withoutSwap(fileblob.Open),
		"work":              openWork,
		"work without swap": withoutSwap(openWork),
		"work elsewhere":    openElsewhere,
	}
}

func withoutSwap(o opener) opener {
	return func(dir string) (*fileblob.Bucket, error) {
		b, err := o(dir)
		if err == nil {
			b.ForgoSwap()
		}
		return b, err
	}
}

// workOf returns the path of a directory next to a folder.
func workOf(dir string) string { return dir + ".work" }

func openWork(dir string) (*fileblob.Bucket, error) {
	return fileblob.OpenWith(dir, fileblob.Options{Work: workOf(dir)})
}

// openElsewhere opens a folder whose Work seems to be on another file system.
func openElsewhere(dir string) (*fileblob.Bucket, error) {
	return fileblob.OpenWith(dir, fileblob.Options{Work: workOf(dir), Seam: apart})
}

// apart is a Seam that refuses to move files between Work and the folder.
func apart(c fileblob.Change, do func() error) error {
	inWork := func(at string) bool { return strings.HasPrefix(at, ".rookery/elsewhere/") }
	if c.To != "" && inWork(c.Path) != inWork(c.To) {
		return syscall.EXDEV
	}
	return do()
}

// storesOf returns the directories that may contain the bucket's own files.
func storesOf(dir string) []string { return []string{filepath.Join(dir, ".rookery"), workOf(dir)} }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, o := range openers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := blobtest.Run
			if name != "swap" && os.Getenv("ROOKERY_SOAK") == "" {
				run = blobtest.RunAlone
			}
			run(t, func(t *testing.T) blob.Bucket { return openWith(t, t.TempDir(), o) })
		})
	}
}

func TestExchanger(t *testing.T) {
	t.Parallel()
	for name, o := range openers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runExchanger(t, o)
		})
	}
}

func runExchanger(t *testing.T, o opener) {
	blobtest.RunExchanger(t, func(t *testing.T) blobtest.Opened {
		dir := t.TempDir()
		b := openWith(t, dir, o)
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

// TestWriteAfterClose checks that writes to a closed bucket, such as those that were running when it
// was closed, return an error and change nothing.
func TestWriteAfterClose(t *testing.T) {
	t.Parallel()
	for name, o := range openers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, err := o(dir)
			require.NoError(t, err)
			_, err = b.Put(t.Context(), "a", []byte("one"), blob.Always)
			require.NoError(t, err)
			require.NoError(t, b.Close())
			_, err = b.Put(t.Context(), "a", []byte("two"), blob.Always)
			require.Error(t, err)
			_, err = b.Put(t.Context(), "b", []byte("two"), blob.IfAbsent)
			require.Error(t, err)
			require.Error(t, b.Exchange(t.Context(), "a", []byte("two"), []byte("one")))
			require.Error(t, b.Remove(t.Context(), "a", []byte("one")))
			text, err := os.ReadFile(filepath.Join(dir, "a"))
			require.NoError(t, err)
			require.Equal(t, "one", string(text))
			require.NoFileExists(t, filepath.Join(dir, "b"))
		})
	}
}

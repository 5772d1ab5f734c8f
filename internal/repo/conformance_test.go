package repo_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repotest"
)

func TestConformance(t *testing.T) { repotest.Run(t, engine) }

// TestConformanceOfItems runs the cases of the suite about images, with small images in items of
// the table.
func TestConformanceOfItems(t *testing.T) {
	repotest.RunFolding(t, func(t *testing.T) repotest.Engine {
		e := engine(t)
		e.Items = true
		return e
	})
}

// engine returns the embedded engine. The clock of its table is fixed at the start time of the
// cases' clocks, so that nothing in the table expires.
func engine(t *testing.T) repotest.Engine {
	t.Helper()
	table, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"),
		bolttable.Options{Now: repotest.NewClock().Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, table.Close()) })
	bucket, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	return repotest.Engine{Table: table, Bucket: bucket}
}

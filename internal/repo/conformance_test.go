package repo_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/bolttable"
	"rookery/internal/fileblob"
	"rookery/internal/repotest"
)

func TestConformance(t *testing.T) { repotest.Run(t, engine) }

// TestConformanceOfItems is the part of the suite that is about images, where small ones are items of the table.
func TestConformanceOfItems(t *testing.T) {
	repotest.RunFolding(t, func(t *testing.T) repotest.Engine {
		e := engine(t)
		e.Items = true
		return e
	})
}

// engine is the embedded one. Its table has the time at which the clocks of the cases begin, whatever day it
// is: what a case says of days is about its own clock, and the table is to lose nothing meanwhile.
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

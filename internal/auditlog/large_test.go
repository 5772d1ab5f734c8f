package auditlog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// months creates a vault with changes in three months, and saves its audit log a few commits at a
// time in files over a bucket. It returns their contents by path.
func months(t *testing.T, over func(blob.Bucket) auditlog.Files) map[string]string {
	t.Helper()
	now := time.Date(2026, 9, 29, 12, 0, 0, 0, time.UTC)
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	bucket, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "main", Part: "main/1", Table: db, Bucket: blob.Sub(bucket, "log"), Texts: repo.NewTexts(1 << 20),
		Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	require.NoError(t, v.Create(t.Context(), eventlog.Call{Tool: "create"}, nil))
	notes := blob.Sub(bucket, "notes")
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	log := auditlog.New(v, over(notes), control)
	for day := range 60 {
		now = now.Add(24 * time.Hour)
		_, err := v.Update(t.Context(), eventlog.Call{Tool: "write"}, func(ctx context.Context, tx *repo.Tx) (any, error) {
			return nil, tx.Put(ctx, vault.Path(fmt.Sprintf("day %d.md", day)), []byte("# Day\n"))
		})
		require.NoError(t, err)
		if day%3 > 0 {
			continue
		}
		added := auditlog.NewBatch(log.Seq())
		for c, err := range v.Commits(t.Context(), log.Seq()+1) {
			require.NoError(t, err)
			added.Add(c)
		}
		require.NoError(t, log.Save(t.Context(), added))
	}
	all := map[string]string{}
	for o, err := range notes.List(t.Context(), "") {
		require.NoError(t, err)
		text, _, err := notes.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
		all[o.Key] = string(text)
	}
	return all
}

// TestLargeMonths checks that the files are the same, byte for byte, if large objects are extended
// and copied, and that the contents of such an object are not read.
func TestLargeMonths(t *testing.T) {
	want := months(t, auditlog.InBucket)
	require.Len(t, want, 3)
	var counted *extended
	got := months(t, func(b blob.Bucket) auditlog.Files {
		counted = &extended{Bucket: b}
		return auditlog.Large(auditlog.InBucket(counted), 1)
	})
	require.Equal(t, want, got)
	total := 0
	for _, text := range want {
		total += len(text)
	}
	require.Less(t, counted.read, total/4, "a byte for each append, and as much as is appended to a new month")
}

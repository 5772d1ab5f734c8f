package checkout_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
)

// freshness is what the control item of a vault says now.
func freshness(t *testing.T, v *repo.Vault) repo.Freshness {
	t.Helper()
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	return control.Freshness(time.Now())
}

// noticed are the edits that are known and not in the log.
func noticed(t *testing.T, v *repo.Vault) []string {
	t.Helper()
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	if control.Noticed == nil {
		return nil
	}
	return control.Noticed.Paths
}

// TestFreshness goes through the states that a folder can be in (DESIGN §5).
func TestFreshness(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	require.Equal(t, repo.Unknown, freshness(t, v), "nobody has looked yet")
	v, folder := p.open(t)
	folder.Close() // it does not sweep by itself any more
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", "first\n")
	require.Equal(t, repo.Fresh, freshness(t, v))

	p.edit(t, "a.md", "mine\n")
	require.Equal(t, repo.Fresh, freshness(t, v), "nobody knows of it yet")
	write(t, v, "a.md", "first\nsecond\n")
	require.Equal(t, repo.Pending, freshness(t, v), "a write has met it")
	require.Equal(t, []string{"a.md"}, noticed(t, v))
	_, err = folder.Reindex(t.Context(), checkout.Ingesting{})
	require.NoError(t, err)
	require.Equal(t, repo.Fresh, freshness(t, v))

	require.NoError(t, os.Remove(filepath.Join(p.dir, "a.md")))
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "a.md"), 0o700))
	_, err = folder.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, repo.Pending, freshness(t, v), "a missing file is an edit too")
	p.edit(t, "b.md", "\xff\xfe not UTF-8")
	write(t, v, "c.md", "fine\n")
	p.edit(t, "c.md", "\xff\xfe not UTF-8")
	_, err = folder.Reindex(t.Context(), checkout.Ingesting{})
	require.NoError(t, err)
	require.Equal(t, repo.Stale, freshness(t, v), "nobody can take it in")
}

// TestPendingUntilPutBack holds that what was noticed is forgotten by a write that finds the file as
// it should be, with no sweep between.
func TestPendingUntilPutBack(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close() // it does not sweep by itself any more
	write(t, v, "a.md", "first\n")
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	p.edit(t, "a.md", "mine\n")
	_, err = folder.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, repo.Pending, freshness(t, v))
	p.edit(t, "a.md", "first\n")
	write(t, v, "a.md", "ours again\n")
	require.Equal(t, repo.Fresh, freshness(t, v))
	require.Equal(t, "ours again\n", p.file(t, "a.md"))
}

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

// freshness returns the freshness in the control item of a vault.
func freshness(t *testing.T, v *repo.Vault) repo.Freshness {
	t.Helper()
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	return control.Freshness(time.Now())
}

// noticed returns the edits that are known and not in the log yet.
func noticed(t *testing.T, v *repo.Vault) []string {
	t.Helper()
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	if control.Noticed == nil {
		return nil
	}
	return control.Noticed.Paths
}

// TestFreshness checks the states of a folder (DESIGN §5).
func TestFreshness(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	require.Equal(t, repo.Unknown, freshness(t, v), "nobody has looked yet")
	v, folder := p.open(t)
	folder.Close() // no more background sweeps
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", "first\n")
	require.Equal(t, repo.Fresh, freshness(t, v))

	p.edit(t, "a.md", "mine\n")
	require.Equal(t, repo.Fresh, freshness(t, v), "nobody knows of it yet")
	write(t, v, "a.md", "first\nsecond\n")
	require.Equal(t, repo.Pending, freshness(t, v), "a write has met it")
	require.Equal(t, []string{"a.md"}, noticed(t, v))
	_, err = folder.Reindex(t.Context(), checkout.IngestOptions{})
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
	_, err = folder.Reindex(t.Context(), checkout.IngestOptions{})
	require.NoError(t, err)
	require.Equal(t, repo.Stale, freshness(t, v), "nobody can take it in")
}

// TestPendingUntilPutBack checks that an edit which was noticed is forgotten by a write that finds
// the file in the expected state, without a sweep between.
func TestPendingUntilPutBack(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close() // no more background sweeps
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

package checkout_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/repo"
)

// freshness is what the control item of a vault says now.
func freshness(t *testing.T, v *repo.Vault) repo.Freshness {
	t.Helper()
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	return control.Freshness(time.Now())
}

// TestFreshness goes through the states that a folder can be in (DESIGN §5): what was noticed is
// pending until a sweep looks at it, what a sweep found is stale until the next one does not.
func TestFreshness(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	require.Equal(t, repo.Unknown, freshness(t, v), "nobody has looked yet")
	v, folder := p.open(t)
	folder.Close() // it does not sweep by itself any more
	_, err := folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	write(t, v, "a.md", "first\n")
	require.Equal(t, repo.Fresh, freshness(t, v))

	p.edit(t, "a.md", "mine\n")
	require.Equal(t, repo.Fresh, freshness(t, v), "nobody knows of it yet")
	conflict(t, v, "a.md")
	require.Equal(t, repo.Pending, freshness(t, v))
	control, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, control.Noticed.Paths)
	_, err = folder.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, repo.Stale, freshness(t, v))
	conflict(t, v, "a.md")
	require.Equal(t, repo.Stale, freshness(t, v), "the sweep knows of it")

	p.edit(t, "a.md", "first\n")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "a.md")))
	_, err = folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, repo.Stale, freshness(t, v), "a missing file is a difference too")
	_, err = folder.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, repo.Fresh, freshness(t, v))
}

// TestPendingUntilPutBack holds that what was noticed is forgotten by a write that finds the file as
// it should be, with no sweep between.
func TestPendingUntilPutBack(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close() // it does not sweep by itself any more
	write(t, v, "a.md", "first\n")
	_, err := folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	p.edit(t, "a.md", "mine\n")
	conflict(t, v, "a.md")
	require.Equal(t, repo.Pending, freshness(t, v))
	p.edit(t, "a.md", "first\n")
	write(t, v, "a.md", "ours again\n")
	require.Equal(t, repo.Fresh, freshness(t, v))
}

// TestPendingAtANewPath holds that a file in the place of a note that is to be made stays noticed, over
// a sweep and a restart, while it is there: the log has no file that the sweep could compare.
func TestPendingAtANewPath(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	p.edit(t, "new.md", "mine\n")
	conflict(t, v, "new.md")
	for range 2 {
		_, err := folder.Sweep(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, repo.Pending, freshness(t, v))
		folder.Close()
		v, folder = p.open(t)
		require.Equal(t, repo.Pending, freshness(t, v))
	}
	require.NoError(t, os.Remove(filepath.Join(p.dir, "new.md")))
	_, err := folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, repo.Fresh, freshness(t, v))
}

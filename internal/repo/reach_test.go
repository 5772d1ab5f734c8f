package repo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// TestTextsThatMoved checks that a process with an old index finds its texts after they have left
// the table, and that a segment that was restored is found again.
func TestTextsThatMoved(t *testing.T) {
	s := newShelf(t)
	s.write(t, 9)
	v := s.opened(t, repo.NewTexts(1))
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	s.empty(t)
	read := func() error {
		for f := range idx.Files() {
			if _, err := v.Text(t.Context(), f.Body); err != nil {
				return err
			}
			for _, err := range v.Revisions(t.Context(), f.Path, f.Version) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	require.NoError(t, read())
	key := s.objects(t, "segment/")[0]
	data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	require.NoError(t, s.Bucket.Delete(t.Context(), key))
	require.True(t, fault.Is(read(), fault.IndexError))
	_, err = s.Bucket.Put(t.Context(), key, data, blob.Always)
	require.NoError(t, err)
	require.NoError(t, read())
}

// opened opens the vault in a process with its own cache of texts.
func (s *shelf) opened(t *testing.T, texts *repo.Texts) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: s.Table, Bucket: s.Bucket, Texts: texts, Now: s.clock.Now,
	})
	require.NoError(t, err)
	return v
}

// TestTextsAreBounded checks that the cache of texts observes its limit, and that the least
// recently used text is evicted first (DESIGN §5).
func TestTextsAreBounded(t *testing.T) {
	s, m := newShelf(t), &mute{}
	bodies := map[string]index.Body{}
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		change(t, s.vault, edit{path, strings.Repeat(path, 250)})
	}
	late := *s
	late.Table = muteTable{s.Table, m}
	v := late.opened(t, repo.NewTexts((2<<10+512)*4/3)) // two of the three, in addition to the cache of changes
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	for f := range idx.Files() {
		bodies[f.Path] = f.Body
	}
	cached := func(path string) bool {
		m.table.Store(true)
		defer m.table.Store(false)
		_, err := v.Text(t.Context(), bodies[path])
		return err == nil
	}
	for _, path := range []string{"a.md", "b.md", "a.md", "c.md"} {
		_, err := v.Text(t.Context(), bodies[path])
		require.NoError(t, err)
	}
	require.True(t, cached("c.md"))
	require.True(t, cached("a.md"))
	require.False(t, cached("b.md"))
}

// TestUndoOverSegments checks that undo and the history of a note work wherever their commits are.
func TestUndoOverSegments(t *testing.T) {
	s := newShelf(t)
	change(t, s.vault, edit{"a.md", "# A\n\none"}, edit{"b.md", "b"})
	change(t, s.vault, edit{"a.md", "# A\n\ntwo"}, edit{"b.md", ""})
	s.empty(t)
	change(t, s.vault, edit{"c.md", "c"})
	v := s.open(t)
	r, err := v.Reversal(t.Context(), 3)
	require.NoError(t, err)
	_, err = v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Reverse(ctx, r)
	})
	require.NoError(t, err)
	s.empty(t)
	v = s.open(t)
	history := func(path string) (all []string) {
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		f, ok := idx.File(path)
		require.True(t, ok)
		for r, err := range v.Revisions(t.Context(), path, f.Version) {
			require.NoError(t, err)
			all = append(all, fmt.Sprintf("v%d %s", r.Seq, r.Text))
		}
		return all
	}
	require.Equal(t, []string{"v5 # A\n\none", "v3 # A\n\ntwo", "v2 # A\n\none"}, history("a.md"))
	require.Equal(t, []string{"v5 b", "v3 ", "v2 b"}, history("b.md"))
}

// TestAsOfAMonth checks that the first image of each month is kept, and that past states begin with
// it: earlier commits are not read.
func TestAsOfAMonth(t *testing.T) {
	s := newShelf(t)
	states, firsts := map[uint64]string{}, map[time.Month]uint64{}
	for range 7 {
		s.write(t, 3)
		idx, err := s.vault.Read(t.Context())
		require.NoError(t, err)
		states[idx.Version()] = string(idx.AppendImage(nil))
		s.fold(t)
		if month := idx.Time().Month(); firsts[month] == 0 {
			firsts[month] = idx.Version()
		}
		s.clock.Move(12 * 24 * time.Hour)
	}
	s.empty(t)
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	kept := map[time.Month]uint64{}
	for _, i := range c.Images {
		kept[i.Time.Month()] = i.Seq
	}
	delete(firsts, c.Image.Time.Month())
	delete(kept, c.Image.Time.Month())
	require.Equal(t, firsts, kept)
	require.Len(t, kept, 3)
	require.NoError(t, s.Bucket.Delete(t.Context(), "segment/000000000001"))
	v := s.open(t)
	read := 0
	for version, want := range states {
		idx, err := v.At(t.Context(), version)
		if err != nil {
			continue // before the first image, or in a deleted segment
		}
		read++
		require.True(t, want == string(idx.AppendImage(nil)), "v%d", version)
	}
	require.Equal(t, 7, read, "the first segment ends with the first image")
}

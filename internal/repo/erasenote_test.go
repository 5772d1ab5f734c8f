package repo_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// unpacked returns all stored data of a vault, decompressed.
func (s *shelf) unpacked(t *testing.T) string {
	t.Helper()
	var all bytes.Buffer
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	take := func(data []byte) {
		all.Write(data)
		magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
		for rest := data; ; {
			i := bytes.Index(rest, magic)
			if i < 0 {
				return
			}
			rest = rest[i:]
			next := bytes.Index(rest[1:], magic)
			for end := len(rest); end > 0; end-- {
				if text, err := dec.DecodeAll(rest[:end], nil); err == nil {
					all.Write(text)
					break
				}
				if next >= 0 && end > next+1+4096 {
					end = next + 1 + 4096
				}
			}
			rest = rest[1:]
		}
	}
	for it, err := range s.Table.Query(t.Context(), "v", "", "~") {
		require.NoError(t, err)
		take(it.Data)
	}
	for _, key := range s.objects(t, "") {
		data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
		require.NoError(t, err)
		take(data)
	}
	return all.String()
}

// eraseNote erases the history of a note, and makes the necessary passes.
func (s *shelf) eraseNote(t *testing.T, path string) {
	t.Helper()
	_, err := s.vault.EraseNote(t.Context(), caller(), "secret.md")
	require.NoError(t, err)
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	s.write(t, 1)
}

// furnish writes a note with the canary several times, among others: with an idempotency key, and
// with a payload object.
func (s *shelf) furnish(t *testing.T) {
	t.Helper()
	s.write(t, 3)
	keyed := caller()
	keyed.Key = "k"
	_, err := s.vault.Update(t.Context(), keyed, edits(edit{"secret.md", canary + " one"}))
	require.NoError(t, err)
	change(t, s.vault, edit{"secret.md", "---\ntitle: " + canary + "\n---\n@due(2026-12-01) " + canary},
		edit{"other.md", "see [[secret]]"})
	s.write(t, 2)
	change(t, s.vault, edit{"secret.md", canary + noise(60<<10)})
	keyed.Key = "unchanged"
	_, err = s.vault.Update(t.Context(), keyed, func(context.Context, *repo.Tx) (any, error) {
		return map[string]any{"id": "secret#part", "text": canary}, nil
	})
	require.NoError(t, err)
	s.write(t, 2)
}

// TestEraseNote checks that nothing of a note's history is left, wherever the log is, that the
// chain is intact, that all other data is unchanged, and that processes that had the note in memory
// drop it.
func TestEraseNote(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*testing.T, *shelf)
		there  bool
	}{
		"in the table":     {func(*testing.T, *shelf) {}, true},
		"in segments":      {func(t *testing.T, s *shelf) { s.fold(t) }, true},
		"out of the table": {func(t *testing.T, s *shelf) { s.empty(t) }, true},
		"removed before": {func(t *testing.T, s *shelf) {
			change(t, s.vault, edit{"secret.md", ""},
				edit{".trash/secret.md", canary + " in the trash"})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.furnish(t)
			c.before(t, s)
			warm := s.open(t)
			idx, err := warm.Read(t.Context())
			require.NoError(t, err)
			if f, ok := idx.File("secret.md"); ok {
				_, err = warm.Text(t.Context(), f.Body)
				require.NoError(t, err)
			}
			was, err := warm.At(t.Context(), 6)
			require.NoError(t, err)
			old, there := was.File("secret.md")
			require.True(t, there)
			_, err = warm.Text(t.Context(), old.Body)
			require.NoError(t, err)
			for c, err := range warm.Commits(t.Context(), 1) {
				require.NoError(t, err)
				_ = c
			}
			s.eraseNote(t, "secret.md")

			rest := s.unpacked(t)
			require.False(t, strings.Contains(rest, canary))
			require.False(t, strings.Contains(rest, "secret.md"))
			require.True(t, strings.Contains(rest, "see [[secret]]"), "else the test shows nothing")
			_, err = s.open(t).Verify(t.Context(), nil)
			require.NoError(t, err)
			want := told(t, s.open(t))
			for _, v := range []*repo.Vault{warm, s.vault} {
				require.Equal(t, want, told(t, v))
				_, err = v.Text(t.Context(), old.Body)
				require.Error(t, err)
				was, err = v.At(t.Context(), 6)
				require.NoError(t, err)
				_, there = was.File("secret.md")
				require.False(t, there)
				_, there = was.File("other.md")
				require.True(t, there)
				_, err = v.Rebuild(t.Context(), true)
				require.NoError(t, err)
				require.Equal(t, want, told(t, v))
			}
			idx, err = warm.Read(t.Context())
			require.NoError(t, err)
			require.Contains(t, auditOf(t, warm), `"op":"erase","entity":"note"`)
			require.NotContains(t, auditOf(t, warm), canary)

			keyed := caller()
			keyed.Key = "k"
			_, err = warm.Update(t.Context(), keyed, edits(edit{"secret.md", canary}))
			require.True(t, fault.Is(err, fault.KeyReused), "%v", err)
			require.ErrorContains(t, err, "erased")
			_, err = warm.Reversal(t.Context(), idx.Version()-1)
			require.True(t, fault.Is(err, fault.InvalidValue), "an erasure is not undone: %v", err)
			_, err = warm.Reversal(t.Context(), 6)
			require.NoError(t, err, "what else the commit did can be")
			_, err = warm.EraseNote(t.Context(), caller(), "never.md")
			require.True(t, fault.Is(err, fault.NotFound), "%v", err)

			change(t, s.vault, edit{"secret.md", "a new one"})
			s.write(t, 2)
			s.empty(t)
			require.Equal(t, told(t, s.vault), told(t, s.open(t)))
			require.False(t, strings.Contains(s.unpacked(t), canary))
			s.clock.Move(eventlog.SweepAgain)
			s.fold(t)
			control, err := s.vault.Control(t.Context())
			require.NoError(t, err)
			require.Nil(t, control.Erasing)
		})
	}
}

// auditOf returns the audit log of a vault.
func auditOf(t *testing.T, v *repo.Vault) string {
	t.Helper()
	var b strings.Builder
	for lines, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		b.Write(lines)
	}
	return b.String()
}

// TestEraseNoteAndFollowers checks that parts are not emptied before every consumer has passed the
// commit, and that any process empties them then.
func TestEraseNoteAndFollowers(t *testing.T) {
	s := newShelf(t)
	s.furnish(t)
	r, err := s.vault.EraseNote(t.Context(), caller(), "secret.md")
	require.NoError(t, err)
	behind := eventlog.Compaction{Behind: []string{"checkout"}}
	require.NoError(t, s.vault.Compact(t.Context(), behind))
	require.True(t, strings.Contains(s.unpacked(t), canary))
	require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: r.Seq}))
	require.NoError(t, s.open(t).Compact(t.Context(), behind))
	require.False(t, strings.Contains(s.unpacked(t), canary))
}

// TestEmptyPartOfNoErasure checks that an empty part that no commit erases is detected, so that an
// edit cannot be hidden this way.
func TestEmptyPartOfNoErasure(t *testing.T) {
	s := newShelf(t)
	s.furnish(t)
	s.eraseNote(t, "secret.md")
	_, err := s.open(t).Verify(t.Context(), nil)
	require.NoError(t, err)
	it, err := s.Table.Get(t.Context(), table.Key{Part: "v", Sort: "log/000000000003"})
	require.NoError(t, err)
	next := it
	next.Data = withoutFirst(t, it.Data)
	require.NoError(t, s.Table.Commit(t.Context(), table.Replace(it, next)))
	_, err = s.open(t).Verify(t.Context(), nil)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	require.ErrorContains(t, err, "v3")
}

// TestEraseNoteLate checks that data written by a process that had read the log before the erasure
// is removed by the second pass, and that its image is never used.
func TestEraseNoteLate(t *testing.T) {
	s := newShelf(t)
	s.furnish(t)
	s.fold(t)
	keep := map[string][]byte{}
	for _, key := range s.objects(t, "") {
		data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
		require.NoError(t, err)
		keep[key] = data
	}
	s.eraseNote(t, "secret.md")
	for key, data := range keep {
		_, err := s.Bucket.Put(t.Context(), key, data, blob.Always)
		require.NoError(t, err)
	}
	s.clock.Move(eventlog.SweepAgain + time.Minute)
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	require.False(t, strings.Contains(s.unpacked(t), canary))
	_, err := s.open(t).Verify(t.Context(), nil)
	require.NoError(t, err)
}

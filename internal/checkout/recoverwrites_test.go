package checkout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
)

// TestRedo is a process that died with three commits whose files are not synced: the next process
// updates, repairs or keeps the content of the file (reference/log.md §4).
func TestRedo(t *testing.T) {
	const before, step, after = "one\n", "two and\nmore\n", "three\nand much\nmore\n"
	for _, c := range []struct{ name, found, want string }{
		{"as it was synced", before, after},
		{"at a commit in between", step, after},
		{"up to date", after, after},
		{"empty", "", after},
		{"the beginning of the last", after[:9], after},
		{"the beginning of one in between", step[:5], after},
		{"padded", after[:4] + "\x00\x00\x00", after},
		{"all zero", "\x00\x00\x00\x00", after},
		{"padded behind its end", after + "\x00", after},
		{"with a hole", "\x00\x00\x00" + after[3:], after},
		{"somebody's, with NUL", "\x00ine\n", "\x00ine\n"},
		{"somebody's", "mine\n", "mine\n"},
		{"somebody's, longer than ours", after + "mine\n", after + "mine\n"},
		{"somebody's, shorter than what was synced", "on", "on"},
		{"taken away", "(none)", "(none)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "a.md", before)
			folder.Close()
			dead := p.vault(t) // it has no checkout
			write(t, dead, "a.md", step)
			write(t, dead, "a.md", after)
			write(t, dead, "other.md", "other\n")
			p.edit(t, "a.md", c.found)
			if c.found == "(none)" {
				require.NoError(t, os.Remove(filepath.Join(p.dir, "a.md")))
			}
			v, folder, read := p.openUnread(t)
			require.Equal(t, c.want, p.file(t, "a.md"))
			require.Equal(t, "other\n", p.file(t, "other.md"))
			_, err := folder.Sweep(t.Context())
			require.NoError(t, err)
			if c.want == after {
				require.Empty(t, noticed(t, v))
				write(t, v, "a.md", "four\n")
			} else {
				require.Equal(t, []string{"a.md"}, noticed(t, v))
			}
			read()
			folder.Close()
			require.Equal(t, v.Known().Version(), cursor(t, v, "checkout"), "an edit holds nothing up")
		})
	}
}

// TestRedoOfNewAndDeleted checks the same for a note that was created or deleted, or both, after
// the cursor.
func TestRedoOfNewAndDeleted(t *testing.T) {
	for _, c := range []struct{ name, path, found, want string }{
		{"made", "new.md", "(none)", "made\nagain\n"},
		{"made, at its first text", "new.md", "made\n", "made\nagain\n"},
		{"made, torn", "new.md", "made\nag", "made\nagain\n"},
		{"made over somebody's", "new.md", "mine\n", "mine\n"},
		{"deleted", "old.md", "old\n", "(none)"},
		{"deleted already", "old.md", "(none)", "(none)"},
		{"deleted, at a text in between", "old.md", "older\n", "(none)"},
		{"deleted, torn", "old.md", "old\x00\x00", "(none)"},
		{"deleted and made again, at neither", "again.md", "(none)", "anew\n"},
		{"deleted and made again, at the first", "again.md", "again\n", "anew\n"},
		{"deleted and made again, somebody's", "again.md", "mine\n", "mine\n"},
		{"deleted, but somebody's", "old.md", "mine\n", "mine\n"},
		{"made and deleted", "short.md", "short\n", "(none)"},
		{"made and deleted, never seen", "short.md", "(none)", "(none)"},
		{"made and deleted, somebody's", "short.md", "mine\n", "mine\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "old.md", "old\n")
			write(t, v, "again.md", "again\n")
			folder.Close()
			dead := p.vault(t)
			write(t, dead, "new.md", "made\n")
			write(t, dead, "new.md", "made\nagain\n")
			write(t, dead, "old.md", "older\n")
			require.NoError(t, put(t.Context(), dead, "old.md", nil))
			require.NoError(t, put(t.Context(), dead, "again.md", nil))
			write(t, dead, "again.md", "anew\n")
			write(t, dead, "short.md", "short\n")
			require.NoError(t, put(t.Context(), dead, "short.md", nil))
			p.edit(t, c.path, c.found)
			if c.found == "(none)" {
				require.NoError(t, os.Remove(filepath.Join(p.dir, c.path)))
			}
			v, folder, read := p.openUnread(t)
			require.Equal(t, c.want, p.file(t, c.path))
			read()
			folder.Close()
			require.Equal(t, v.Known().Version(), cursor(t, v, "checkout"))
		})
	}
}

// auditOf returns the audit log that follows from the log.
func auditOf(t *testing.T, v *repo.Vault) string {
	t.Helper()
	var all strings.Builder
	for piece, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		all.Write(piece)
	}
	return all.String()
}

const audit = ".raven/audit.log"

// TestAuditLog checks that the file has each line once, whatever happened to it while no process
// served it.
func TestAuditLog(t *testing.T) {
	const lost = `{"op":"create","entity":"object","id":"lo`
	for name, found := range map[string]func(synced, all string) string{
		"as it was synced":    func(synced, _ string) string { return synced },
		"ahead of its cursor": func(_, all string) string { return all },
		"torn":                func(synced, all string) string { return all[:len(synced)+20] },
		"padded":              func(synced, _ string) string { return synced + "\x00\x00\x00" },
		"cut off":             func(synced, _ string) string { return synced[:len(synced)-7] },
		"empty":               func(string, string) string { return "" },
		"another's end":       func(synced, _ string) string { return synced + lost },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "a.md", "one\n")
			write(t, v, "b.md", "one\n")
			folder.Close()
			synced := auditOf(t, v)
			require.Equal(t, synced, p.file(t, audit))
			require.Equal(t, 2, strings.Count(synced, "\n"))
			dead := p.vault(t)
			write(t, dead, "a.md", "two\n")
			write(t, dead, "c.md", "one\n")
			p.edit(t, audit, found(synced, auditOf(t, dead)))
			v, folder = p.open(t)
			write(t, v, "d.md", "one\n")
			folder.Close()
			require.Equal(t, 5, strings.Count(auditOf(t, v), "\n"))
			require.Equal(t, auditOf(t, v), p.file(t, audit))
		})
	}
}

func TestAuditLogThatIsGone(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	folder.Close()
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, ".raven")))
	v, folder = p.open(t)
	write(t, v, "a.md", "two\n")
	folder.Close()
	require.Equal(t, auditOf(t, v), p.file(t, audit))
}

// TestAuditLogThatWasBroughtIn checks that the lines of an imported audit log come first,
// unchanged, and that they are not compared as a file.
func TestAuditLogThatWasBroughtIn(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	const earlier = `{"ts":"2024-01-01T00:00:00Z","op":"create","entity":"object","id":"a"}`
	write(t, v, audit, earlier)
	write(t, v, "a.md", "one\n")
	found, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, found.Count+found.Missed)
	folder.Close()
	require.Equal(t, auditOf(t, v), p.file(t, audit))
	require.True(t, strings.HasPrefix(p.file(t, audit), earlier+"\n{"))
	require.Equal(t, 2, strings.Count(p.file(t, audit), "\n"))
}

// TestClear checks that the files of a removed vault are removed, and no other files.
func TestClear(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	for _, path := range []string{"a.md", "deep/b.md", "deep/c.md", "gone.md", ".trash/d.md"} {
		write(t, v, path, "ours\n")
	}
	p.edit(t, "deep/c.md", "mine\n")
	p.edit(t, "picture.png", "mine\n")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "gone.md")))
	require.NoError(t, v.SetStatus(t.Context(), repo.Call{}, repo.Trashed))
	folder.Close()
	for range 2 {
		kept, err := folder.Clear(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"deep/c.md"}, kept)
		require.Equal(t, []string{"deep", "deep/c.md", "picture.png"}, p.paths(t))
	}
	require.Equal(t, "mine\n", p.file(t, "deep/c.md"))
	_, folder = p.open(t)
	folder.Close()
	require.Equal(t, []string{"deep", "deep/c.md", "picture.png"}, p.paths(t), "nothing comes back")
}

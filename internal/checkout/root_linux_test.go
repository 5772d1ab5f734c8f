package checkout_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/casefoldfs"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
)

// complaints are the errors that a checkout logs.
type complaints struct {
	slog.Handler
	told chan string
}

func newComplaints() *complaints {
	return &complaints{slog.DiscardHandler, make(chan string, 1)}
}

func (c *complaints) Enabled(context.Context, slog.Level) bool { return true }

func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && r.Level >= slog.LevelError {
			select {
			case c.told <- err.Error():
			default:
			}
		}
		return true
	})
	return nil
}

// notes creates notes that are few enough for the guard to let all of them be removed.
func (s *served) notes(t *testing.T) map[string]string {
	t.Helper()
	for _, path := range []string{"a.md", "b.md", "deep/c.md"} {
		s.write(t, path, "the text of "+path+"\n")
	}
	return s.inLog(t)
}

// TestFolderThatIsGone checks that a folder which was removed as a whole, or replaced by a new one,
// does not empty the vault: it is an error, which is logged and returned to callers.
func TestFolderThatIsGone(t *testing.T) {
	for _, how := range []string{"watched", "swept"} {
		t.Run(how, func(t *testing.T) {
			s := newServed(t, grounds()[0])
			o := checkout.Options{}.Hurried(10)
			if how == "watched" {
				o = s.watched()
			}
			c := newComplaints()
			o.Log = slog.New(c)
			s.serve(t, o)
			want := s.notes(t)
			version := s.vault.Known().Version()
			require.NoError(t, os.RemoveAll(s.dir))
			for !strings.Contains(<-c.told, "cannot be read") { // others may log it too
			}
			for range 2 {
				_, err := s.folder.Reindex(t.Context(), checkout.IngestOptions{})
				require.True(t, fault.Is(err, fault.FileError), "%v", err)
				_, err = s.folder.Ingest(t.Context(), checkout.IngestOptions{Pending: checkout.Accept})
				if err != nil { // nothing may have been noticed yet
					require.True(t, fault.Is(err, fault.FileError), "%v", err)
				}
				require.Equal(t, want, s.inLog(t))
				require.NoError(t, os.MkdirAll(s.dir, 0o700))
			}
			s.folder.Close()
			require.Equal(t, version, s.vault.Known().Version())
		})
	}
}

// TestFileSystemThatIsGone checks the same for a file system that fails.
func TestFileSystemThatIsGone(t *testing.T) {
	dir := ""
	s := newServed(t, ground{"mounted", true, func(t *testing.T) string {
		dir = casefoldfs.Mount(t, casefoldfs.Options{})
		return dir
	}})
	c := newComplaints()
	s.serve(t, checkout.Options{Log: slog.New(c)}.Hurried(10))
	want := s.notes(t)
	_ = unix.Unmount(dir, unix.MNT_FORCE) // it stays mounted, for it is in use, and answers no more
	_, err := os.ReadDir(s.dir)
	require.Error(t, err)
	<-c.told
	_, err = s.folder.Reindex(t.Context(), checkout.IngestOptions{})
	require.True(t, fault.Is(err, fault.FileError), "%v", err)
	s.folder.Close()
	require.Equal(t, want, s.inLog(t))
}

// TestEmptiedFolder checks that removing everything in a folder that remains is an ordinary edit:
// few notes are removed at once, and many wait for a decision.
func TestEmptiedFolder(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		empty := func() {
			entries, err := os.ReadDir(s.dir)
			require.NoError(t, err)
			for _, e := range entries {
				if e.Name()[0] != '.' { // as the shell's * does
					require.NoError(t, os.RemoveAll(s.path(e.Name())))
				}
			}
		}
		few := s.notes(t)
		empty()
		s.reindex(t)
		s.agree(t, map[string]string{})
		s.kept(t, few)

		s.fill(t, 21, "")
		all := s.inLog(t)
		empty()
		s.reindex(t)
		require.Equal(t, 21, s.control(t).Held.Removed)
		require.Equal(t, all, s.inLog(t))
		s.answer(t, checkout.Discard)
		s.agree(t, all)
	})
}

// TestNotesFolderRemoved checks that the folder of notes in a data directory, which the vault
// itself removes when it has no notes, counts as emptied when another program removes it.
func TestNotesFolderRemoved(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	require.NoError(t, os.RemoveAll(p.dir))
	reindex(t, folder, "")
	require.Equal(t, "(none)", text(t, v, "a.md"))
	write(t, v, "a.md", "two\n")
	require.Equal(t, "two\n", p.file(t, "a.md"))
}

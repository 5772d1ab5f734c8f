package checkout_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

// foreign returns the reports about files that are not regular.
func foreign(paths ...string) (all []repo.LeftFile) {
	for _, path := range paths {
		all = append(all, repo.LeftFile{Path: path, Why: repo.LeftForeign})
	}
	return all
}

// refused requires that no note can be created at a path.
func (s *served) refused(t *testing.T, path string) {
	t.Helper()
	err := put(t.Context(), s.vault, path, []byte("ours\n"))
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}

// outside creates a folder beside the served one, with notes that do not belong to the vault.
func (s *served) outside(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(filepath.Dir(s.dir), "outside")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "o.md"), []byte("outside\n"), 0o600))
	return dir
}

// untouched requires that the folder outside has not changed.
func untouched(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	data, err := os.ReadFile(filepath.Join(dir, "o.md"))
	require.NoError(t, err)
	require.Equal(t, "outside\n", string(data))
}

// TestLinks checks that symbolic links are reported, and neither followed nor written through: to a
// note, out of the folder, to a folder with notes, to nothing, and in a circle.
func TestLinks(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		out := s.outside(t)
		s.write(t, "a.md", "a\n")
		for name, target := range map[string]string{
			"link.md": "a.md", "out.md": filepath.Join(out, "o.md"), "linked": out, "nothing.md": "none.md",
			"circle.md": "circle.md", "round": ".", "picture.png": filepath.Join(out, "o.md"),
		} {
			require.NoError(t, os.Symlink(target, s.path(name)))
		}
		told := foreign("circle.md", "link.md", "linked", "nothing.md", "out.md", "round")
		for range 2 {
			s.reindex(t)
			require.Equal(t, map[string]string{"a.md": "a\n"}, s.inLog(t))
			require.Equal(t, told, s.left(t))
		}
		for _, path := range []string{"link.md", "out.md", "linked/o.md", "linked/new.md", "round/a.md",
			"circle.md", "nothing.md"} {
			s.refused(t, path)
		}
		untouched(t, out)
		require.NoError(t, os.Remove(s.path("linked")))
		require.NoError(t, os.Remove(s.path("link.md")))
		s.reindex(t)
		s.write(t, "linked/new.md", "ours\n")
		s.write(t, "link.md", "ours\n")
		require.Equal(t, foreign("circle.md", "nothing.md", "out.md", "round"), s.left(t))
	})
}

// TestLinkInThePlaceOfANote moves notes elsewhere and leaves links to them: for the vault they are
// removed. Later changes of the log remain in the log, and are not written through the link.
func TestLinkInThePlaceOfANote(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		out := s.outside(t)
		before := map[string]string{"a.md": "a\n", "b.md": "b\n", "deep/c.md": "c\n", "d.md": "d\n"}
		for path, text := range before {
			s.write(t, path, text)
		}
		require.NoError(t, os.RemoveAll(s.path("deep")))
		require.NoError(t, os.Symlink(out, s.path("deep")))
		for _, name := range []string{"a.md", "b.md"} {
			s.remove(t, name)
			require.NoError(t, os.Symlink(filepath.Join(out, "o.md"), s.path(name)))
		}
		_, err := s.folder.Sweep(t.Context())
		require.NoError(t, err)
		s.write(t, "b.md", "b, since\n")
		for range 2 {
			s.reindex(t)
			require.Equal(t, map[string]string{"b.md": "b, since\n", "d.md": "d\n"}, s.inLog(t))
		}
		require.Equal(t, foreign("a.md", "b.md", "deep"), s.left(t))
		s.kept(t, before)
		untouched(t, out)
		s.remove(t, "b.md")
		s.reindex(t)
		require.Equal(t, "b, since\n", s.file(t, "b.md"), "it is written once there is room")
	})
}

// TestWhatIsNoFile checks that devices, pipes and sockets are reported and never opened: reading a
// pipe would block.
func TestWhatIsNoFile(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "a.md", "a\n")
		require.NoError(t, unix.Mkfifo(s.path("pipe.md"), 0o600))
		require.NoError(t, unix.Mknod(s.path("socket.md"), unix.S_IFSOCK|0o600, 0))
		paths := []string{"pipe.md", "socket.md"}
		device := int(unix.Mkdev(1, 5)) // /dev/zero, which never ends
		if err := unix.Mknod(s.path("device.md"), unix.S_IFCHR|0o600, device); err == nil {
			paths = append([]string{"device.md"}, paths...)
		}
		for range 2 {
			s.reindex(t)
			s.agree(t, map[string]string{"a.md": "a\n"})
			require.Equal(t, foreign(paths...), s.left(t))
		}
		for _, path := range paths {
			s.refused(t, path)
			s.remove(t, path)
			s.save(t, path, "a file now\n")
		}
		s.reindex(t)
		require.Len(t, s.inLog(t), 1+len(paths))
		require.Empty(t, s.left(t))
	})
}

// TestHardLinks checks that two names of one file are two notes: a write of the log to one of them
// does not change the other.
func TestHardLinks(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.save(t, "a.md", "one\n")
		require.NoError(t, os.Link(s.path("a.md"), s.path("b.md")))
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "one\n", "b.md": "one\n"})
		s.save(t, "b.md", "two\n") // in its place, so it is in both
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "two\n", "b.md": "two\n"})
		s.write(t, "a.md", "three\n")
		s.agree(t, map[string]string{"a.md": "three\n", "b.md": "two\n"})
		s.save(t, "b.md", "four\n")
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "three\n", "b.md": "four\n"})
	})
}

// TestEmptyNote checks that an empty file is an empty note, and not a removed one.
func TestEmptyNote(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		s.write(t, "a.md", "text\n")
		s.save(t, "a.md", "")
		s.save(t, "b.md", "")
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "", "b.md": ""})
		s.rename(t, "b.md", "c.md")
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "", "c.md": ""})
		s.write(t, "a.md", "ours\n")
		s.remove(t, "c.md")
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "ours\n"})
	})
}

// A denied folder is one in which some files and folders cannot be read, as if by their modes. Real
// modes do not work, because the tests may run as root.
type denied struct {
	checkout.Files
	mu    sync.Mutex
	what  []string // keys; of a folder with a slash at the end
	texts bool     // only their contents, not their attributes
}

var errDenied = errors.New("permission denied")

func (d *denied) deny(texts bool, what ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.texts, d.what = texts, what
}

func (d *denied) of(key string, text bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, what := range d.what {
		inside := strings.HasSuffix(what, "/") && strings.HasPrefix(key, what)
		if (what == key || inside) && (text || !d.texts) {
			return errDenied
		}
	}
	return nil
}

func (d *denied) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	if err := d.of(key, true); err != nil {
		return nil, "", err
	}
	return d.Files.Get(ctx, key, off, n)
}

func (d *denied) Look(ctx context.Context, key string) (blob.Object, error) {
	if err := d.of(key, false); err != nil {
		return blob.Object{}, err
	}
	return d.Files.Look(ctx, key)
}

func (d *denied) Walk(
	ctx context.Context, prefix string, enter func(string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		told := false
		for o, err := range d.Files.Walk(ctx, prefix, enter) {
			if folder := filepath.Dir(o.Key); d.of(folder+"/", false) != nil {
				if told {
					continue
				}
				told = true
				o, err = blob.Object{}, &blob.WalkError{Folder: folder, Err: errDenied}
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// TestUnreadableFile checks that a file which cannot be read is reported and delays nothing, that
// its note does not change, and that it is ingested when it can be read.
func TestUnreadableFile(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		d := &denied{Files: s.disk}
		s.files.Files = d
		s.write(t, "a.md", "a\n")
		s.write(t, "b.md", "b\n")
		s.save(t, "a.md", "a, edited\n")
		_, err := s.folder.Sweep(t.Context()) // it is noticed while it can be read
		require.NoError(t, err)
		d.deny(true, "a.md", "new.md")
		s.save(t, "b.md", "b, edited\n")
		s.save(t, "new.md", "new\n")
		for range 2 {
			s.reindex(t)
			require.Equal(t, map[string]string{"a.md": "a\n", "b.md": "b, edited\n"}, s.inLog(t))
			require.Equal(t, []repo.LeftFile{
				{Path: "a.md", Why: repo.LeftUnread}, {Path: "new.md", Why: repo.LeftUnread},
			}, s.left(t))
		}
		d.deny(true)
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "a, edited\n", "b.md": "b, edited\n", "new.md": "new\n"})
		require.Empty(t, s.left(t))
	})
}

// TestUnreadableFolder checks that the notes in a folder which cannot be read remain, that the
// folder is reported, and that other edits are ingested.
func TestUnreadableFolder(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		d := &denied{Files: s.disk}
		s.files.Files = d
		s.fill(t, 5, "")
		s.write(t, "b.md", "b\n")
		before := s.inLog(t)
		d.deny(false, "n/")
		s.save(t, "n/00.md", "edited\n")
		s.save(t, "b.md", "b, edited\n")
		for range 2 {
			s.reindex(t)
			require.Equal(t, with(before, map[string]string{"b.md": "b, edited\n"}), s.inLog(t))
			require.Equal(t, []repo.LeftFile{{Path: "n", Why: repo.LeftUnread}}, s.left(t))
		}
		d.deny(false)
		s.reindex(t)
		s.agree(t, with(before, map[string]string{"b.md": "b, edited\n", "n/00.md": "edited\n"}))
		require.Empty(t, s.left(t))
	})
}

// TestLeftAndThenGone checks that the report about a skipped file ends when the file is removed or
// can be ingested, even if only sweeps notice that.
func TestLeftAndThenGone(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		bad := map[string]string{
			"latin.md": "\xe9t\xe9\n", "huge.md": strings.Repeat("x", repo.MaxNote+1), "what?.md": "no\n",
		}
		for path, text := range bad {
			s.save(t, path, text)
			s.save(t, "again/"+path, text)
		}
		s.reindex(t)
		require.Len(t, s.left(t), 6)
		for path := range bad {
			s.remove(t, path)
		}
		s.reindex(t)
		require.Len(t, s.left(t), 3)
		s.save(t, "again/latin.md", "été\n")
		s.save(t, "again/huge.md", "small\n")
		s.rename(t, "again/what?.md", "again/what.md")
		s.reindex(t)
		require.Empty(t, s.left(t))
		s.agree(t, map[string]string{
			"again/latin.md": "été\n", "again/huge.md": "small\n", "again/what.md": "no\n",
		})
	})
}

// A watchedWalk is a folder that calls a function once, after it was listed as a whole.
type watchedWalk struct {
	checkout.Files
	after func()
}

func (w *watchedWalk) Walk(
	ctx context.Context, prefix string, enter func(string) bool,
) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		w.Files.Walk(ctx, prefix, enter)(yield)
		if after := w.after; after != nil {
			w.after = nil
			after()
		}
	}
}

// TestSkippedDuringASweep checks that a sweep neither forgets a file that a write found to be skipped
// after the folder was listed, nor reports one again that was replaced since.
func TestSkippedDuringASweep(t *testing.T) {
	onEveryGround(t, func(t *testing.T, s *served) {
		w := &watchedWalk{Files: s.disk}
		s.files.Files = w
		s.write(t, "a.md", "a\n")
		require.NoError(t, os.Symlink("a.md", s.path("was.md")))
		for range 2 {
			w.after = func() {
				_ = os.Remove(s.path("later.md"))
				require.NoError(t, os.Symlink("a.md", s.path("later.md")))
				require.NoError(t, os.Remove(s.path("was.md")))
				s.save(t, "was.md", "mine\n")
				s.refused(t, "later.md")
				s.refused(t, "was.md")
			}
			_, err := s.folder.Sweep(t.Context())
			require.NoError(t, err)
			require.Equal(t, foreign("later.md"), s.left(t))
		}
		s.reindex(t)
		s.agree(t, map[string]string{"a.md": "a\n", "was.md": "mine\n"})
	})
}

// TestHintsWithoutEnd checks that a program that writes all the time, to a file that is not a note,
// does not prevent other edits from being noticed.
func TestHintsWithoutEnd(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.serve(t, s.watched().Hurried(2))
	s.write(t, "a.md", "one\n")
	s.edit(t, "a.md", "two\n")
	for n := 0; text(t, s.vault, "a.md") != "two\n"; n++ {
		require.NoError(t, os.WriteFile(s.path("log.txt"), fmt.Appendf(nil, "%d\n", n), 0o600))
		if n%100 == 0 {
			require.NoError(t, t.Context().Err())
		}
	}
}

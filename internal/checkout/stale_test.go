package checkout_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
)

// An ending is the end of a process between two steps of a test.
type ending struct {
	name string
	end  func(t *testing.T, s *served)
}

func endings() []ending {
	return []ending{
		{"goes on", func(*testing.T, *served) {}},
		{"restarted", func(t *testing.T, s *served) {
			s.restart(t)
			s.folder.Close()
		}},
		{"killed", func(t *testing.T, s *served) { s.die(t) }},
	}
}

// die begins a process after one that could save nothing when it ended. The folder of the test must
// have been closed before.
func (s *served) die(t *testing.T) {
	t.Helper()
	s.mount(t)
	s.serve(t, checkout.Options{})
	s.folder.Close()
}

// openEditor returns an editor that has read a note.
func (s *served) openEditor(t *testing.T, name string, st style) *editor {
	t.Helper()
	e := &editor{file: file{path: s.path(name)}, opens: st.name == holdsOpen.name}
	require.NoError(t, e.read())
	t.Cleanup(e.close)
	return e
}

// saveBy saves a text in a style. If the file system does not support the style, the test is
// skipped.
func saveBy(t *testing.T, e *editor, st style, text string) {
	t.Helper()
	err := st.save(e.file, text)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		t.Skipf("not here: %v", err)
	}
	require.NoError(t, err)
}

// eachStale runs a test for each style of saving on each file system, and for one ending drawn by a
// seed; with ROOKERY_SOAK, for each ending. The folder is closed, so nothing happens without the
// test, and the clock does not run. The note a.md was written an hour ago.
func eachStale(t *testing.T, test func(t *testing.T, s *served, st style, end ending)) {
	chance := drawn(t)
	for _, g := range grounds() {
		for _, st := range styles() {
			for _, end := range sampled(chance, endings()) {
				t.Run(fmt.Sprintf("%s/%s/%s", g.name, st.name, end.name), func(t *testing.T) {
					t.Parallel()
					s := newServed(t, g)
					s.pass(0)
					s.serve(t, checkout.Options{})
					s.folder.Close()
					s.write(t, "a.md", song)
					s.pass(time.Hour)
					test(t, s, st, end)
				})
			}
		}
	}
}

// all ingests the edits of the folder and the texts that were displaced from it, and requires that
// the log and the folder have a text, without copies.
func (s *served) all(t *testing.T, want string) {
	t.Helper()
	s.reindex(t)
	s.serve(t, checkout.Options{}) // a start examines all displaced files
	s.folder.Close()
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": want})
}

// TestStaleSave is an editor that saves exactly the text that it read before an agent wrote: the
// lines of the agent remain. The same save removes them if they have been in the file long enough.
func TestStaleSave(t *testing.T) {
	eachStale(t, func(t *testing.T, s *served, st style, end ending) {
		ours := above(song, "ours")
		e := s.openEditor(t, "a.md", st)
		s.write(t, "a.md", ours)
		end.end(t, s)
		for range 3 { // as an editor with automatic saving does
			s.pass(2 * time.Second)
			saveBy(t, e, st, song)
			s.all(t, ours)
		}
		s.write(t, "a.md", below(ours, "more of ours"))
		s.pass(8 * time.Second)
		saveBy(t, e, st, song)
		s.all(t, below(ours, "more of ours"))
		s.pass(time.Minute)
		end.end(t, s)
		s.save(t, "a.md", song)
		s.all(t, song)
		s.kept(t, map[string]string{"1": ours})
	})
}

// TestStaleSaveOfOneOfTwo checks that such a save removes the lines that the editor could have
// seen, and only those.
func TestStaleSaveOfOneOfTwo(t *testing.T) {
	eachStale(t, func(t *testing.T, s *served, st style, end ending) {
		seen := above(song, "seen by all")
		s.write(t, "a.md", seen)
		s.die(t) // the cursor passes the texts in the files
		s.pass(time.Minute)
		e := s.openEditor(t, "a.md", st)
		s.write(t, "a.md", below(seen, "ours"))
		end.end(t, s)
		s.pass(time.Second)
		saveBy(t, e, st, seen)
		s.all(t, below(seen, "ours"))
		s.pass(time.Second)
		s.save(t, "a.md", song)
		s.all(t, below(song, "ours"))
	})
}

// unreadableTexts returns files that cannot be notes.
func unreadableTexts() map[repo.Reason]string {
	return map[repo.Reason]string{
		repo.LeftEncoding: strings.Replace(song, "two", "t\xe9o", 1),
		repo.LeftSize:     song + strings.Repeat("a very long line\n", repo.MaxNote/16),
	}
}

// TestWrittenWhileUnreadable makes a file unreadable, and later restores the old text: the changes
// that an agent wrote meanwhile were never in the file, so they remain, however much later this is.
func TestWrittenWhileUnreadable(t *testing.T) {
	for why, bad := range unreadableTexts() {
		t.Run(string(why), func(t *testing.T) {
			eachStale(t, func(t *testing.T, s *served, st style, end ending) {
				ours := above(song, "ours")
				e := s.openEditor(t, "a.md", st)
				saveBy(t, e, st, bad)
				s.write(t, "a.md", ours)
				require.Equal(t, bad, s.file(t, "a.md"))
				s.reindex(t)
				require.Equal(t, []repo.LeftFile{{Path: "a.md", Why: why}}, s.left(t))
				end.end(t, s)
				s.write(t, "a.md", below(ours, "more of ours"))
				s.pass(time.Hour)
				end.end(t, s)
				require.NoError(t, e.read())
				saveBy(t, e, st, song)
				s.all(t, below(ours, "more of ours"))
				require.Empty(t, s.left(t))
				s.pass(time.Second)
				saveBy(t, e, st, song)
				s.all(t, below(ours, "more of ours"))
				s.pass(time.Minute)
				s.save(t, "a.md", song)
				s.all(t, song)
			})
		})
	}
}

// TestEditedAfterUnreadable checks the same for a text that is changed when the file is readable
// again, and for a file that is removed.
func TestEditedAfterUnreadable(t *testing.T) {
	eachStale(t, func(t *testing.T, s *served, st style, end ending) {
		ours := above(song, "ours")
		e := s.openEditor(t, "a.md", st)
		saveBy(t, e, st, "t\xe9st\n")
		s.write(t, "a.md", ours)
		end.end(t, s)
		s.pass(time.Hour)
		require.NoError(t, e.read())
		saveBy(t, e, st, below(song, "mine"))
		s.all(t, below(ours, "mine"))

		s.pass(time.Hour)
		s.save(t, "a.md", "t\xe9st\n")
		s.write(t, "a.md", song)
		end.end(t, s)
		s.pass(time.Hour)
		require.NoError(t, os.Remove(s.path("a.md")))
		s.all(t, song)
	})
}

// TestLateText is a process that died before it could write a file: the next process writes the
// text, and an editor that saves just then has not seen it, however old it is.
func TestLateText(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%t", again), func(t *testing.T) {
			s := newServed(t, grounds()[0])
			s.pass(0)
			s.serve(t, checkout.Options{})
			s.write(t, "a.md", song)
			s.folder.Close()
			ours := above(song, "ours")
			write(t, s.place.vault(t), "a.md", ours) // it has no checkout
			s.pass(time.Hour)
			s.die(t)
			require.Equal(t, ours, s.file(t, "a.md"))
			if again {
				s.die(t)
			}
			s.pass(time.Second)
			s.save(t, "a.md", song)
			s.all(t, ours)
			s.pass(time.Minute)
			s.save(t, "a.md", song)
			s.all(t, song)
		})
	}
}

// TestManyUnreadable checks that no line is lost if more files are behind than the control item can
// name for the next process.
func TestManyUnreadable(t *testing.T) {
	for _, named := range []int{0, 10} {
		t.Run(fmt.Sprintf("named %d", named), func(t *testing.T) { manyUnreadable(t, named) })
	}
}

func manyUnreadable(t *testing.T, named int) {
	n := cmp.Or(named, repo.MaxNamed) + 30
	s := newServed(t, grounds()[0])
	s.named = named
	s.pass(0)
	s.serve(t, checkout.Options{})
	s.folder.Close()
	s.fill(t, n, "")
	old := s.inLog(t)
	s.pass(time.Hour)
	for name := range old {
		s.save(t, name, "t\xe9st\n")
	}
	s.fill(t, n, "ours\n")
	ours := s.inLog(t)
	for range 2 {
		s.pass(time.Hour)
		s.die(t)
	}
	for name, text := range old {
		s.save(t, name, text)
	}
	s.reindex(t)
	s.agree(t, ours)
}

// TestManyLate checks that files whose texts were written late are removed when they are removed in
// the folder, even if there are more of them than the control item can name for the next process.
func TestManyLate(t *testing.T) {
	for _, named := range []int{0, 10} {
		t.Run(fmt.Sprintf("named %d", named), func(t *testing.T) { manyLate(t, named) })
	}
}

func manyLate(t *testing.T, named int) {
	n := cmp.Or(named, repo.MaxNamed) + 30
	s := newServed(t, grounds()[0])
	s.named = named
	s.pass(0)
	s.serve(t, checkout.Options{})
	s.folder.Close()
	s.vault = s.place.vault(t)
	s.fill(t, n, "") // it has no checkout
	s.die(t)
	require.Equal(t, n, s.control(t).Late.Count)
	require.Len(t, s.control(t).Late.Files, n-30)
	all := s.inLog(t)
	for _, path := range slices.Sorted(maps.Keys(all))[n-10:] {
		s.remove(t, path)
		delete(all, path)
	}
	s.mount(t)
	s.serve(t, checkout.Options{})
	s.reindex(t)
	s.agree(t, all)
}

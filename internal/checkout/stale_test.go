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

// An ending is what becomes of the process between two steps of a test.
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

// die begins a process that finds what one left that could save nothing when it ended. The folder
// of the test must have been closed before.
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

// saveBy saves a text in a style. On a file system that cannot do it the test is skipped.
func saveBy(t *testing.T, e *editor, st style, text string) {
	t.Helper()
	err := st.save(e.file, text)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		t.Skipf("not here: %v", err)
	}
	require.NoError(t, err)
}

// eachStale runs a test for each way to save on each file system, and for one ending drawn by a seed; when
// soaking, for each ending. The folder is closed, so nothing happens that the test does not ask for, and the
// clock stands still. The note a.md was written an hour ago.
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

// all takes in what there is in the folder and what was displaced from it, and requires that log
// and folder have a text and no copies beside it.
func (s *served) all(t *testing.T, want string) {
	t.Helper()
	s.reindex(t)
	s.serve(t, checkout.Options{}) // who begins looks at all that was displaced
	s.folder.Close()
	s.reindex(t)
	s.agree(t, map[string]string{"a.md": want})
}

// TestStaleSave plays an editor that saves exactly the text that it read before an agent wrote: the
// agent's lines stay. The same text takes them back once they have been in the file for long
// enough.
func TestStaleSave(t *testing.T) {
	eachStale(t, func(t *testing.T, s *served, st style, end ending) {
		ours := above(song, "ours")
		e := s.openEditor(t, "a.md", st)
		s.write(t, "a.md", ours)
		end.end(t, s)
		for range 3 { // an editor that saves by itself does so again
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

// TestStaleSaveOfOneOfTwo takes back what somebody had seen, and only that.
func TestStaleSaveOfOneOfTwo(t *testing.T) {
	eachStale(t, func(t *testing.T, s *served, st style, end ending) {
		seen := above(song, "seen by all")
		s.write(t, "a.md", seen)
		s.die(t) // the cursor passes what is in the files
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

// unreadableTexts are files that can be no notes.
func unreadableTexts() map[repo.Reason]string {
	return map[repo.Reason]string{
		repo.LeftEncoding: strings.Replace(song, "two", "t\xe9o", 1),
		repo.LeftSize:     song + strings.Repeat("a very long line\n", repo.MaxNote/16),
	}
}

// TestWrittenWhileUnreadable plays somebody who makes a file unreadable for us, and later puts the
// old text back: what an agent wrote meanwhile was never in the file, so it stays, however much
// later.
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

// TestEditedAfterUnreadable is the same for a text that is changed when it is readable again, and
// for a file that is gone.
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

// TestLateText plays a process that died before it could write a file: its text comes into the file
// when the next one begins, and who saves just then has not seen it, however old it is.
func TestLateText(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%t", again), func(t *testing.T) {
			s := newServed(t, grounds()[0])
			s.pass(0)
			s.serve(t, checkout.Options{})
			s.write(t, "a.md", song)
			s.folder.Close()
			ours := above(song, "ours")
			write(t, s.place.vault(t), "a.md", ours) // nobody follows it
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

// TestManyUnreadable holds that no line is lost where more files are behind than can be named for
// the next process.
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

// TestManyLate holds that files which got their texts late are removed when they are removed in the folder,
// also where there are more of them than can be named for the next process.
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
	s.fill(t, n, "") // nobody follows it
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

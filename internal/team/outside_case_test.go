package team_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/checkout"
)

// newLane makes a street on which a test itself does everything.
func newLane(t *testing.T) *street {
	return newStreet(t, rand.New(rand.NewPCG(1, 2)))
}

// A death is when a process is killed: see doom.
type death struct {
	step  string
	n     int64
	after bool
}

// dies lets a process take in what is there, and requires that it is killed.
func (s *street) dies(t *testing.T, answer checkout.Pending, d death) {
	t.Helper()
	before := len(s.died)
	l := &serving{Dir: s.dir, Answer: answer}
	l.Doom.Step, l.Doom.N, l.Doom.After = d.step, d.n, d.after
	s.live(t, l)
	require.Len(t, s.died, before+1, "there is no such step: %s", d.step)
}

// serve serves the folder with a process that is not killed, while a test uses it.
func (s *street) serve(t *testing.T, use func(v *servedVault)) {
	t.Helper()
	v, err := (&serving{Dir: s.dir}).open(t.Context())
	require.NoError(t, err)
	require.NoError(t, v.folder.Ready(t.Context())) // what changes now is noticed after it
	use(v)
	require.NoError(t, v.close())
}

// takes takes in what there is, and requires that it is nothing more at once.
func (v *servedVault) takes(t *testing.T, answer checkout.Pending) checkout.Taken {
	t.Helper()
	taken, err := v.folder.Reindex(t.Context(), checkout.Taking{Pending: answer})
	require.NoError(t, err)
	return taken
}

// TestKilledBeforeTheMergeIsWritten kills a process when an edit and what others wrote meanwhile are
// merged in the log, and the file has the edit alone. Then the editor saves what it shows once more, with
// a line more, as often as processes are killed.
func TestKilledBeforeTheMergeIsWritten(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("saved again: %t", again), func(t *testing.T) {
			s := newLane(t)
			text := blank
			for i := range 4 {
				s.serve(t, func(v *servedVault) {
					require.NoError(t, fillFile(s.path(fresh), adding(text, "somebody", fmt.Sprint("mine-", i))))
					text = adding(text, "somebody", fmt.Sprint("mine-", i))
					s.does(t, v, stroke{Word: fmt.Sprint("theirs-", i), Note: fresh, By: "client 0"})
				})
				s.strokes[fmt.Sprint("mine-", i)] = &stroke{
					Word: fmt.Sprint("mine-", i), Note: fresh, By: "somebody", acked: true,
				}
				s.dies(t, "", death{step: "swap displaced s to note", n: 1})
				if again {
					require.NoError(t, saveOver(s.path(fresh), text))
				}
			}
			s.look(t)
		})
	}
}

// does makes the stroke of a client.
func (s *street) does(t *testing.T, v *servedVault, k stroke) {
	t.Helper()
	done, err := k.do(t.Context(), v.vault)
	require.NoError(t, err)
	require.True(t, done)
	k.acked = true
	s.strokes[k.Word] = &k
}

// fill makes so many notes, which lie in the folder then, and answers them.
func (s *street) fill(t *testing.T, n, bytes int) map[string]string {
	t.Helper()
	notes := map[string]string{}
	for i := range n {
		path := fmt.Sprintf("many/%d/%d.md", i%7, i)
		notes[path] = fmt.Sprintf("# note %d\n\n%s\n", i, strings.Repeat("word ", bytes/5))
		require.NoError(t, os.MkdirAll(filepath.Dir(s.path(path)), 0o700))
		require.NoError(t, fillFile(s.path(path), notes[path]))
	}
	return notes
}

// many are the notes that fill made.
func many(notes map[string]string) map[string]string {
	found := map[string]string{}
	for path, text := range notes {
		if strings.HasPrefix(path, "many/") {
			found[path] = text
		}
	}
	return found
}

// TestKilledInAFirstStart kills processes that take in a folder of 300 notes for the first time, at every
// step that matters: the next one goes on, and has every note once.
func TestKilledInAFirstStart(t *testing.T) {
	steps := []string{takesIn}
	if os.Getenv("ROOKERY_SOAK") != "" {
		steps = append(steps, "Commit a run", "Replace the control item", "Query")
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newFolder(t, rand.New(rand.NewPCG(1, 2)))
			want := s.fill(t, 300, 15_000) // more than one commit holds
			for n := int64(1); n <= 3; n++ {
				s.live(t, &serving{Dir: s.dir, Doom: doom{Step: step, N: n, After: n == 2}})
			}
			require.NotEmpty(t, s.died)
			s.look(t)
			s.serve(t, func(v *servedVault) {
				require.Equal(t, want, many(v.notes(t)))
				times := map[string]int{}
				for c, err := range v.vault.Commits(t.Context(), 1) {
					require.NoError(t, err)
					for _, n := range c.Notes {
						times[n.Path]++
					}
				}
				for path := range want {
					require.Equal(t, 1, times[path], path)
				}
			})
		})
	}
}

// TestKilledWhileABatchIsHeld kills processes that find 30 of 40 notes gone, and one that has another
// text: it is held again, whoever begins. Then it is discarded or accepted, and processes are killed
// that do this: said again, it is done.
func TestKilledWhileABatchIsHeld(t *testing.T) {
	steps := map[checkout.Pending][]death{
		checkout.Accept: {
			{step: takesIn, n: 1}, {step: takesIn, n: 1, after: true},
			{step: "Replace the control item", n: 2}, {step: "sync the folder of note", n: 1},
		},
		checkout.Discard: {
			{step: takesIn, n: 1}, {step: takesIn, n: 1, after: true}, {step: "create tmp", n: 3},
			{step: "rename tmp to note", n: 2}, {step: "rename tmp to note", n: 17, after: true},
			{step: "swap displaced s to note", n: 1, after: true}, {step: "sync note", n: 4},
		},
	}
	for answer, deaths := range steps {
		for _, d := range deaths {
			t.Run(fmt.Sprintf("%s, %s %d", answer, d.step, d.n), func(t *testing.T) {
				t.Parallel()
				s := newLane(t)
				want := s.fill(t, 40, 10)
				s.look(t)
				gone := map[string]string{}
				for path := range want {
					if len(gone) < 30 && path != first {
						gone[path] = ""
					}
				}
				for path := range gone {
					require.NoError(t, os.Remove(s.path(path)))
				}
				require.NoError(t, fillFile(s.path(first), "# another\n"))
				s.dies(t, "", death{step: "Replace the control item", n: 1})
				s.serve(t, func(v *servedVault) { s.requireHeld(t, v, want) })
				s.dies(t, answer, d)
				s.serve(t, func(v *servedVault) {
					held := v.takes(t, "").Held
					if held != nil {
						v.takes(t, answer)
					}
					require.Equal(t, checkout.Taken{}, v.takes(t, ""))
				})
				if answer == checkout.Accept {
					for path := range gone {
						delete(want, path)
					}
					want[first] = "# another\n"
				}
				s.look(t)
				files := s.files(t)
				require.Equal(t, want, many(files))
				if answer == checkout.Discard {
					require.Equal(t, "# another\n", files[".trash/"+first])
				}
			})
		}
	}
}

// first is the first of the notes that fill makes.
const first = "many/0/0.md"

// requireHeld requires that the removal of 30 notes waits for a word, and that none is gone.
func (s *street) requireHeld(t *testing.T, v *servedVault, want map[string]string) {
	t.Helper()
	held := v.takes(t, "").Held
	require.NotNil(t, held)
	require.Equal(t, 30, held.Removed)
	require.Equal(t, want, many(v.notes(t)))
}

// TestWritesThroughWhatWasDisplaced plays an editor that opened a note, and writes through what it holds
// open when the note has long been another file: once, and once more after that was taken in. Processes
// are killed meanwhile. With ROOKERY_SOAK the last one lives until the minute of such a file is over. (What
// is written through a file that nobody has written to for a minute is lost: it is gone by then.)
func TestWritesThroughWhatWasDisplaced(t *testing.T) {
	s := newLane(t)
	held, err := os.OpenFile(s.path(fresh), os.O_RDWR, 0)
	require.NoError(t, err)
	defer held.Close()
	text := blank
	for i := range 3 {
		s.serve(t, func(v *servedVault) {
			s.does(t, v, stroke{Word: fmt.Sprint("theirs-", i), Note: fresh, By: "client 0"})
			k := &stroke{Word: fmt.Sprint("mine-", i), Note: fresh, By: "somebody", acked: true}
			text = k.change(text)
			require.NoError(t, overwrite(held, text))
			s.strokes[k.Word] = k
			if i == 2 && os.Getenv("ROOKERY_SOAK") != "" {
				require.Eventually(t, func() bool {
					return strings.Contains(v.notes(t)[fresh], "- "+k.Word+"\n")
				}, 3*time.Minute, time.Second)
			}
		})
		s.live(t, &serving{Dir: s.dir, Doom: doom{Step: "Commit a run", N: int64(i + 1)}})
		s.look(t)
	}
	for path := range s.files(t) {
		require.NotContains(t, path, ".conflict-")
	}
}

package tenant_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// newLane makes a street whose folder only the test itself changes.
func newLane(t *testing.T) *street {
	return newStreet(t, rand.New(rand.NewPCG(1, 2)))
}

// A death says when a process is killed: see doom.
type death struct {
	step  string
	n     int64
	after bool
}

// dies lets a process read the changes in the folder, and requires that it is killed.
func (s *street) dies(t *testing.T, answer checkout.Pending, d death) {
	t.Helper()
	before := len(s.died)
	l := &serving{Dir: s.dir, Answer: answer}
	l.Doom.Step, l.Doom.N, l.Doom.After = d.step, d.n, d.after
	s.live(t, l)
	require.Len(t, s.died, before+1, "there is no such step: %s", d.step)
}

// serve serves the folder in a process that is not killed, while the test uses it.
func (s *street) serve(t *testing.T, use func(v *servedVault)) {
	t.Helper()
	v, err := (&serving{Dir: s.dir}).open(t.Context())
	require.NoError(t, err)
	require.NoError(t, v.folder.Ready(t.Context())) // changes after this are noticed
	use(v)
	require.NoError(t, v.close())
}

// takes reads the changes in the folder once, with the given answer to a held batch, and returns
// the result.
func (v *servedVault) takes(t *testing.T, answer checkout.Pending) checkout.IngestResult {
	t.Helper()
	taken, err := v.folder.Reindex(t.Context(), checkout.IngestOptions{Pending: answer})
	require.NoError(t, err)
	return taken
}

// TestKilledBeforeTheMergeIsWritten kills a process after an edit was merged in the log with the
// writes of others, while the file has only the edit. In one variant the editor then saves its own
// text again. The test does this four times, with one line more each time.
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

// does makes the stroke of a client, and requires that it changes something.
func (s *street) does(t *testing.T, v *servedVault, k stroke) {
	t.Helper()
	done, err := k.do(t.Context(), v.vault)
	require.NoError(t, err)
	require.True(t, done)
	k.acked = true
	s.strokes[k.Word] = &k
}

// fill writes n notes of about the given number of bytes into the folder, and returns them by path.
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

// many returns the notes that fill made.
func many(notes map[string]string) map[string]string {
	found := map[string]string{}
	for path, text := range notes {
		if strings.HasPrefix(path, "many/") {
			found[path] = text
		}
	}
	return found
}

// TestKilledInAFirstStart kills processes that read a folder of 300 notes for the first time, at
// each relevant step. The next process continues, and the log has every note once.
func TestKilledInAFirstStart(t *testing.T) {
	steps := []string{takesIn}
	if os.Getenv("ROOKERY_SOAK") != "" {
		steps = append(steps, "Commit a run", "Replace the control item", "Query")
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newFolder(t, rand.New(rand.NewPCG(1, 2)))
			want := s.fill(t, 300, 15_000) // more than fits in one commit
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

// TestKilledWhileABatchIsHeld kills a process that finds 30 of 40 notes removed and one changed:
// the next process holds the batch again. Then the batch is discarded or accepted, and processes
// are killed while they do so: the same answer, given again, completes it.
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
					require.Equal(t, checkout.IngestResult{}, v.takes(t, ""))
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

// first is the path of the first note that fill makes.
const first = "many/0/0.md"

// requireHeld requires that the removal of 30 notes is held, and that no note is removed from the
// log.
func (s *street) requireHeld(t *testing.T, v *servedVault, want map[string]string) {
	t.Helper()
	held := v.takes(t, "").Held
	require.NotNil(t, held)
	require.Equal(t, 30, held.Removed)
	require.Equal(t, want, many(v.notes(t)))
}

// TestWritesThroughWhatWasDisplaced plays an editor that keeps its file of a note open while the
// note becomes another file, and writes to the open file once after each of three writes of a
// client. After each, a process is killed at a commit, if it makes one. With ROOKERY_SOAK the last
// serving process runs until the last line is in the log, which takes about a minute. (Text that is
// written to a displaced file a minute after its last write is lost, because the file is deleted by
// then.)
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

package checkout_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// busy appends to a file without pause, as a program might, and creates a new file from time to
// time if makes is set, until the test ends or stop is called.
func (s *served) busy(t *testing.T, name string, makes bool) (stop func()) {
	t.Helper()
	s.save(t, name, song)
	file, err := os.OpenFile(s.path(name), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	done := make(chan struct{})
	var program sync.WaitGroup
	program.Go(func() {
		defer file.Close()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond): // the pace of the program
			}
			_, err := fmt.Fprintf(file, "line %d\n", n)
			if makes && err == nil {
				text := fmt.Appendf(nil, "made by a program: %d\n", n)
				err = os.WriteFile(s.path(fmt.Sprintf("made-%d.md", n%500)), text, 0o600)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a program: %v", err)
				return
			}
		}
	})
	once := sync.OnceFunc(func() {
		close(done)
		program.Wait()
	})
	t.Cleanup(once)
	return once
}

// becomesText waits until a note has a text.
func (s *served) becomesText(t *testing.T, path, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return text(t, s.vault, path) == want }, waitLong, waitStep,
		"%s does not become %q", path, want)
}

// TestBusyProgram checks that a program which appends to a file without pause, and keeps creating
// files, delays no edit of others, and that its own files are synced too.
func TestBusyProgram(t *testing.T) {
	for _, w := range ways()[:2] {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, grounds()[0])
			o := checkout.Options{}
			if w.watched {
				o = s.watched()
			}
			s.serve(t, o.Hurried(4))
			for _, name := range []string{"calm.md", "gone.md", "moved.md"} {
				s.write(t, name, song+name+"\n")
			}
			s.busy(t, "busy.md", true)
			s.becomesText(t, "made-0.md", "made by a program: 0\n")
			s.save(t, "calm.md", "another text\n")
			s.save(t, "new.md", "a new text\n")
			s.becomesText(t, "calm.md", "another text\n")
			s.becomesText(t, "new.md", "a new text\n")
			s.rename(t, "moved.md", "there/moved.md")
			s.remove(t, "gone.md")
			s.becomesText(t, "there/moved.md", song+"moved.md\n")
			s.becomesText(t, "moved.md", "(none)")
			s.becomesText(t, "gone.md", "(none)")
			require.Equal(t, "moved.md", s.cameFrom(t, "there/moved.md"))
			require.Eventually(t, func() bool {
				return strings.Contains(text(t, s.vault, "busy.md"), "line 10\n")
			}, waitLong, waitStep, "the busy file is not synced")
		})
	}
}

// cameFrom returns the path from which the note at a path was moved, according to the log.
func (s *served) cameFrom(t *testing.T, path string) string {
	t.Helper()
	from := ""
	for c, err := range s.vault.Commits(t.Context(), 1) {
		require.NoError(t, err)
		for _, n := range c.Notes {
			if n.Path == path && n.From != "" {
				from = n.From
			}
		}
	}
	return from
}

// TestFirstReadingWaitsForNoQuiet checks that all files are read when the first reading is
// complete, although a program keeps writing to one of them and creating others.
func TestFirstReadingWaitsForNoQuiet(t *testing.T) {
	s := newServed(t, grounds()[0])
	for i := range 1200 {
		s.save(t, fmt.Sprintf("n/%04d.md", i), fmt.Sprintf("# %d\n", i))
	}
	s.busy(t, "busy.md", true)
	s.serve(t, s.watched().Hurried(1))
	require.GreaterOrEqual(t, len(s.inLog(t)), 1201)
	require.Contains(t, text(t, s.vault, "busy.md"), "# Song")
	reading, under := s.folder.Reading()
	require.False(t, under)
	require.GreaterOrEqual(t, reading.Total, 1201)
}

// TestReadingInSlices checks the reported progress of the first reading, and that the settings are
// read before everything else, in a commit of their own.
func TestReadingInSlices(t *testing.T) {
	s := newServed(t, grounds()[0])
	for i := range 1100 {
		s.save(t, fmt.Sprintf("n/%04d.md", i), fmt.Sprintf("# %d\n", i))
	}
	settings := []string{"raven.yaml", "rookery.yaml", "schema.yaml"}
	s.save(t, "schema.yaml", "types:\n  person: {}\n")
	s.save(t, "raven.yaml", "daily_directory: days\n")
	s.save(t, "rookery.yaml", "timezone: UTC\n")
	var told []checkout.Reading
	o := checkout.Options{Progress: func(int, int) {
		now, under := s.folder.Reading()
		require.True(t, under)
		told = append(told, now)
	}}
	s.vault = s.place.vault(t)
	o.Files, o.Now, o.Log = s.files, s.now, slog.New(slog.DiscardHandler)
	opened := make(chan struct{})
	progress := o.Progress
	o.Progress = func(done, total int) {
		<-opened
		progress(done, total)
	}
	folder, err := checkout.Open(t.Context(), s.vault, o)
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	for _, name := range settings {
		require.NotEqual(t, "(none)", text(t, s.vault, name), "read before Open returns")
	}
	s.folder = folder
	close(opened)
	require.NoError(t, folder.Ready(t.Context()))
	require.Equal(t, []checkout.Reading{{503, 1103}, {1003, 1103}, {1103, 1103}}, told)
	first, err := s.vault.Commit(t.Context(), 2)
	require.NoError(t, err)
	var paths []string
	for _, n := range first.Notes {
		paths = append(paths, n.Path)
	}
	require.ElementsMatch(t, settings, paths)
}

// TestChangesWhileItIsRead checks that a file which changes each time it is read is never synced
// partly and delays no other file, and that it is synced when it no longer changes.
func TestChangesWhileItIsRead(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.save(t, "a.md", "first\n")
	s.save(t, "b.md", "other\n")
	var changes atomic.Bool
	changes.Store(true)
	n := 0
	s.files.Files = &nosy{Files: s.files.Files, read: func(key string) {
		if n++; key == "a.md" && changes.Load() {
			s.save(t, "a.md", strings.Repeat("more\n", n))
		}
	}}
	s.serve(t, checkout.Options{}.Hurried(10))
	require.Equal(t, "other\n", text(t, s.vault, "b.md"))
	require.Equal(t, "(none)", text(t, s.vault, "a.md"))
	changes.Store(false)
	require.Eventually(t, func() bool { return text(t, s.vault, "a.md") == s.file(t, "a.md") },
		waitLong, waitStep)
}

// TestMassRemovalInSlices checks that the guard counts removals which follow each other closely as
// one batch, even if the first of them were synced before the last were made.
func TestMassRemovalInSlices(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.serve(t, checkout.Options{}.Slowed(100))
	s.folder.Close() // no more background sweeps
	s.fill(t, 60, "")
	sync := func(from, to int) {
		for i := from; i < to; i++ {
			s.remove(t, fmt.Sprintf("n/%02d.md", i))
		}
		require.NoError(t, s.folder.TakeInUnasked(t.Context()))
	}
	sync(0, 15)
	require.Nil(t, s.control(t).Held)
	require.Len(t, s.inLog(t), 45)
	sync(15, 25)
	require.Equal(t, 10, s.control(t).Held.Removed)
	sync(25, 27)
	require.Equal(t, 12, s.control(t).Held.Removed)
	require.Len(t, s.inLog(t), 45)
	s.answer(t, checkout.Accept)
	require.Nil(t, s.control(t).Held)
	sync(27, 32)
	require.Nil(t, s.control(t).Held, "what is accepted does not count any more")
	require.Len(t, s.inLog(t), 28)
}

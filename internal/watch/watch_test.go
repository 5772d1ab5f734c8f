package watch_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/watch"
)

// patience is how long a test waits for what has to come, on a machine that is busy with much else.
const patience = 2 * time.Minute

// A listener gathers what a tree tells.
type listener struct {
	t          require.TestingT
	tree       *watch.Tree
	paths      map[string]bool
	everything bool
	marks      int
}

// enter is what a vault looks into.
func enter(folder string) bool { return !strings.HasPrefix(path.Base(folder), ".") }

func listen(t *testing.T, dir string) *listener {
	t.Helper()
	return listenWith(t, dir, watch.Rules{})
}

func listenWith(t *testing.T, dir string, r watch.Rules) *listener {
	t.Helper()
	tree, err := watch.OpenWith(dir, enter, r)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	return &listener{t: t, tree: tree, paths: map[string]bool{}}
}

// until waits for the tree to tell enough.
func (l *listener) until(what string, enough func() bool) {
	timeout := time.After(patience)
	for !enough() {
		select {
		case <-l.tree.C():
			l.take()
		case <-timeout:
			require.Fail(l.t, "never told", "%s; told: %v", what, l.paths)
		}
	}
}

func (l *listener) take() {
	c := l.tree.Take()
	l.everything = l.everything || c.Everything
	for _, p := range c.Paths {
		l.paths[p] = true
	}
}

// named waits for paths to be named themselves.
func (l *listener) named(paths ...string) {
	for _, p := range paths {
		l.until(p, func() bool { return l.paths[p] })
	}
}

// all waits for everything to be named.
func (l *listener) all() { l.until("everything", func() bool { return l.everything }) }

// covered tells whether a path, or a folder that it is in, was named.
func (l *listener) covered(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if l.paths[p] {
			return true
		}
	}
	return l.everything
}

// settle waits until all that was done before is told, which may be more than once, and forgets it.
func (l *listener) settle(dir string) {
	mark := fmt.Sprintf("mark %d", l.marks)
	l.marks++
	write(l.t, "mark", dir, mark)
	l.named(mark)
	l.forget()
}

// forget begins to gather anew.
func (l *listener) forget() { l.paths, l.everything = map[string]bool{}, false }

func write(t require.TestingT, text string, elem ...string) {
	name := filepath.Join(elem...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func rename(t require.TestingT, from, to string) { require.NoError(t, os.Rename(from, to)) }

func TestFolderMadeWithContentIsWatched(t *testing.T) {
	for name, bring := range map[string]func(t *testing.T, dir string){
		"made": func(t *testing.T, dir string) { write(t, "text", dir, "new/deep/er/note.md") },
		"moved in": func(t *testing.T, dir string) {
			outside := t.TempDir()
			write(t, "text", outside, "other/deep/er/note.md")
			rename(t, filepath.Join(outside, "other"), filepath.Join(dir, "new"))
		},
		"copied": func(t *testing.T, dir string) {
			outside := t.TempDir()
			write(t, "text", outside, "deep/er/note.md")
			require.NoError(t, os.CopyFS(filepath.Join(dir, "new"), os.DirFS(outside)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := listen(t, dir)
			bring(t, dir)
			l.named("new", "new/deep", "new/deep/er", "new/deep/er/note.md")
			write(t, "text", dir, "new/deep/er/later.md")
			l.named("new/deep/er/later.md")
			require.Empty(t, l.tree.Reason())
			require.False(t, l.everything)
		})
	}
}

func TestFolderRenamedIsToldByBothNames(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "old/deep/note.md")
	write(t, "text", dir, "shelf/note.md")
	l := listen(t, dir)

	names := []string{"old", "new", "shelf/new", "again"}
	for i, to := range names[1:] {
		rename(t, filepath.Join(dir, names[i]), filepath.Join(dir, to))
		l.named(names[i], to, to+"/deep/note.md")
		l.settle(dir)
		write(t, fmt.Sprint("text ", i), dir, to, "deep/note.md")
		write(t, "text", dir, to, "deep", to+".md")
		l.named(to+"/deep/note.md", to+"/deep/"+to+".md")
		require.False(t, l.covered(names[i]), "told by its old name")
	}
	require.True(t, l.tree.Whole())
}

func TestNameOfRenamedFolderIsWatchedWhenUsedAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "a/deep/note.md")
	l := listen(t, dir)
	rename(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	write(t, "text", dir, "a/deep/note.md")
	write(t, "text", dir, "last.md")
	l.named("a", "b", "last.md")
	l.forget()
	write(t, "2", dir, "a/deep/note.md")
	write(t, "2", dir, "b/deep/note.md")
	l.named("a/deep/note.md", "b/deep/note.md")
}

func TestFolderMovedAwayIsWatchedNoLonger(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, "text", dir, "gone/deep/note.md")
	l := listen(t, dir)
	rename(t, filepath.Join(dir, "gone"), filepath.Join(outside, "gone"))
	l.named("gone")
	l.settle(dir)
	write(t, "text", outside, "gone/deep/note.md")
	write(t, "text", outside, "gone/other.md")
	write(t, "text", dir, "last.md")
	l.named("last.md")
	require.False(t, l.covered("gone/deep/note.md"))
	require.False(t, l.covered("gone/other.md"))
}

func TestFolderRemovedAndMadeAgain(t *testing.T) {
	dir := t.TempDir()
	for range 20 {
		write(t, "text", dir, "a/deep/note.md")
		l := listen(t, dir)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "a")))
		write(t, "text", dir, "a/deep/note.md")
		write(t, "text", dir, "last.md")
		l.named("a", "last.md")
		l.forget()
		write(t, "2", dir, "a/deep/note.md")
		l.named("a/deep/note.md")
	}
}

func TestFolderReplacedByFileAndBack(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "a/note.md")
	l := listen(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "a")))
	write(t, "a file", dir, "a")
	l.named("a")
	l.forget()
	require.NoError(t, os.Remove(filepath.Join(dir, "a")))
	write(t, "text", dir, "a/note.md")
	l.named("a", "a/note.md")
}

func TestLinksAreNamedAndNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, "text", outside, "deep/note.md")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "before")))
	l := listen(t, dir)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "after")))
	l.named("after")
	l.forget()
	write(t, "2", outside, "deep/note.md")
	write(t, "2", outside, "note.md")
	write(t, "text", dir, "last.md")
	l.named("last.md")
	require.Equal(t, map[string]bool{"last.md": true}, l.paths)
}

func TestRootMayBeReachedByLink(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	for _, r := range []watch.Rules{{}, {ByName: true}} {
		l := listenWith(t, link, r)
		write(t, "text", dir, "deep/note.md")
		l.named("deep/note.md")
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "deep")))
	}
}

func TestFoldersNotEnteredAreSilent(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, ".git/objects/a")
	write(t, "text", dir, "sub/.obsidian/a")
	l := listen(t, dir)
	write(t, "2", dir, ".git/objects/a")
	write(t, "2", dir, "sub/.obsidian/a")
	write(t, "2", dir, "sub/.trash/a")
	rename(t, filepath.Join(dir, ".git"), filepath.Join(dir, ".old"))
	write(t, "2", dir, ".old/objects/a")
	write(t, "text", dir, "last.md")
	l.named("last.md")
	for p := range l.paths {
		require.NotContains(t, []string{".git", ".old", ".obsidian", ".trash"},
			path.Base(path.Dir(p)), "%s is in a folder that is not entered", p)
	}
	rename(t, filepath.Join(dir, ".old"), filepath.Join(dir, "seen"))
	l.named("seen/objects/a")
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "file")
	for _, name := range []string{"file", "none"} {
		_, err := new(watch.Hub).Open(filepath.Join(dir, name), enter)
		require.Error(t, err)
		require.NotContains(t, err.Error(), dir)
	}
}

func TestTooManyPathsAreEverything(t *testing.T) {
	dir := t.TempDir()
	l := listenWith(t, dir, watch.Rules{Paths: 10})
	n := 0
	l.until("everything", func() bool { // more come than are taken at once, sooner or later
		for range 20 {
			write(t, "text", dir, fmt.Sprint(n, ".md"))
			n++
		}
		return l.everything
	})
	l.forget()
	write(t, "text", dir, "last.md")
	l.until("last.md", func() bool { return l.covered("last.md") })
	require.True(t, l.tree.Whole(), "later changes are told")
}

// TestBurstIsToldWhole makes more files than the queue of the system has room for: 20,000, and 50,000 when
// soaking.
func TestBurstIsToldWhole(t *testing.T) {
	dir := t.TempDir()
	l := listen(t, dir)
	n := 20_000
	if os.Getenv("ROOKERY_SOAK") != "" {
		n = 50_000
	}
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint(i%50), fmt.Sprint(i))
		if i < 50 {
			require.NoError(t, os.Mkdir(filepath.Dir(name), 0o755))
		}
		require.NoError(t, os.WriteFile(name, nil, 0o644))
	}
	write(t, "text", dir, "last.md")
	l.until("last.md", func() bool { return l.everything || l.paths["last.md"] })
	for i := range n {
		require.True(t, l.covered(fmt.Sprint(i%50, "/", i)), i)
	}
}

func TestEventsLostAreEverything(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "a")
	write(t, "text", dir, "b")
	asked, answer := make(chan bool), make(chan bool)
	ask := sync.OnceFunc(func() {
		close(asked)
		<-answer
	})
	tree, err := new(watch.Hub).Open(dir, func(string) bool { ask(); return true })
	require.NoError(t, err)
	defer tree.Close()
	l := &listener{t: t, tree: tree, paths: map[string]bool{}}

	require.NoError(t, os.Mkdir(filepath.Join(dir, "stop"), 0o755))
	<-asked // the worker hears nothing now
	write(t, "text", dir, "made/while/deaf.md")
	for i := range 100_000 {
		name := filepath.Join(dir, string("ab"[i%2]))
		require.NoError(t, os.Chmod(name, 0o600))
	}
	close(answer)
	l.all()
	l.forget()
	write(t, "2", dir, "made/while/deaf.md")
	l.until("a note made meanwhile", func() bool { return l.covered("made/while/deaf.md") })
	require.True(t, tree.Whole())
}

func TestMoreEntriesThanCanBeWatched(t *testing.T) {
	dir := t.TempDir()
	for i := range 9 {
		write(t, "text", dir, "great", fmt.Sprint(i))
	}
	write(t, "text", dir, "small/0")
	l := listenWith(t, dir, watch.Rules{Entries: 10})
	require.False(t, l.tree.Whole())
	require.Contains(t, l.tree.Reason(), `"great"`)

	write(t, "2", dir, "small/0")
	l.named("small/0")
	for i := range 9 { // too many for small, now
		write(t, "text", dir, "small", fmt.Sprint(i))
	}
	l.all()
	l.until("small is given up", func() bool { return strings.Contains(l.tree.Reason(), "1 more") })

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "great")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "small")))
	l.until("whole again", l.tree.Whole)
	for range 50 { // saving is no growth
		write(t, "text", dir, "swap")
		rename(t, filepath.Join(dir, "swap"), filepath.Join(dir, "note.md"))
	}
	l.forget()
	write(t, "text", dir, "last.md")
	l.until("last.md", func() bool { return l.covered("last.md") })
	require.True(t, l.tree.Whole())
}

func TestRootOnly(t *testing.T) {
	dir := t.TempDir()
	l := listenWith(t, dir, watch.Rules{RootOnly: true})
	require.False(t, l.tree.Whole())
	require.NotEmpty(t, l.tree.Reason())
	write(t, "text", dir, "a/note.md")
	write(t, "text", dir, "last.md")
	l.named("a", "last.md")
	require.NotContains(t, l.paths, "a/note.md")
}

func TestUnreadableFolderIsSaidAndTakenUpLater(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	write(t, "text", dir, "closed/note.md")
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Chmod(closed, 0))
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
	l := listen(t, dir)
	require.Contains(t, l.tree.Reason(), `"closed"`)
	require.NoError(t, os.Chmod(closed, 0o755))
	l.named("closed/note.md")
	require.True(t, l.tree.Whole())
}

func TestCloseEndsAllGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	var busy sync.WaitGroup
	stop := make(chan bool)
	busy.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				write(t, "text", dir, fmt.Sprint(i%7), fmt.Sprint(i%3), "note.md")
				_ = os.RemoveAll(filepath.Join(dir, fmt.Sprint((i+3)%7)))
			}
		}
	})
	for range 50 {
		tree, err := new(watch.Hub).Open(dir, enter)
		require.NoError(t, err)
		<-tree.C()
		var closers sync.WaitGroup
		for range 2 {
			closers.Go(func() { _ = tree.Close() })
		}
		closers.Wait()
		require.NoError(t, tree.Close())
	}
	close(stop)
	busy.Wait()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		require.True(t, time.Now().Before(deadline), "goroutines are left")
		runtime.Gosched()
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		write(b, "text", dir, fmt.Sprint(i%30), fmt.Sprint(i%300), fmt.Sprint(i, ".md"))
	}
	for b.Loop() {
		tree, err := new(watch.Hub).Open(dir, enter)
		require.NoError(b, err)
		require.True(b, tree.Whole())
		b.StopTimer() // the end is not what is measured
		require.NoError(b, tree.Close())
		b.StartTimer()
	}
}

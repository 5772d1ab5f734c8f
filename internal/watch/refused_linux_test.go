package watch_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/watch"
)

// inNamespace is set where a test runs in a user namespace of its own, whose limits it may lower.
const inNamespace = "ROOKERY_TEST_NAMESPACE"

// TestSystemRefuses runs each case in a process of its own.
func TestSystemRefuses(t *testing.T) {
	for name, test := range map[string]func(t *testing.T){
		"no watcher":     refusedWatcher,
		"few watches":    refusedWatches,
		"two names":      refusedTwoNames,
		"no parent view": refusedEnding,
		"one instance":   refusedInstances,
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(inNamespace) != "" {
				test(t)
				return
			}
			runInNamespace(t)
		})
	}
}

func runInNamespace(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("no user namespace is to be had: %v", err)
	}
	require.NoError(t, err, "%s", out)
	if _, reason, skipped := strings.Cut(string(out), skips); skipped {
		t.Skip(strings.SplitN(reason, "\n", 2)[0])
	}
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the test did not run")
}

// skips is said in a namespace that does not let a test do what it needs.
const skips = "the user namespace does not let us: "

// limit lowers a limit of the namespace.
func limit(t *testing.T, name, value string) {
	allowed(t, os.WriteFile("/proc/sys/user/"+name, []byte(value), 0o644))
}

// allowed skips the test where the system refuses even what a namespace is for, as in some containers.
func allowed(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		t.Skip(skips + err.Error())
	}
	require.NoError(t, err)
}

func refusedWatcher(t *testing.T) {
	dir := t.TempDir()
	limit(t, "max_inotify_instances", "0")
	l := listen(t, dir)
	require.False(t, l.tree.Whole())
	require.Contains(t, l.tree.Reason(), "no more watches")
	write(t, "text", dir, "note.md")
	require.Empty(t, l.tree.Take())
}

// refusedEnding leaves no watch for the parent of the root. Then the removal is known when asked.
func refusedEnding(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vault")
	write(t, "text", dir, "a/note.md")
	limit(t, "max_inotify_watches", "2")
	l := listen(t, dir)
	require.True(t, l.tree.Whole())
	require.NoError(t, os.RemoveAll(dir))
	l.named("a")
	require.False(t, l.tree.Whole())
}

// refusedInstances allows one instance: all trees of a hub have it, and a second hub has none.
func refusedInstances(t *testing.T) {
	limit(t, "max_inotify_instances", "1")
	var hub watch.Hub
	for range 20 {
		dir := t.TempDir()
		write(t, "text", dir, "a/note.md")
		tree, err := hub.Open(dir, enter)
		require.NoError(t, err)
		defer tree.Close()
		require.Empty(t, tree.Reason())
	}
	l := listen(t, t.TempDir())
	require.Contains(t, l.tree.Reason(), "no more watches")
	folders, some := l.tree.Unwatched()
	require.True(t, some)
	require.Equal(t, []string{""}, folders)
}

func refusedWatches(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, "text", dir, name, "note.md")
	}
	limit(t, "max_inotify_watches", "3") // the root's, its parent's (which may fail), and some
	l := listen(t, dir)
	require.False(t, l.tree.Whole())
	require.Contains(t, l.tree.Reason(), "no more watches")
	require.NotContains(t, l.tree.Reason(), dir)
	require.False(t, l.tree.Take().Everything, "nothing has changed yet")

	write(t, "text", dir, "root.md")
	l.named("root.md")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "new"), 0o755))
	l.all()
	for _, name := range []string{"b", "c", "d", "new"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	l.until("whole again", l.tree.Whole)
}

// refusedTwoNames has a folder that can be reached by two names, of which one is watched.
func refusedTwoNames(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "a/note.md")
	b := filepath.Join(dir, "b")
	require.NoError(t, os.Mkdir(b, 0o755))
	allowed(t, syscall.Mount(filepath.Join(dir, "a"), b, "", syscall.MS_BIND, ""))
	defer func() { require.NoError(t, syscall.Unmount(b, syscall.MNT_DETACH)) }()

	tree, err := new(watch.Hub).Open(dir, enter)
	require.NoError(t, err)
	defer tree.Close()
	require.False(t, tree.Whole())
	require.Contains(t, tree.Reason(), "two names")
	l := &listener{t: t, tree: tree, paths: map[string]bool{}}
	write(t, "2", b, "note.md")
	l.until("by one of the names", func() bool { return l.paths["a/note.md"] || l.paths["b/note.md"] })
}

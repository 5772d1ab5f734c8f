package watch_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/watch"
)

// A step is something that somebody does in a folder. What is not possible is left.
type step struct {
	do   string
	a, b string
}

var (
	verbs = []string{
		"write", "write", "append", "mkdir", "rename", "rename", "rename", "exchange", "remove",
		"link", "out", "in", "save",
	}
	names = rapid.SampledFrom([]string{"a", "b", "c", ".git"})
	paths = rapid.Map(rapid.SliceOfN(names, 1, 3), func(n []string) string {
		return filepath.Join(n...)
	})
	steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			do: rapid.SampledFrom(verbs).Draw(t, "do"),
			a:  paths.Draw(t, "a"), b: paths.Draw(t, "b"),
		}
	}), 1, 60)
)

// run does a step in dir. Folders are brought and taken from outside.
func (s step) run(dir, outside string, n int) {
	a, b := filepath.Join(dir, s.a), filepath.Join(dir, s.b)
	text := fmt.Appendf(nil, "text %d", n)
	switch s.do {
	case "write":
		_ = os.WriteFile(a, text, 0o644)
	case "save":
		if os.WriteFile(a+"~", text, 0o644) == nil {
			_ = os.Rename(a+"~", b)
		}
	case "append":
		if f, err := os.OpenFile(a, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.Write(text)
			_ = f.Close()
		}
	case "mkdir":
		if os.MkdirAll(a, 0o755) == nil {
			_ = os.WriteFile(filepath.Join(a, "made"), text, 0o644)
		}
	case "rename":
		_ = unix.Rename(a, b)
	case "exchange":
		_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	case "remove":
		_ = os.RemoveAll(a)
	case "link":
		_ = os.Symlink(b, a)
	case "out":
		_ = os.Rename(a, filepath.Join(outside, fmt.Sprint(n%3)))
	case "in":
		_ = os.Rename(filepath.Join(outside, fmt.Sprint(n%3)), a)
	}
}

// snapshot is what is under a folder: of each path that is looked at what it is and holds.
func snapshot(t require.TestingT, dir string) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		all[rel], err = held(name, d)
		if err == nil && d.IsDir() && !enter(rel) {
			return fs.SkipDir
		}
		return err
	})
	require.NoError(t, err)
	return all
}

func held(name string, d fs.DirEntry) (string, error) {
	switch d.Type() {
	case fs.ModeDir:
		return "folder", nil
	case fs.ModeSymlink:
		to, err := os.Readlink(name)
		return "link to " + to, err
	}
	text, err := os.ReadFile(name)
	return "file " + string(text), err
}

// requireTold looks that each difference was told.
func requireTold(t require.TestingT, l *listener, before, after map[string]string) {
	for name, was := range before {
		require.True(t, after[name] == was || l.covered(name), "%s was %q, is %q; told: %v",
			name, was, after[name], l.paths)
	}
	for name := range after {
		require.True(t, before[name] != "" || l.covered(name), "%s is new; told: %v", name, l.paths)
	}
}

func TestWhateverIsDoneIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parent, err := os.MkdirTemp("", "watch")
		require.NoError(t, err)
		defer os.RemoveAll(parent)
		dir, outside := filepath.Join(parent, "vault"), filepath.Join(parent, "outside")
		require.NoError(t, os.MkdirAll(outside, 0o755))
		write(t, "text", dir, "a/b/c")
		write(t, "text", dir, "b/a")
		tree, err := watch.OpenWith(dir, enter, watch.Rules{
			ByName:  rapid.Bool().Draw(t, "by name"),
			Entries: rapid.SampledFrom([]int{0, 0, 6}).Draw(t, "entries"),
		})
		require.NoError(t, err)
		defer tree.Close()
		l := &listener{t: t, tree: tree, paths: map[string]bool{}}

		for round, all := range rapid.SliceOfN(steps, 1, 3).Draw(t, "rounds") {
			before := snapshot(t, dir)
			l.forget()
			for n, s := range all {
				s.run(dir, outside, n)
			}
			if mark(l, dir, fmt.Sprint("round", round)) {
				requireTold(t, l, before, snapshot(t, dir))
			}
		}
		probe(t, l, dir)
	})
}

// mark waits until all that was done before it was told. It is false for a tree that says that it
// does not tell all.
func mark(l *listener, dir, name string) bool {
	write(l.t, "mark", dir, name)
	l.until(name, func() bool { return l.covered(name) || !l.tree.Whole() })
	whole := l.tree.Whole()
	l.take() // what was gathered when it became whole
	return whole && l.covered(name)
}

// probe looks that each folder is watched at the end, by its right name.
func probe(t require.TestingT, l *listener, dir string) {
	if !mark(l, dir, "probe") {
		return
	}
	l.forget()
	var written []string
	for name, is := range snapshot(t, dir) {
		if is == "folder" && enter(name) {
			written = append(written, name+"/probe")
			write(t, "probe", dir, name, "probe")
		}
	}
	if mark(l, dir, "last") {
		for _, name := range written {
			require.True(t, l.covered(name), "%s is silent", name)
		}
	}
}

package watch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/watch"
)

// instances is how many inotify instances this process has.
func instances(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

// open is a listener on a tree of a hub.
func open(t *testing.T, h *watch.Hub, dir string) *listener {
	t.Helper()
	tree, err := h.Open(dir, enter)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	return &listener{t: t, tree: tree, paths: map[string]bool{}}
}

func TestTreesOfAHubShareOneInstance(t *testing.T) {
	var hub watch.Hub
	before := instances(t)
	for range 2 {
		parent := t.TempDir()
		var all []*listener
		for _, name := range []string{"a", "b", "c", "d"} {
			write(t, "text", parent, name, "deep/note.md")
			all = append(all, open(t, &hub, filepath.Join(parent, name)))
		}
		require.Equal(t, before+1, instances(t))
		for i, name := range []string{"a", "b", "c", "d"} {
			write(t, "2", parent, name, "deep/note.md")
			all[i].named("deep/note.md")
			require.Equal(t, map[string]bool{"deep/note.md": true}, all[i].paths, "what others are told")
		}
		require.NoError(t, os.RemoveAll(filepath.Join(parent, "b")))
		all[1].all()
		require.True(t, all[1].tree.Lost())
		require.True(t, all[0].tree.Whole())
		for _, l := range all {
			require.NoError(t, l.tree.Close())
		}
		require.Equal(t, before, instances(t))
	}
}

// TestTreesOfAHubOverlap has trees of one folder, and of one in it, of which the system has one watch each.
func TestTreesOfAHubOverlap(t *testing.T) {
	var hub watch.Hub
	parent := t.TempDir()
	write(t, "text", parent, "in/deep/note.md")
	one, two, in := open(t, &hub, parent), open(t, &hub, parent), open(t, &hub, filepath.Join(parent, "in"))
	write(t, "2", parent, "in/deep/note.md")
	one.named("in/deep/note.md")
	two.named("in/deep/note.md")
	in.named("deep/note.md")

	require.NoError(t, os.Rename(filepath.Join(parent, "in"), filepath.Join(parent, "moved")))
	for _, l := range []*listener{one, two} {
		l.named("in", "moved", "moved/deep/note.md")
		l.settle(parent)
	}
	in.all()
	in.settle(filepath.Join(parent, "moved"))
	write(t, "3", parent, "moved/deep/note.md")
	one.named("moved/deep/note.md")
	two.named("moved/deep/note.md")
	in.named("deep/note.md")

	require.NoError(t, one.tree.Close())
	two.settle(parent)
	in.settle(filepath.Join(parent, "moved"))
	write(t, "4", parent, "moved/deep/note.md")
	two.named("moved/deep/note.md")
	in.named("deep/note.md")
	require.NoError(t, os.RemoveAll(filepath.Join(parent, "moved")))
	in.all()
	require.True(t, in.tree.Lost())
	require.True(t, two.tree.Whole())
}

package index_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
)

// uidsOf are the UIDs of the nodes of a note, by their address.
func uidsOf(t require.TestingT, x *index.Index, path string) map[string]index.UID {
	n, ok := x.Note(path)
	require.True(t, ok)
	all := map[string]index.UID{"": n.UID}
	for _, s := range n.Sections {
		if s.Top {
			all[s.Slug] = s.UID
		}
	}
	for at, uid := range all {
		o, ok := x.Node(uid)
		require.True(t, ok, "the node %q of %s is found by its UID", at, path)
		require.Equal(t, path, o.Note.Path)
		slug := ""
		if o.Section != nil {
			slug = o.Section.Slug
		}
		require.Equal(t, at, slug)
	}
	return all
}

// after is the index after texts of a note, one commit each.
func after(path string, texts ...string) []*index.Index {
	x := index.Empty()
	var all []*index.Index
	for i, text := range texts {
		x = x.With(commit(uint64(i+1), path, text))
		all = append(all, x)
	}
	return all
}

func TestAUIDIsAULID(t *testing.T) {
	x := of([]string{"a.md", "## A\n"})
	for _, uid := range uidsOf(t, x, "a.md") {
		s := uid.String()
		require.Regexp(t, `^n_[0-7][0-9A-HJKMNP-TV-Z]{25}$`, s)
		again, ok := index.ParseUID(s)
		require.True(t, ok)
		require.Equal(t, uid, again)
	}
	for _, bad := range []string{"", "n_", "a.md", "n_01", "n_" + strings.Repeat("8", 26), "n_" + strings.Repeat("i", 26)} {
		_, ok := index.ParseUID(bad)
		require.False(t, ok, bad)
	}
}

// TestSectionsAreMetAgain in the order of reference/tree.md C2.
func TestSectionsAreMetAgain(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		same          map[string]string // by the slug after, that before
	}{
		"a declared id":            {"## A\n::person(id=p)\n\n## B\n", "## B\n\n## New\n::person(id=p)\n", map[string]string{"p": "p", "b": "b"}},
		"the same slugs":           {"## A\n\na\n\n## B\n\nb\n", "## A\n\nb\n\n## B\n\na\n", map[string]string{"a": "a", "b": "b"}},
		"the same heading":         {"## A\n\n### S\n\ns\n\n## B\n", "## A\n\n## B\n\n### S\n\nt\n", map[string]string{"a": "a", "b": "b", "s": "s"}},
		"the same text":            {"## A\n\na text\n", "## Renamed\n\na text\n", map[string]string{"renamed": "a"}},
		"another text and heading": {"## A\n\na text\n", "## Renamed\n\nanother\n", map[string]string{"renamed": "-"}},
		"empty texts are not same": {"## A\n", "## Renamed\n", map[string]string{"renamed": "-"}},
		"one more of the name":     {"## I\n\nx\n", "## I\n\nx\n\n## I\n\ny\n", map[string]string{"i": "i", "i-2": "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			states := after("a.md", c.before, c.after)
			was, is := uidsOf(t, states[0], "a.md"), uidsOf(t, states[1], "a.md")
			require.Equal(t, was[""], is[""])
			for now, before := range c.same {
				if before == "-" {
					require.NotContains(t, slices.Collect(values(was)), is[now])
					continue
				}
				require.Equal(t, was[before], is[now], "%s was %s", now, before)
			}
			for at, uid := range was {
				if _, found := states[1].Node(uid); !found {
					require.NotContains(t, slices.Collect(values(is)), uid, at)
				}
			}
		})
	}
}

func values(m map[string]index.UID) func(yield func(index.UID) bool) {
	return func(yield func(index.UID) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func TestAMovedNoteKeepsItsUIDs(t *testing.T) {
	x := of([]string{"a.md", "# T\n\n## A\n"})
	was := uidsOf(t, x, "a.md")
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		moved := commit(2, "b.md", "# T\n\n## A\n\nmore\n", "a.md", "-")
		moved.Changes[0].From = "a.md"
		moved.Changes[0], moved.Changes[1] = moved.Changes[order[0]], moved.Changes[order[1]]
		y := x.With(moved)
		require.Equal(t, was, uidsOf(t, y, "b.md"))
		again := y.With(commit(3, "a.md", "# T\n\n## A\n"))
		require.NotEqual(t, was[""], uidsOf(t, again, "a.md")[""], "another note under the name that is free now")
		require.Equal(t, was, uidsOf(t, again, "b.md"))
	}
}

func TestGivenUIDsAreTaken(t *testing.T) {
	x := of([]string{"a.md", "## I\n\nx\n\n## I\n\ny\n"})
	n, _ := x.Note("a.md")
	ids := n.NodeIDs()
	swapped := commit(2, "a.md", "## I\n\ny\n\n## I\n\nx\n\n## New\n")
	swapped.Changes[0].Nodes = []index.UID{ids[0], ids[2], ids[1], {}}
	y := x.With(swapped)
	m, _ := y.Note("a.md")
	require.Equal(t, ids, []index.UID{m.UID, m.Sections[1].UID, m.Sections[0].UID})
	require.NotContains(t, append(ids, index.UID{}), m.Sections[2].UID, "a zero UID is of a newcomer")
	swapped.Changes[0].Nodes = ids[:2]
	require.Equal(t, ids, mustNote(t, x.With(swapped)).NodeIDs()[:3], "a list that does not fit is passed over")
}

func mustNote(t *testing.T, x *index.Index) *index.Note {
	n, ok := x.Note("a.md")
	require.True(t, ok)
	return n
}

// TestNoUIDIsOfTwo says that in any history each UID is of one node, which is found by it.
func TestNoUIDIsOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Empty()
		for _, c := range history(t) {
			x = x.With(c)
			seen := map[index.UID]string{}
			for f := range x.Files() {
				for _, uid := range f.NodeIDs() {
					require.NotZero(t, uid)
					require.Empty(t, seen[uid], "%s of v%d", f.Path, x.Version())
					seen[uid] = f.Path
				}
			}
			for n := range x.Notes("") {
				uidsBySpot(t, x, n)
			}
		}
	})
}

func uidsBySpot(t require.TestingT, x *index.Index, n *index.Note) {
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		uid := n.UID
		if o.Section != nil {
			if uid = o.Section.UID; !o.Section.Top {
				require.Zero(t, uid)
				continue
			}
		}
		found, ok := x.Node(uid)
		require.True(t, ok)
		require.Equal(t, o, found)
	}
}

func TestFolders(t *testing.T) {
	x := of([]string{"p/x/a.md", "a\n"})
	require.Equal(t, []uint64{1, 1, 1}, versions(x, "", "p/", "p/x/"))
	x = x.With(commit(2, "p/x/a.md", "b\n"))
	require.Equal(t, []uint64{1, 1, 1}, versions(x, "", "p/", "p/x/"), "no child came or went")
	require.EqualValues(t, 2, x.NotesVersion())
	before := x.FolderUID("p/")
	x = x.With(commit(3, "p/_folder.md", "---\ntitle: P\norder: [b, x/]\ntags: [one]\n---\nText.\n"))
	require.Equal(t, []uint64{1, 3, 1}, versions(x, "", "p/", "p/x/"))
	f, ok := x.Folder("p/")
	require.True(t, ok)
	require.Equal(t, []string{"b", "x/"}, f.Order())
	require.EqualValues(t, len("Text."), f.BodyBytes)
	require.Equal(t, before, f.UID, "the folder stays what it was")
	require.Equal(t, 1, x.Totals().Notes, "the file of a folder is no note")
	x = x.With(commit(4, "p/y/b.md", "b\n"))
	require.Equal(t, []uint64{1, 4, 1, 4}, versions(x, "", "p/", "p/x/", "p/y/"))
	x = x.With(commit(5, "p/x/a.md", "-"))
	require.Equal(t, []uint64{1, 5, 0, 4}, versions(x, "", "p/", "p/x/", "p/y/"))
	require.Equal(t, []string{"p/", "p/y/"}, slices.Collect(x.FolderPaths("")))
	moved := commit(6, "q/_folder.md", "---\ntitle: P\n---\n", "p/_folder.md", "-", "p/y/b.md", "-", "q/y/b.md", "b\n")
	moved.Changes[0].From, moved.Changes[3].From = "p/_folder.md", "p/y/b.md"
	x = x.With(moved)
	require.Equal(t, before, x.FolderUID("q/"), "a folder that moves with its file stays what it is")
	require.Equal(t, []uint64{6, 0, 6, 6}, versions(x, "", "p/", "q/", "q/y/"))
	x = x.With(commit(7, "p/c.md", "c\n"))
	require.NotEqual(t, before, x.FolderUID("p/"))
	for _, dir := range []string{"", "p/", "q/", "q/y/"} {
		at, ok := x.NodeFolder(x.FolderUID(dir))
		require.True(t, ok)
		require.Equal(t, dir, at)
	}
	_, ok = x.NodeFolder(index.UID{1})
	require.False(t, ok)
}

func versions(x *index.Index, dirs ...string) []uint64 {
	var all []uint64
	for _, dir := range dirs {
		all = append(all, x.FolderVersion(dir))
	}
	return all
}

package tree_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tree"
)

// noon is the time of every commit.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// indexOf is the index of a vault with these files.
func indexOf(files map[string]string) *index.Index {
	c := index.Commit{Seq: 1, Time: noon}
	for path, text := range files {
		c.Changes = append(c.Changes, index.Change{Path: path, Text: []byte(text)})
	}
	slices.SortFunc(c.Changes, func(a, b index.Change) int { return strings.Compare(a.Path, b.Path) })
	return index.Empty().With(c)
}

// A naiveNode is a node of a tree that is made together with the texts of the vault.
type naiveNode struct {
	id       string
	level    int
	children []*naiveNode
}

// drawVault draws the files of a vault, and its tree.
func drawVault(t *rapid.T) (map[string]string, *naiveNode) {
	files, root := map[string]string{}, &naiveNode{id: "/"}
	fill(t, files, root, "", 0)
	return files, root
}

// fill draws what is in a folder: its tree in the order that the folder has.
func fill(t *rapid.T, files map[string]string, top *naiveNode, dir string, depth int) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "Ba", "bb", "c-d", "é", "z0"}), 1, 4, rapid.ID).Draw(t, "names")
	folders, notes := []*naiveNode{}, []*naiveNode{}
	for _, name := range names {
		if depth < 3 && rapid.IntRange(0, 2).Draw(t, "folder") == 0 {
			sub := &naiveNode{id: dir + name + "/"}
			fill(t, files, sub, dir+name+"/", depth+1)
			folders = append(folders, sub)
			continue
		}
		n := &naiveNode{id: dir + name}
		files[dir+name+".md"] = sections(t, n)
		notes = append(notes, n)
	}
	for _, list := range [][]*naiveNode{folders, notes} {
		slices.SortFunc(list, func(a, b *naiveNode) int {
			return cmp.Or(strings.Compare(strings.ToLower(a.id), strings.ToLower(b.id)), strings.Compare(a.id, b.id))
		})
	}
	top.children = append(folders, notes...)
}

// sections draws the text of a note with sections.
func sections(t *rapid.T, n *naiveNode) string {
	text := "Text.\n"
	open := []*naiveNode{n}
	for i := range rapid.IntRange(0, 5).Draw(t, "sections") {
		level := rapid.IntRange(1, 4).Draw(t, "level")
		text += fmt.Sprintf("\n%s H%d\n\nbody %d\n", strings.Repeat("#", level), i, i)
		s := &naiveNode{id: fmt.Sprintf("%s#h%d", n.id, i), level: level}
		for open[len(open)-1].level >= level {
			open = open[:len(open)-1]
		}
		above := open[len(open)-1]
		above.children = append(above.children, s)
		open = append(open, s)
	}
	return text
}

// all are a node and all below it, in the order of the tree, each with those above.
func (n *naiveNode) all(above []string, visit func(n *naiveNode, above []string)) {
	visit(n, above)
	for _, child := range n.children {
		child.all(append(slices.Clip(above), n.id), visit)
	}
}

// TestTreesAreThoseOfNaiveOnes compares every question to a tree with the answer of one that is made with the texts.
func TestTreesAreThoseOfNaiveOnes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		files, root := drawVault(rt)
		tr := tree.New(indexOf(files))
		var order []string
		root.all(nil, func(n *naiveNode, above []string) {
			order = append(order, n.id)
			node, ok := tr.Find(n.id)
			require.True(rt, ok, n.id)
			require.Equal(rt, n.id, node.ID())
			require.Equal(rt, len(above), tr.Depth(node), n.id)
			require.Equal(rt, above, idsOf(tr.Ancestors(node)), n.id)
			require.Equal(rt, len(n.children), tr.ChildrenCount(node), n.id)
			var children []string
			for _, child := range n.children {
				children = append(children, child.id)
			}
			require.Equal(rt, children, idsOf(tr.Children(node)), n.id)
		})
		walked := idsOf(slices.Collect(tr.Walk(tr.Root(), nil)))
		require.Equal(rt, order, walked)
		i := rapid.IntRange(0, len(order)-1).Draw(rt, "from")
		from, _ := tr.Find(order[i])
		position := from.Position()
		require.Equal(rt, order[i+1:], append([]string{}, idsOf(slices.Collect(tr.Walk(tr.Root(), &position)))...), order[i])
		j := rapid.IntRange(0, len(order)-1).Draw(rt, "to")
		to, _ := tr.Find(order[j])
		require.Equal(rt, cmp.Compare(i, j), tr.Compare(position, to.Position()), "%s %s", order[i], order[j])
		top := tr.CommonAncestor([]tree.Node{from, to})
		require.True(rt, tr.Within(from, top) && tr.Within(to, top))
		for _, child := range tr.Children(top) {
			require.False(rt, tr.Within(from, child) && tr.Within(to, child))
		}
	})
}

// TestPositionsOutliveTheirNodes covers that a page goes on behind a node that is gone.
func TestPositionsOutliveTheirNodes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		files, root := drawVault(rt)
		var order []string
		root.all(nil, func(n *naiveNode, _ []string) { order = append(order, n.id) })
		gone := rapid.SampledFrom(order).Draw(rt, "gone")
		before := tree.New(indexOf(files))
		n, _ := before.Find(gone)
		if n.Kind() != tree.Note {
			return
		}
		position := n.Position()
		want := slices.DeleteFunc(idsOf(slices.Collect(before.Walk(before.Root(), &position))), func(id string) bool {
			return strings.HasPrefix(id, gone+"#")
		})
		delete(files, gone+".md")
		if len(files) == 0 {
			return
		}
		after := tree.New(indexOf(files))
		var got []string
		for n := range after.Walk(after.Root(), &position) {
			got = append(got, n.ID())
		}
		require.Equal(rt, append([]string{}, want...), append([]string{}, got...))
	})
}

func idsOf(nodes []tree.Node) []string {
	var ids []string
	for _, n := range nodes {
		ids = append(ids, n.ID())
	}
	return ids
}

package tree_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
)

// ask makes a call that reads, and holds the answer against the tree.
func (m *model) ask(n *naive) {
	below := n.all()[1:]
	tag, status, prio := pick(m.Rand, []string{"red", "blue", "green"}), fmt.Sprint("s", m.IntN(3)), m.IntN(9)
	hasStatus := func(o *naive) bool { return o.field("status") == status }
	isAtLeast := func(o *naive) bool { p, ok := o.field("prio").(int); return ok && p >= prio }
	isTagged := func(o *naive) bool { return slices.Contains(o.tags(), tag) }
	switch m.IntN(12) {
	case 0:
		m.answers("list_children", args{"nodeId": m.name(n)}, "items", n.children)
	case 1:
		m.answers("get_path", args{"nodeId": m.name(n)}, "path", append(n.ancestors(), n))
	case 2:
		other := pick(m.Rand, m.root.all())
		answer := m.data(m.T, "get_common_ancestor", args{"nodeIds": []string{m.name(n), m.name(other)}})
		require.Equal(m, n.common(other).id(), answer["nodeId"], "%s and %s", n.id(), other.id())
	case 3:
		in := args{"rootNodeId": m.name(n), "filters": []args{{"path": "status", "op": "eq", "value": status}}}
		m.answers("search", in, "items", filtered(below, hasStatus))
	case 4:
		want := filtered(below, isAtLeast)
		slices.SortStableFunc(want, func(a, b *naive) int { return cmp.Compare(b.field("prio").(int), a.field("prio").(int)) })
		m.answers("search_advanced", args{
			"rootId": m.name(n), "predicates": []args{{"path": "prio", "op": "gte", "value": prio}}, "sortBy": args{"path": "prio", "direction": "desc"},
		}, "items", want)
	case 5:
		in := args{"rootNodeId": m.name(n), "queryDsl": fmt.Sprintf("prio >= %d OR NOT status = %s AND kind = section", prio, status)}
		m.answers("select_nodes", in, "items", filtered(below, func(o *naive) bool {
			return isAtLeast(o) || !hasStatus(o) && o.kind == "section"
		}))
	case 6:
		m.answers("query_by_tag", args{"tag": tag}, "items", filtered(m.root.all()[1:], isTagged))
	case 7:
		tags := []any{}
		for _, tag := range n.tags() {
			tags = append(tags, tag)
		}
		require.Equal(m, tags, m.data(m.T, "get_tags", args{"nodeId": m.name(n)})["tags"], n.id())
	case 8:
		require.Empty(m, m.data(m.T, "validate_tree", args{"rootNodeId": m.name(n), "rulesetId": "links"})["violations"])
	case 9:
		require.Empty(m, m.data(m.T, "lint_payload", args{"nodeId": m.name(n), "rulesetId": "schema"})["violations"])
	case 10:
		diff := m.data(m.T, "diff_subtree", args{"aId": m.name(n), "bId": m.name(n)})
		require.Equal(m, []any{[]any{}, []any{}, []any{}}, []any{diff["structure"], diff["payload"], diff["metadata"]}, n.id())
	case 11:
		m.askSnapshots()
	}
}

// askSnapshots holds the snapshots against those that were made.
func (m *model) askSnapshots() {
	count := 0
	for _, s := range m.data(m.T, "snapshot_list", args{"limit": 200})["snapshots"].([]any) {
		s := s.(args)
		if s["automatic"] == true {
			continue
		}
		count++
		label := s["label"].(string)
		require.Contains(m, m.snapshots, label)
		require.Equal(m, s, m.data(m.T, "snapshot_get", args{"snapshotId": label})["snapshot"])
	}
	require.Len(m, m.snapshots, count)
}

// removeBookmark removes a bookmark, if there is one.
func (m *model) removeBookmark() {
	for label := range m.labels {
		m.session(0).write(m.T, "remove_bookmark", args{"label": label})
		delete(m.labels, label)
		m.check("the bookmark " + label + " is removed")
		return
	}
}

// answers requires that the list of an answer has these nodes.
func (m *model) answers(tool string, in args, list string, want []*naive) {
	in["limit"] = 200
	if tool == "get_path" {
		delete(in, "limit")
	}
	answer := m.data(m.T, tool, in)
	got := []string{}
	for _, item := range answer[list].([]any) {
		got = append(got, item.(args)["nodeId"].(string))
	}
	ids := []string{}
	for _, n := range want {
		ids = append(ids, n.id())
	}
	require.Equal(m, ids, got, "%s %v", tool, in)
}

// filtered are those of some nodes for which a function holds.
func filtered(all []*naive, holds func(*naive) bool) (some []*naive) {
	for _, n := range all {
		if holds(n) {
			some = append(some, n)
		}
	}
	return some
}

// ancestors are the nodes above, the vault first.
func (n *naive) ancestors() (all []*naive) {
	for above := n.above; above != nil; above = above.above {
		all = append(all, above)
	}
	slices.Reverse(all)
	return all
}

// common is the lowest node that is, or is above, both of two nodes.
func (n *naive) common(other *naive) *naive {
	for !other.isIn(n) {
		n = n.above
	}
	return n
}

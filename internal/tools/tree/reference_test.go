package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stubs is a vault with nodes that stand for others: for a section, for a note, for what stands for another one, and for
// what they are in.
var stubs = map[string]string{
	"a.md": "---\nstatus: new\ntags: [x]\n---\n\n# A\n\nIntro.\n\n## One\n::section(prio=1)\n\nText of one.\n\n### Sub\n\ns\n\n#### Deep\n\nd\n\n## Two\n",
	"b.md": "# B\n\n## Stub\n\n![[a#one]]\n\n## Twice\n\n![[b#stub]]\n\n## Whole\n\n![[a]]\n\n## Behind\n",
	"c.md": "# C\n\n## Round\n\n### Self\n\n![[c#round]]\n\n### Far\n\n![[d#back]]\n",
	"d.md": "# D\n\n## Back\n\n### Again\n\n![[c#round]]\n",
	"e.md": "![[a#one]]\n",
	"f.md": "# F\n\n## Picture\n\n![[p.png]]\n\n## Own\n\n![[a#one]]\n\n### Child\n",
}

// nested is a node with all below it, in one line: what is shown below a reference has a star.
func nested(node args) string {
	id, _ := node["nodeId"].(string)
	if node["viaReference"] == true {
		id = "*" + id
	}
	if node["skeleton"] == true {
		id = "-" + id
	}
	children, _ := node["children"].([]any)
	if len(children) == 0 {
		return id
	}
	var all []string
	for _, child := range children {
		all = append(all, nested(child.(args)))
	}
	return id + "(" + strings.Join(all, " ") + ")"
}

// TestSubtreesFollowReferences covers C7 (copy_subtree reference) and C9.9 and C9.10 of reference/tree.md: what reads a node
// with those below it shows below a node that stands for another one the children of that, with their addresses.
func TestSubtreesFollowReferences(t *testing.T) {
	p := open(t, stubs)
	one := "(*a#sub(*a#deep))"
	for id, want := range map[string]string{
		"b": "b(b#stub" + one + " b#twice" + one + " b#whole(*a#one(*a#sub(*a#deep)) *a#two) b#behind)",
		"c": "c(c#round(c#self c#far(*d#again)))",
		"d": "d(d#back(d#again(*c#self *c#far)))",
		"e": "e" + one,
		"f": "f(f#picture f#own(f#child))",
	} {
		subtree := p.data(t, "get_subtree", args{"nodeId": id, "limit": 200})["node"].(args)
		require.Equal(t, want, nested(subtree), id)
		view := p.data(t, "get_view", args{"rootNodeId": id, "limit": 200})["view"].(args)
		require.Equal(t, want, nested(view), id)
		exported := p.data(t, "export_view", args{"rootNodeId": id})["viewJson"].(args)["view"].(args)
		require.Equal(t, want, nested(exported), id)
	}
	require.Equal(t, "b(b#stub(*a#sub) b#twice(*a#sub) b#whole(*a#one *a#two) b#behind)",
		nested(p.data(t, "get_subtree", args{"nodeId": "b", "depthLimit": 2})["node"].(args)))
	path := p.data(t, "get_path", args{"nodeId": "a#deep"})["path"].([]any)
	require.Equal(t, "a#sub", path[3].(args)["nodeId"], "the real place")
}

// TestReferencesShowTheirSource covers that payload, text and tags of a node that stands for another one are the other's, and
// that pictures, and nodes with nodes of their own, stand for themselves.
func TestReferencesShowTheirSource(t *testing.T) {
	p := open(t, stubs)
	stub := p.data(t, "get_node", args{"nodeId": "b#stub", "includedProperties": []string{"body", "payload", "content", "name", "bodyBytes"}})["node"].(args)
	require.Equal(t, "Text of one.", stub["body"])
	require.Equal(t, "Text of one.\n\n### Sub\n\ns\n\n#### Deep\n\nd", stub["content"])
	require.Equal(t, args{"prio": 1.0}, stub["payload"])
	require.Equal(t, "Stub", stub["name"])
	require.Equal(t, 12.0, stub["bodyBytes"])
	whole := p.data(t, "get_node", args{"nodeId": "b#whole"})["node"].(args)
	require.Equal(t, []any{"x"}, whole["tags"])
	require.Equal(t, args{"status": "new"}, whole["payload"])
	require.Equal(t, args{"targetId": "a"}, whole["reference"])
	require.Equal(t, args{"targetId": "a#one"}, p.data(t, "get_node", args{"nodeId": "b#twice"})["node"].(args)["reference"])
	for _, id := range []string{"f#picture", "f#own"} {
		require.NotContains(t, p.data(t, "get_node", args{"nodeId": id})["node"], "reference", id)
	}
	items := p.data(t, "list_children", args{"nodeId": "b#stub"})["items"].([]any)
	require.Equal(t, true, items[0].(args)["viaReference"])
	p.write(t, "update_payload_property", args{"nodeId": "b#stub", "propertyName": "body", "newValue": "New."})
	require.Equal(t, "New.", p.data(t, "get_node", args{"nodeId": "b#twice"})["node"].(args)["body"])
	require.Contains(t, p.file(t, "b.md"), "## Stub\n\n![[a#one]]\n")
}

// TestPagesOfReferences takes subtrees and views with references in pages of every size: together they are the whole.
func TestPagesOfReferences(t *testing.T) {
	p := open(t, stubs)
	for _, c := range []struct{ tool, arg, member string }{
		{"get_subtree", "nodeId", "node"}, {"get_view", "rootNodeId", "view"},
	} {
		whole := listed(p.data(t, c.tool, args{c.arg: "/", "limit": 200})[c.member].(args))
		for size := 1; size < 9; size++ {
			var all []string
			in := args{c.arg: "/", "limit": size}
			for {
				answer := p.data(t, c.tool, in)
				all = append(all, listed(answer[c.member].(args))...)
				next, more := answer["nextPageToken"]
				if !more {
					break
				}
				in["pageToken"] = next
			}
			require.Equal(t, whole, all, "%s in pages of %d", c.tool, size)
		}
	}
}

// listed are the nodes of a page, without skeletons, each with whether it is shown below a reference.
func listed(node args) []string {
	var all []string
	if node["skeleton"] != true {
		all = append(all, fmt.Sprint(node["nodeId"], node["viaReference"]))
	}
	children, _ := node["children"].([]any)
	for _, child := range children {
		all = append(all, listed(child.(args))...)
	}
	return all
}

// TestReferencesInReferences covers that references are followed eight deep, and that the answer is as large as the page
// however often a node is shown.
func TestReferencesInReferences(t *testing.T) {
	files := map[string]string{"n20.md": "# N\n\n## End\n"}
	for i := range 20 {
		next := fmt.Sprintf("![[n%d]]", i+1)
		files[fmt.Sprintf("n%d.md", i)] = "# N\n\n## L\n\n" + next + "\n\n## R\n\n" + next + "\n"
	}
	p := open(t, files)
	answer := p.data(t, "get_subtree", args{"nodeId": "n0", "limit": 200})
	require.Contains(t, answer, "nextPageToken")
	id, deepest := nested(answer["node"].(args)), 0
	for depth := range strings.SplitSeq(id, ")") {
		deepest = max(deepest, strings.Count(depth, "("))
	}
	require.Contains(t, id, "*n8#l")
	require.NotContains(t, id, "*n9#l")
}

// TestImportedLeaves covers that import_view restores what is collapsed of nodes without children too, of many with one rule.
func TestImportedLeaves(t *testing.T) {
	files := map[string]string{}
	for i := range 600 {
		files[fmt.Sprintf("many/n%03d.md", i)] = "x\n"
	}
	files["few/a.md"], files["few/b.md"] = "a\n", "b\n"
	p := open(t, files)
	p.write(t, "set_expansion_recursive", args{"nodeId": "many/", "expanded": true, "maxDepth": 1})
	p.write(t, "collapse_node", args{"nodeId": "few/a"})
	exported := p.data(t, "export_view", args{"rootNodeId": "/"})["viewJson"]
	other := p.as("agent", "other")
	other.write(t, "import_view", args{"viewJson": exported})
	for id, want := range map[string]bool{"few/a": false, "few/b": true, "few/": true, "many/": true, "many/n001": false} {
		require.Equal(t, want, other.data(t, "get_node", args{"nodeId": id})["node"].(args)["isExpanded"], id)
	}
	require.Equal(t, exported, other.data(t, "export_view", args{"rootNodeId": "/"})["viewJson"])
}

// TestConflictsSayWhoChanged covers lastChangedBy of reference/tree.md, C6.
func TestConflictsSayWhoChanged(t *testing.T) {
	p := open(t, website)
	token := p.token(t)
	p.as("Robot", "default").write(t, "tag_node", args{"nodeId": w(""), "tags": []string{"x"}})
	f := p.refused(t, "tag_node", args{"nodeId": w("#goals"), "tags": []string{"y"}, "versionToken": token})
	require.Equal(t, "conflict", string(f.Status()))
	require.Equal(t, args{
		"latestVersion": "v3", "latest_version": "v3", "changed": w(""), "nodeId": w("#goals"), "lastChangedBy": "Robot",
	}, f.Details)

}

// TestReferencesByTitle covers references that name a note by its title and a section by its heading: they lead to the
// same nodes after these have new titles.
func TestReferencesByTitle(t *testing.T) {
	p := open(t, map[string]string{
		"schema.yaml": "types:\n  risk: {}\n",
		"p/c.md":      "# Foo\n\n## Alice\n::risk(id=i)\n\nx [[#Alice]]\n",
		"b.md":        "[[Foo]] [[Foo#alice]] [[c#Alice|shown]] [[c]] [[p/c#foo]] [[p/c#i]] [l](p/c.md#foo)\n",
	})
	answer := p.write(t, "update_payload_property", args{"nodeId": "p/c", "propertyName": "title", "newValue": "Bar"})
	require.Equal(t, args{}, answer["idMap"])
	require.Equal(t, "[[p/c]] [[p/c#alice]] [[c#Alice|shown]] [[c]] [[p/c]] [[p/c#i]] [l](p/c.md)\n", p.file(t, "b.md"))
	require.EqualValues(t, 4, answer["refsUpdated"])
	answer = p.write(t, "update_payload_property", args{"nodeId": "p/c#i", "propertyName": "title", "newValue": "Zed"})
	require.EqualValues(t, 3, answer["refsUpdated"])
	require.Equal(t, "[[p/c]] [[p/c#i]] [[c#i|shown]] [[c]] [[p/c]] [[p/c#i]] [l](p/c.md)\n", p.file(t, "b.md"))
	require.Equal(t, "# Bar\n\n## Zed\n::risk(id=i)\n\nx [[#i]]\n", p.file(t, "p/c.md"))
}

// TestReferencesToMissingParts covers references to a missing part of a note that becomes a section: they lead to the
// section, and not to a note with the same name.
func TestReferencesToMissingParts(t *testing.T) {
	p := open(t, map[string]string{
		"b.md": "# B\n\n## Part\n\nx [[#gone]]\n", "p/b.md": "# Other\n", "a.md": "# A\n",
		"r.md": "[[b#gone]] [[b#^gone|shown]] [l](b.md#gone) [[b#part]] [[b]] [[nothing]]\n",
	})
	answer := p.write(t, "move_node", args{"nodeId": "b", "newParentId": "a", "convert": true})
	require.Equal(t, args{"b": "a#b", "b#part": "a#part"}, answer["idMap"])
	require.Equal(t, "[[a#b]] [[a#b|shown]] [l](a.md#b) [[a#part]] [[a#b]] [[nothing]]\n", p.file(t, "r.md"))
	require.Equal(t, "# A\n\n## B\n\n### Part\n\nx [[#b]]\n", p.file(t, "a.md"))
}

// TestDefinitionsBesideReferences covers that a definition that the rest of a note needs is not written after a lone
// reference, which would no longer show its source, and that all nodes keep their uids.
func TestDefinitionsBesideReferences(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "# A\n\n## One\n\nuse [lab]\n\n### Sub\n## Two\n\n[lab]: http://x.y\n\nz\n\n## Stub\n\n![[b#x]]\n\n## Stub\n\n![[b#x]]\n",
		"b.md": "# B\n\n## x\n\nx\n",
	})
	uids := p.allUIDs(t)
	p.write(t, "move_node", args{"nodeId": "a#two", "newParentId": "b"})
	require.Equal(t, "# A\n\n## One\n\nuse [lab]\n\n### Sub\n\n[lab]: http://x.y\n\n## Stub\n\n![[b#x]]\n\n## Stub\n\n![[b#x]]\n", p.file(t, "a.md"))
	now := p.allUIDs(t)
	for _, id := range []string{"a#one", "a#sub", "a#stub", "a#stub-2"} {
		require.Equal(t, uids[id], now[id], id)
	}
	for _, id := range []string{"a#stub", "a#stub-2"} {
		require.Equal(t, args{"targetId": "b#x"}, p.data(t, "get_node", args{"nodeId": id})["node"].(args)["reference"])
	}
}

package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// violations are what a call tells, one in a word: the rule, the node, and the path.
func violations(answer args) string {
	var all []string
	for _, v := range answer["violations"].([]any) {
		all = append(all, fmt.Sprintf("%s:%s:%v", v.(args)["ruleId"], v.(args)["nodeId"], v.(args)["path"]))
	}
	return strings.Join(all, " ")
}

// TestRules covers B8 61 and 62, C10 21, and each rule that every vault has.
func TestRules(t *testing.T) {
	p := open(t, map[string]string{
		"schema.yaml": "version: 2\ntypes:\n  person:\n    fields:\n      name: {type: string, required: true}\n      born: {type: date}\n" +
			"      mood: {type: enum, values: [good, bad]}\n      size: {type: number}\n",
		"rookery.yaml": "tree:\n  rulesets:\n    own:\n      rules:\n" +
			"        - {id: owned, select: type = person, require: [lead], severity: warning}\n" +
			"        - {id: plain, select: name = Ann, forbid: [size], pattern: {mood: \"^b\"}}\n",
		"a.md": "---\ntype: person\nname: \"\"\n---\n", "ann.md": "---\ntype: person\nname: Ann\nborn: soon\nmood: odd\nsize: x\nnick: A\nlead: \"[[a]]\"\n---\n",
		"t.md":         "---\ntype: nope\n---\n",
		"h.md":         "# H\n\n## A\n\n#### B\n\n##\n\n## A\n\n[[nowhere]] and [[h#none]]\n",
		"open.md":      "## S\n\n```\nx\n",
		"d/_folder.md": "---\norder: [gone, x]\n---\n", "d/x.md": "x\n",
		"stub.md": "## R\n\n![[gone#x]]\n\n## C\n\n![[stub#c]]\n",
	})
	for _, c := range []struct{ set, root, upstream, ours string }{
		{"schema", "/", "missing required property 'name'", "missing-required:a:name invalid-date:ann:born enum:ann:mood wrong-type:ann:size unknown-field:ann:lead unknown-field:ann:nick unknown-type:t:type"},
		{"structure", "h", "", "empty-heading:h:7 heading-skip:h#b:5 duplicate-slug:h#a-2:9"},
		{"structure", "open", "", "unclosed-fence:open#s:body"},
		{"structure", "stub", "", "broken-reference:stub#r:body reference-cycle:stub#c:body"},
		{"links", "h", "", "unresolved-ref:h#a-2:11 unresolved-ref:h#a-2:11"},
		{"order", "/", "", "order-stale:d/:order"},
		{"own", "/", "", "owned:a:lead plain:ann:size plain:ann:mood"},
	} {
		require.Equal(t, c.ours, violations(p.data(t, "validate_tree", args{"rulesetId": c.set, "rootNodeId": c.root})), "%s %s", c.set, c.root)
	}
	require.Contains(t, p.data(t, "validate_tree", args{"rulesetId": "schema"})["violations"].([]any)[0].(args)["message"], "null or empty")
	require.Equal(t, "owned:a:lead", violations(p.data(t, "lint_payload", args{"nodeId": "a", "rulesetId": "own"})))
	require.Equal(t, "", violations(p.data(t, "lint_payload", args{"nodeId": "d/x"})))
	f := p.refused(t, "validate_tree", args{"rulesetId": "nope"})
	require.Equal(t, "unknown_ruleset", f.Details["reason"])
	first := p.data(t, "validate_tree", args{"rulesetId": "schema", "limit": 3})
	second := p.data(t, "validate_tree", args{"rulesetId": "schema", "limit": 3, "pageToken": first["nextPageToken"]})
	require.Len(t, second["violations"], 3)
	require.Equal(t, "", violations(open(t, house).data(t, "validate_tree", args{})))
}

// TestLongReferences covers that only a cycle is one: a long chain of transclusions that ends is not.
func TestLongReferences(t *testing.T) {
	var chain, ring strings.Builder
	for i := range 40 {
		fmt.Fprintf(&chain, "## N%d\n\n![[chain#n%d]]\n\n", i, i+1)
		fmt.Fprintf(&ring, "## N%d\n\n![[ring#n%d]]\n\n", i, (i+1)%40)
	}
	chain.WriteString("## N40\n\nThe end.\n")
	ring.WriteString("## In\n\n![[ring#n3]]\n")
	p := open(t, map[string]string{"chain.md": chain.String(), "ring.md": ring.String()})
	in := func(root string) string {
		return violations(p.data(t, "validate_tree", args{"rulesetId": "structure", "rootNodeId": root, "limit": 100}))
	}
	require.NotContains(t, in("chain"), "reference-cycle")
	require.Equal(t, 32, strings.Count(in("chain"), "broken-reference"))
	require.Equal(t, 41, strings.Count(in("ring"), "reference-cycle"))
	require.NotContains(t, in("ring"), "broken-reference")
}

// TestDifferences covers C8.5: what differs between two subtrees.
func TestDifferences(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "---\nx: 1\ntags: [t]\n---\n\n# A\n\nSame.\n\n## One\n\nold\n\n## Two\n\n## Three\n\n### Deep\n",
		"b.md": "---\nx: 2\n---\n\n# A\n\nSame.\n\n## Three\n\n## One\n\nnew\n\n## Four\n\n### Deep\n",
		"c.md": "---\nx: 1\ntags: [t]\n---\n\n# A\n\nSame.\n\n## One\n\nold\n\n## Two\n\n## Three\n\n### Deep\n",
	})
	d := p.data(t, "diff_subtree", args{"aId": "a", "bId": "b", "includeBody": true})
	var all []string
	for _, c := range d["structure"].([]any) {
		all = append(all, fmt.Sprintf("%s:%s", c.(args)["op"], c.(args)["nodeId"]))
	}
	require.Equal(t, "renamed:b#four reordered:b#three removed:a#deep added:b#deep", reordered(all))
	text := fmt.Sprint(d["payload"])
	require.Contains(t, text, "-old")
	require.Contains(t, text, "before:1")
	require.Equal(t, 1.0, d["summary"].(args)["metadata"])
	same := p.data(t, "diff_subtree", args{"aId": "a", "bId": "c"})
	for _, part := range []string{"structure", "payload", "metadata"} {
		require.Equal(t, []any{}, same[part], part)
	}
	require.Equal(t, []any{}, p.data(t, "diff_subtree", args{"aId": "a", "bId": "b", "includeStructure": false})["structure"])
	require.Equal(t, "not_found", string(p.refused(t, "diff_subtree", args{"aId": "a", "bId": "z"}).Status()))
}

// reordered are changes in one order for the comparison.
func reordered(all []string) string {
	order := map[string]int{"renamed": 0, "reordered": 1, "removed": 2, "added": 3}
	for i := range all {
		for j := i; j > 0; j-- {
			a, _, _ := strings.Cut(all[j-1], ":")
			b, _, _ := strings.Cut(all[j], ":")
			if order[a] > order[b] {
				all[j-1], all[j] = all[j], all[j-1]
			}
		}
	}
	return strings.Join(all, " ")
}

// TestReferences covers what reads of C10 32 and 34, and the change of what a node stands for.
func TestReferences(t *testing.T) {
	p := open(t, map[string]string{
		"schema.yaml": website["schema.yaml"],
		"w.md":        "# W\n\n## Risks\n::risk(id=r, severity=2)\n\nR text.\n\n### Sub\n\n## Notes\n\n### Stub\n\n![[w#r]]\n\n### Broken\n\n![[w#gone]]\n",
	})
	node := p.data(t, "get_node", args{"nodeId": "w#stub"})["node"].(args)
	require.Equal(t, "risk", node["payloadType"])
	require.Equal(t, args{"severity": 2.0}, node["payload"])
	require.Equal(t, args{"targetId": "w#r"}, node["reference"])
	require.Equal(t, "w#sub", ids(p.data(t, "list_children", args{"nodeId": "w#stub"})))
	p.write(t, "update_payload_property", args{"nodeId": "w#stub", "propertyName": "severity", "newValue": 3})
	require.Contains(t, p.file(t, "w.md"), "::risk(id=r, severity=3)")
	require.Contains(t, p.file(t, "w.md"), "### Stub\n\n![[w#r]]\n")
	broken := p.data(t, "get_node", args{"nodeId": "w#broken"})["node"].(args)
	require.Equal(t, args{"broken": true}, broken["reference"])
	f := p.refused(t, "update_payload_property", p.with(t, args{"nodeId": "w#broken", "propertyName": "severity", "newValue": 3}))
	require.Equal(t, "not_found", string(f.Status()))
}

// TestFolders covers folders with a file of their own, and their order.
func TestFolders(t *testing.T) {
	p := open(t, map[string]string{
		"p/_folder.md": "---\ntitle: Projects\norder: [zeta, sub/]\ncolor: red\n---\n\nAbout.\n", "p/alpha.md": "a\n", "p/zeta.md": "z\n", "p/sub/x.md": "x\n",
		"q/_folder.md": "---\n---\n",
	})
	require.Equal(t, "p/zeta p/sub/ p/alpha", ids(p.data(t, "list_children", args{"nodeId": "p"})))
	require.Equal(t, "p/ q/", ids(p.data(t, "list_children", args{"nodeId": "/"})))
	node := p.data(t, "get_node", args{"nodeId": "p/"})["node"].(args)
	require.Equal(t, args{"color": "red"}, node["payload"])
	require.Equal(t, "Projects", node["name"])
	require.Equal(t, "About.", node["body"])
	require.Equal(t, node["nodeId"], p.data(t, "get_node", args{"nodeId": node["uid"]})["node"].(args)["nodeId"])
	token := p.token(t)
	p.write(t, "update_payload_property", args{"nodeId": "p/", "propertyName": "title", "newValue": "Work"})
	require.Contains(t, p.file(t, "p/_folder.md"), "title: Work\n")
	f := p.refused(t, "tag_node", args{"nodeId": "p/", "tags": []string{"x"}, "versionToken": token})
	require.Equal(t, "p/", f.Details["changed"])
}

// TestStrictVersions covers rookery.yaml: any later change makes a token stale.
func TestStrictVersions(t *testing.T) {
	p := open(t, map[string]string{"rookery.yaml": "tree: {versioning: strict}\n", "a.md": "a\n", "b.md": "b\n"})
	token := p.token(t)
	p.write(t, "tag_node", args{"nodeId": "a", "tags": []string{"x"}})
	f := p.refused(t, "tag_node", args{"nodeId": "b", "tags": []string{"x"}, "versionToken": token})
	require.Equal(t, "/", f.Details["changed"])
}

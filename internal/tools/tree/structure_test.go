package tree_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

const (
	goalsText = "## Goals\n\nG text.\n\n### Q1\n\nq1 text\n"
	risksText = "## Risks\n::risk(id=r, severity=2)\n\nR text.\n"
	notesText = "## Notes\n\n```\n## not a heading\n```\n"
)

// TestStructure covers C10 10 to 35, with what is refused.
func TestStructure(t *testing.T) {
	for _, c := range []struct {
		what, tool string
		in         args
		file       string
		want       string // what the file has, or a reason
		ids        args
		refs       int
	}{
		{"10", "move_before", args{"nodeId": w("#notes"), "siblingId": w("#goals")}, "projects/website.md", "Intro.\n\n" + notesText + "\n" + goalsText + "\n" + risksText, args{}, 0},
		{"11", "move_after", args{"nodeId": w("#goals"), "siblingId": w("#r")}, "projects/website.md", "Intro.\n\n" + risksText + "\n" + goalsText + "\n" + notesText, args{}, 0},
		{"12", "move_before", args{"nodeId": w("#goals"), "siblingId": w("#goals")}, "projects/website.md", website["projects/website.md"], args{}, 0},
		{"13", "move_before", args{"nodeId": w("#q1"), "siblingId": w("#goals")}, "", "not_siblings", nil, 0},
		{"18", "sort_children", args{"parentId": w(""), "byProp": "title", "direction": "desc"}, "projects/website.md", "Intro.\n\n" + risksText + "\n" + notesText + "\n" + goalsText, args{}, 0},
		{"19a", "move_after", args{"nodeId": w(""), "siblingId": "projects/api"}, "projects/api.md", website["projects/api.md"], args{}, 0},
		{"19b", "move_before", args{"nodeId": w(""), "siblingId": "projects/api"}, "projects/_folder.md", "order:\n  - website\n  - api\n", args{}, 0},
		{"22", "move_node", args{"nodeId": w("#goals"), "newParentId": w("#notes")}, "projects/website.md", "Intro.\n\n" + risksText + "\n" + notesText + "\n### Goals\n\nG text.\n\n#### Q1\n\nq1 text\n", args{}, 0},
		{"23", "move_node", args{"nodeId": w("#q1"), "newParentId": w("")}, "projects/website.md", notesText + "\n## Q1\n\nq1 text\n", args{}, 0},
		{"24a", "move_node", args{"nodeId": w("#goals"), "newParentId": w("#q1")}, "", "cycle", nil, 0},
		{"24b", "move_node", args{"nodeId": w(""), "newParentId": w("#q1")}, "", "cycle", nil, 0},
		{"24c", "move_node", args{"nodeId": "projects/api", "newParentId": w("#q1")}, "", "kind_mismatch", nil, 0},
		{"27", "move_node", args{"nodeId": w("#goals"), "newParentId": "daily/2025-02-01"}, "projects/api.md", "Uses [[daily/2025-02-01#goals]].", args{w("#goals"): "daily/2025-02-01#goals", w("#q1"): "daily/2025-02-01#q1"}, 1},
		{"28", "move_node", args{"nodeId": w(""), "newParentId": "people/"}, "projects/api.md", "Uses [[people/website#goals]].", args{w(""): "people/website", w("#goals"): "people/website#goals", w("#q1"): "people/website#q1", w("#r"): "people/website#r", w("#notes"): "people/website#notes"}, 1},
		{"29", "move_node", args{"nodeId": w("#r"), "newParentId": "projects/", "convert": true}, "projects/risks.md", "---\ntype: risk\nseverity: 2\n---\n\n# Risks\n\nR text.\n", args{w("#r"): "projects/risks"}, 0},
		{"29b", "move_node", args{"nodeId": w("#goals"), "newParentId": "/", "convert": true}, "projects/api.md", "Uses [[goals]].", args{w("#goals"): "goals", w("#q1"): "goals#q1"}, 1},
		{"29c", "move_node", args{"nodeId": w(""), "newParentId": "people/alice", "convert": true}, "people/alice.md", "---\ntype: person\nname: Alice\n---\n\n## Website\n::project\n\nIntro.\n\n### Goals\n\nG text.\n\n#### Q1", args{w(""): "people/alice#website", w("#goals"): "people/alice#goals", w("#q1"): "people/alice#q1", w("#r"): "people/alice#r", w("#notes"): "people/alice#notes"}, 1},
		{"29d", "move_node", args{"nodeId": w("#r"), "newParentId": "projects/"}, "", "kind_mismatch", nil, 0},
		{"root", "move_node", args{"nodeId": "/", "newParentId": "projects/"}, "", "root", nil, 0},
		{"into itself", "move_node", args{"nodeId": "projects/", "newParentId": "projects/"}, "", "cycle", nil, 0},
		{"a folder in a note", "move_node", args{"nodeId": "people/", "newParentId": w(""), "convert": true}, "", "kind_mismatch", nil, 0},
		{"a folder", "move_node", args{"nodeId": "projects/", "newParentId": "people/"}, "people/projects/api.md", "Uses [[projects/website#goals]].", args{"projects/": "people/projects/", "projects/api": "people/projects/api", w(""): "people/projects/website", w("#goals"): "people/projects/website#goals", w("#q1"): "people/projects/website#q1", w("#r"): "people/projects/website#r", w("#notes"): "people/projects/website#notes"}, 0},
		{"a daily note to the root", "move_node", args{"nodeId": "daily/2025-02-01", "newParentId": "/"}, "", "kind_mismatch", nil, 0},
		{"a daily note", "move_node", args{"nodeId": "daily/2025-02-01", "newParentId": "people/"}, "", "kind_mismatch", nil, 0},
		{"30", "copy_subtree", args{"sourceId": w("#r"), "targetParentId": w("#goals")}, "projects/website.md", "q1 text\n\n### Risks\n::risk(severity=2)\n\nR text.\n\n" + risksText, args{}, 0},
		{"31", "copy_subtree", args{"sourceId": w("#goals"), "targetParentId": w(""), "mode": "duplicate"}, "projects/website.md", notesText + "\n" + goalsText, args{}, 0},
		{"32", "copy_subtree", args{"sourceId": w("#r"), "targetParentId": w("#notes"), "mode": "reference"}, "projects/website.md", notesText + "\n### Risks\n![[projects/website#r]]\n", args{}, 0},
		{"33", "copy_subtree", args{"sourceId": w("#goals"), "targetParentId": w("#q1"), "mode": "reference"}, "", "reference_cycle", nil, 0},
		{"a folder as a reference", "copy_subtree", args{"sourceId": "people/", "targetParentId": w("#q1"), "mode": "reference"}, "", "kind_mismatch", nil, 0},
		{"a note as a reference", "copy_subtree", args{"sourceId": "people/alice", "targetParentId": w("#notes"), "mode": "reference"}, "projects/website.md", "\n### Alice\n![[people/alice]]\n", args{}, 0},
		{"a note in a folder as a reference", "copy_subtree", args{"sourceId": w(""), "targetParentId": "people/", "mode": "reference"}, "people/website.md", "# Website\n\n![[projects/website]]\n", args{}, 0},
		{"a copy of a note", "copy_subtree", args{"sourceId": w(""), "targetParentId": "projects/"}, "projects/website-copy.md", website["projects/website.md"], args{}, 0},
		{"a copy of a folder", "copy_subtree", args{"sourceId": "projects/", "targetParentId": "/"}, "projects-copy/api.md", "Uses [[projects-copy/website#goals]].", args{}, 1},
		{"a copy of a note in a note", "copy_subtree", args{"sourceId": "people/alice", "targetParentId": w("")}, "", "kind_mismatch", nil, 0},
		{"a copy of the vault", "copy_subtree", args{"sourceId": "/", "targetParentId": "people/"}, "", "root", nil, 0},
		{"35", "clone_node", args{"nodeId": w("#goals"), "targetParentId": w("")}, "projects/website.md", notesText + "\n## Goals\n\nG text.\n", args{}, 0},
		{"a clone of a note", "clone_node", args{"nodeId": w(""), "targetParentId": "people/"}, "people/website.md", "---\ntype: project\n---\n\n# Website\n\nIntro.\n", args{}, 0},
		{"a clone of a folder", "clone_node", args{"nodeId": "projects/", "targetParentId": "people/"}, "people/projects/_folder.md", "---\ntitle: projects\n---\n", args{}, 0},
		{"34", "remove_node", args{"nodeId": w("#goals")}, "projects/website.md", "Intro.\n\n" + risksText + "\n" + notesText, args{}, 0},
		{"a folder that is not empty", "remove_node", args{"nodeId": "projects/"}, "", "folder_not_empty", nil, 0},
		{"the vault", "remove_node", args{"nodeId": "/", "recursive": true}, "", "root", nil, 0},
		{"36", "add_child", args{"parentNodeId": "projects/", "payloadType": "page", "payloadProps": args{"title": "Cli"}}, "projects/cli.md", "---\ntype: page\n---\n\n# Cli\n", args{}, 0},
		{"a note with all", "add_child", args{"parentNodeId": "/", "payloadType": "person", "fileName": "bob", "payloadProps": args{"title": "Bob B", "tags": []string{"x"}, "body": "Text.\n\n## More\n"}}, "bob.md", "---\ntype: person\nname: Bob B\ntags:\n  - x\n---\n\n# Bob B\n\nText.\n\n## More\n", args{}, 0},
		{"a section", "add_child", args{"parentNodeId": w("#goals"), "payloadType": "section", "payloadProps": args{"title": "Q2", "body": "Two."}}, "projects/website.md", "q1 text\n\n### Q2\n\nTwo.\n\n## Risks", args{}, 0},
		{"a typed section", "add_child", args{"parentNodeId": w(""), "payloadType": "risk", "position": 0, "payloadProps": args{"title": "New", "severity": 3, "content": "x\n\n### Sub\n"}}, "projects/website.md", "Intro.\n\n## New\n::risk(severity=3)\n\nx\n\n### Sub\n\n## Goals", args{}, 0},
		{"a folder with a position", "add_child", args{"parentNodeId": "projects/", "payloadType": "folder", "position": 1, "payloadProps": args{"title": "My Docs"}}, "projects/_folder.md", "order:\n  - api\n  - my-docs/\n  - website\n", args{}, 0},
		{"an unknown type", "add_child", args{"parentNodeId": "projects/", "payloadType": "proj", "payloadProps": args{"title": "X"}}, "", "unknown_payload_type", nil, 0},
		{"no title", "add_child", args{"parentNodeId": "projects/", "payloadType": "page", "payloadProps": args{}}, "", "required", nil, 0},
		{"an unknown field", "add_child", args{"parentNodeId": w(""), "payloadType": "risk", "payloadProps": args{"title": "X", "nope": 1}}, "", "unknown_field", nil, 0},
		{"a wrong value", "add_child", args{"parentNodeId": w(""), "payloadType": "risk", "payloadProps": args{"title": "X", "severity": "high"}}, "", "type_mismatch", nil, 0},
		{"an internal property", "add_child", args{"parentNodeId": w(""), "payloadType": "risk", "payloadProps": args{"title": "X", "NodeId": "y"}}, "", "internal_property", nil, 0},
		{"a section in a folder", "add_child", args{"parentNodeId": "projects/", "payloadType": "section", "payloadProps": args{"title": "X"}}, "", "kind_mismatch", nil, 0},
		{"a page in a note", "add_child", args{"parentNodeId": w(""), "payloadType": "page", "payloadProps": args{"title": "X"}}, "", "kind_mismatch", nil, 0},
		{"a body with headings", "add_child", args{"parentNodeId": w(""), "payloadType": "section", "payloadProps": args{"title": "X", "body": "## Y\n"}}, "", "body_escapes_section", nil, 0},
		{"a content that escapes", "add_child", args{"parentNodeId": w(""), "payloadType": "section", "payloadProps": args{"title": "X", "content": "## Y\n"}}, "", "body_escapes_section", nil, 0},
		{"a body with another title", "add_child", args{"parentNodeId": "/", "payloadType": "page", "payloadProps": args{"title": "X", "body": "# Y\n"}}, "", "body_escapes_section", nil, 0},
		{"behind all", "add_child", args{"parentNodeId": w(""), "payloadType": "section", "position": 9, "payloadProps": args{"title": "X"}}, "", "position", nil, 0},
		{"sorted by a text", "sort_children", args{"parentId": w(""), "byProp": "body"}, "", "property", nil, 0},
	} {
		p := open(t, website)
		answer, err := p.call(t, c.tool, p.with(t, c.in))
		if c.file == "" {
			require.Error(t, err, c.what)
			require.Equal(t, c.want, answer["reason"], "%s: %v", c.what, answer)
			require.Equal(t, "invalid_argument", answer["code"], c.what)
			require.Equal(t, website, p.files(t), c.what)
			continue
		}
		require.NoError(t, err, "%s: %v", c.what, answer)
		require.Contains(t, p.file(t, c.file), c.want, c.what)
		require.Equal(t, c.ids, answer["idMap"], c.what)
		require.EqualValues(t, c.refs, answer["refsUpdated"], c.what)
		require.Equal(t, answer["versionToken"], p.token(t), c.what)
		if id, ok := answer["nodeId"]; ok {
			p.data(t, "get_node", args{"nodeId": id})
		}
	}
}

// TestMovesKeepIdentities covers that a node that moves, also into another note or as one of another kind, keeps its uid,
// and the annotations in it their ids.
func TestMovesKeepIdentities(t *testing.T) {
	for _, in := range []args{
		{"nodeId": "a#one", "newParentId": "b#two"}, {"nodeId": "a#one", "newParentId": "f/", "convert": true},
		{"nodeId": "a", "newParentId": "b#two", "convert": true}, {"nodeId": "a", "newParentId": "f/"},
		{"nodeId": "a#one", "newParentId": "a#last"},
	} {
		p := open(t, map[string]string{
			"schema.yaml": "traits: {due: {type: date}}\n",
			"a.md":        "# A\n\n## One\n\n- @due(2026-01-01) same\n- @due(2026-01-01) same\n\n### Sub\n\ns\n\n## Last\n\n- @due(2026-01-01) same\n",
			"b.md":        "# B\n\n## Two\n\n- @due(2026-01-01) same\n", "f/x.md": "x\n",
		})
		uids := map[string]any{}
		for _, id := range []string{"a", "a#one", "a#sub", "a#last", "b", "b#two"} {
			uids[id] = p.data(t, "get_node", args{"nodeId": id})["node"].(args)["uid"]
		}
		traits := p.traits(t)
		require.Len(t, traits, 4)
		answer := p.write(t, "move_node", in)
		require.Equal(t, traits, p.traits(t), "%v", in)
		for id, uid := range uids {
			if to, ok := answer["idMap"].(args)[id]; ok {
				id = to.(string)
			}
			require.Equal(t, id, p.data(t, "get_node", args{"nodeId": uid})["node"].(args)["nodeId"], "%v", in)
		}
	}
}

// TestConvertedTitle covers a section whose heading would not be the title of the note, because its text has another
// heading of level 1: the title is a field then, and all nodes keep their uids.
func TestConvertedTitle(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "# A\n\n## One: a\n::section(id=i, n=2)\n\n> # in a quote\n\n### Sub\n\ns\n\n## Two\n\n- item\n  # in a list\n",
		"r.md": "[[a#i]] [[a#sub]]\n", "f/x.md": "x\n",
	})
	uids := p.allUIDs(t)
	answer := p.write(t, "move_node", args{"nodeId": "a#i", "newParentId": "f/", "convert": true})
	require.Equal(t, "f/one-a", answer["nodeId"])
	require.Equal(t, args{"a#i": "f/one-a", "a#sub": "f/one-a#sub"}, answer["idMap"])
	require.Equal(t, "---\ntype: page\nn: 2\ntitle: \"One: a\"\n---\n\n> # in a quote\n\n## Sub\n\ns\n", p.file(t, "f/one-a.md"))
	require.Equal(t, "[[f/one-a]] [[f/one-a#sub]]\n", p.file(t, "r.md"))
	now := p.allUIDs(t)
	require.Equal(t, uids["a#i"], now["f/one-a"])
	require.Equal(t, uids["a#sub"], now["f/one-a#sub"])
}

// traits are the ids of all annotations of the vault, sorted.
func (p *place) traits(t *testing.T) (all []string) {
	v, err := state.Source{Teams: p.teams}.ViewAt(t.Context(), auth.LocalCaller(), "v", tool.AsOf{})
	require.NoError(t, err)
	for n := range v.Index.Notes("") {
		all = append(all, n.TraitIDs()...)
	}
	slices.Sort(all)
	return all
}

// TestSharedPayload covers C10 32 and 34: a node that stands for another one.
func TestSharedPayload(t *testing.T) {
	p := open(t, website)
	answer := p.write(t, "copy_subtree", args{"sourceId": w("#r"), "targetParentId": w("#notes"), "mode": "reference"})
	require.Equal(t, w("#risks"), answer["nodeId"])
	require.Equal(t, args{"targetId": w("#r")}, answer["reference"])
	node := p.data(t, "get_node", args{"nodeId": w("#risks")})["node"].(args)
	require.Equal(t, "risk", node["payloadType"])
	p.write(t, "update_payload_property", args{"nodeId": w("#risks"), "propertyName": "severity", "newValue": 3})
	require.Contains(t, p.file(t, "projects/website.md"), "::risk(id=r, severity=3)")
	answer = p.write(t, "remove_node", args{"nodeId": w("#r")})
	require.Equal(t, []any{w("#risks")}, answer["danglingRefs"])
	require.Equal(t, true, p.data(t, "get_node", args{"nodeId": w("#risks")})["node"].(args)["reference"].(args)["broken"])
	p.write(t, "remove_node", args{"nodeId": w("#risks")})
	require.NotContains(t, p.file(t, "projects/website.md"), "Risks")
}

// TestRemovedTwin checks that references to a removed section with the heading of another one, which
// gets its address, are reported as redirected, those to the other one are rewritten, and only those
// that lead to nothing are dangling.
func TestRemovedTwin(t *testing.T) {
	for _, dry := range []bool{true, false} {
		p := open(t, map[string]string{
			"a.md": "[[#ideas]]\n\n## Ideas\n\none\n\n### Sub\n\n## Ideas\n\ntwo [[#ideas]]\n",
			"b.md": "[[a#ideas]] [[a#ideas-2]]\n\n## Part\n\n[[a#sub]]\n", "x/c.md": "c\n", "y/c.md": "c\n", "x/d.md": "[[c]] [[x/c]]\n",
		})
		answer := p.write(t, "remove_node", args{"nodeId": "a#ideas", "dryRun": dry})
		require.Equal(t, args{"a#ideas-2": "a#ideas"}, answer["idMap"])
		require.Equal(t, []any{"b#part"}, answer["danglingRefs"])
		require.Equal(t, []any{"a", "a#ideas", "b"}, answer["redirectedRefs"])
		answer = p.write(t, "remove_node", args{"nodeId": "x/c", "dryRun": dry})
		require.Equal(t, []any{"x/d"}, answer["danglingRefs"])
		require.Equal(t, []any{"x/d"}, answer["redirectedRefs"])
		if !dry {
			require.Equal(t, "[[a#ideas]] [[a#ideas]]\n\n## Part\n\n[[a#sub]]\n", p.file(t, "b.md"))
		}
	}
}

// TestDuplicateHeadings covers C10 17: texts change places, and uids stay with them.
func TestDuplicateHeadings(t *testing.T) {
	p := open(t, map[string]string{"a.md": "## Ideas\n\none [[#ideas-2]]\n\n## Ideas\n\ntwo\n", "b.md": "[[a#ideas]] [[a#ideas-2]]\n"})
	uid := p.data(t, "get_node", args{"nodeId": "a#ideas-2"})["node"].(args)["uid"]
	answer := p.write(t, "move_before", args{"nodeId": "a#ideas-2", "siblingId": "a#ideas"})
	require.Equal(t, args{"a#ideas": "a#ideas-2", "a#ideas-2": "a#ideas"}, answer["idMap"])
	require.Equal(t, uid, p.data(t, "get_node", args{"nodeId": "a#ideas"})["node"].(args)["uid"])
	require.Equal(t, "## Ideas\n\ntwo\n\n## Ideas\n\none [[#ideas]]\n", p.file(t, "a.md"))
	require.Equal(t, "[[a#ideas-2]] [[a#ideas]]\n", p.file(t, "b.md"))
}

// TestSectionsTakeTheirReferencesAlong covers that what is in a section that moves leads where it led.
func TestSectionsTakeTheirReferencesAlong(t *testing.T) {
	p := open(t, map[string]string{
		"x/a.md": "# A\n\n## One\n\n[[#two]] [here](#two) [[./b]] ![p](pic.png) [[#one]] [[#^k]] [d][d]\n\nk ^k\n\n## Two\n\n[[#one]] [[#^k]]\n\n[d]: pic.png\n",
		"x/b.md": "# B\n", "y/c.md": "# C\n",
	})
	answer := p.write(t, "move_node", args{"nodeId": "x/a#one", "newParentId": "y/c"})
	require.Equal(t, "# C\n\n## One\n\n[[x/a#two]] [here](/x/a.md#two) [[x/b]] ![p](../x/pic.png) [[#one]] [[#^k]] [d][d]\n\nk ^k\n\n[d]: pic.png\n", p.file(t, "y/c.md"))
	require.Equal(t, "# A\n\n## Two\n\n[[y/c#one]] [[y/c#^k]]\n\n[d]: pic.png\n", p.file(t, "x/a.md"))
	require.EqualValues(t, 6, answer["refsUpdated"])
}

// TestCopiesLeadIntoThemselves covers that links of a copy to what is copied too lead into the copy, and others stay.
func TestCopiesLeadIntoThemselves(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "# A\n\n## One\n\n[[#sub]] [[a#two]]\n\n### Sub\n\n[[a#one]]\n\n## Two\n\n[[#one]]\n", "b.md": "# B\n",
	})
	answer := p.write(t, "copy_subtree", args{"sourceId": "a#one", "targetParentId": "b"})
	require.Equal(t, []any{"b#one", "b#sub"}, answer["created"])
	require.Equal(t, "# B\n\n## One\n\n[[#sub]] [[a#two]]\n\n### Sub\n\n[[b#one]]\n", p.file(t, "b.md"))
	answer = p.write(t, "copy_subtree", args{"sourceId": "a#one", "targetParentId": "a"})
	require.Equal(t, []any{"a#one-2", "a#sub-2"}, answer["created"])
	require.Contains(t, p.file(t, "a.md"), "## Two\n\n[[#one]]\n\n## One\n\n[[#sub-2]] [[a#two]]\n\n### Sub\n\n[[a#one-2]]\n")
}

// TestSortedChildren covers C10 18 and B8 51.
func TestSortedChildren(t *testing.T) {
	text := "## A\n::section(severity=3)\n\n## B\n::section(severity=1)\n\n## C\n\n## D\n::section(severity=1)\n"
	p := open(t, map[string]string{"n.md": text, "f/b.md": "---\nrank: 10\n---\n", "f/a.md": "x\n", "f/c.md": "---\nrank: 9\n---\n", "f/g/x.md": "---\nrank: 1\n---\n"})
	sorted := func(in args) string {
		return strings.Join(texts(p.write(t, "sort_children", in)["order"]), " ")
	}
	require.Equal(t, "n#b n#d n#a n#c", sorted(args{"parentId": "n", "byProp": "severity"}))
	require.Equal(t, "n#a n#b n#d n#c", sorted(args{"parentId": "n", "byProp": "severity", "direction": "desc"}))
	was := p.token(t)
	require.Equal(t, "n#a n#b n#d n#c", sorted(args{"parentId": "n", "byProp": "severity", "direction": "desc"}))
	require.Equal(t, was, p.token(t), "an order that is so already is no version")
	p.write(t, "move_after", args{"nodeId": "n#b", "siblingId": "n#d"})
	require.Equal(t, "n#d n#b n#a n#c", sorted(args{"parentId": "n", "byProp": "severity"}))
	require.Equal(t, "n#b n#d n#a n#c", sorted(args{"parentId": "n", "byProp": "severity", "stable": false}))
	require.Equal(t, "f/c f/b f/g/ f/a", sorted(args{"parentId": "f/", "byProp": "rank"}))
	require.Equal(t, "---\norder:\n  - c\n  - b\n  - g/\n  - a\n---\n", p.file(t, "f/_folder.md"))
	require.Equal(t, "f/c f/b f/g/ f/a", ids(p.data(t, "list_children", args{"nodeId": "f/"})))
}

// texts are the elements of a list.
func texts(v any) (all []string) {
	for _, e := range v.([]any) {
		all = append(all, fmt.Sprint(e))
	}
	return all
}

// TestOrdersFollow covers that orders of folders keep up with notes that come and go.
func TestOrdersFollow(t *testing.T) {
	p := open(t, map[string]string{
		"a/_folder.md": "---\norder: [y, x]\n---\n", "a/x.md": "", "a/y.md": "", "b/_folder.md": "---\norder: [z]\n---\n", "b/z.md": "", "b/q.md": "",
	})
	p.write(t, "move_node", args{"nodeId": "a/y", "newParentId": "b/"})
	require.Equal(t, "---\norder: [x]\n---\n", p.file(t, "a/_folder.md"))
	require.Equal(t, "b/z b/q b/y", ids(p.data(t, "list_children", args{"nodeId": "b/"})))
	p.write(t, "add_child", args{"parentNodeId": "b/", "payloadType": "page", "payloadProps": args{"title": "New"}, "position": 0})
	require.Equal(t, "b/new b/z b/q b/y", ids(p.data(t, "list_children", args{"nodeId": "b/"})))
}

// TestRemovedFolders covers remove_node of a folder, and the trash.
func TestRemovedFolders(t *testing.T) {
	files := maps.Clone(website)
	files["projects/_folder.md"] = "---\ntitle: Ours\n---\n"
	files["people/alice.md"] += "[[projects/website#r]]\n"
	p := open(t, files)
	answer := p.write(t, "remove_node", args{"nodeId": "projects/", "recursive": true})
	require.Equal(t, 7.0, answer["removedTotal"])
	require.Equal(t, []any{"people/alice"}, answer["danglingRefs"])
	require.Len(t, answer["trashPaths"], 3)
	require.Equal(t, fault.NotFound, p.refused(t, "get_node", args{"nodeId": "projects/"}).Code)
	require.Equal(t, fault.NotFound, p.refused(t, "remove_node", p.with(t, args{"nodeId": "projects/"})).Code)
}

// TestTaken covers what has a name already, whatever its case.
func TestTaken(t *testing.T) {
	p := open(t, map[string]string{"a/x.md": "", "b/X.md": "", "b/c/y.md": "", "C/z.md": ""})
	for name, in := range map[string]args{
		"move_node": {"nodeId": "a/x", "newParentId": "b/"},
		"add_child": {"parentNodeId": "a/", "payloadType": "page", "payloadProps": args{"title": "X"}},
	} {
		f := p.refused(t, name, p.with(t, in))
		require.Equal(t, fault.DuplicateID, f.Code, name)
		require.NotEmpty(t, f.Details["id"])
	}
	f := p.refused(t, "move_node", p.with(t, args{"nodeId": "b/c/", "newParentId": "/"}))
	require.Equal(t, fault.DuplicateID, f.Code, "a folder")
}

// TestTooMuch covers the limits of moves and copies.
func TestTooMuch(t *testing.T) {
	p := open(t, map[string]string{"a.md": "# A\n\n## S\n" + strings.Repeat("\n### T\n", 1000), "b.md": ""})
	for name, in := range map[string]args{
		"move_node": {"nodeId": "a#s", "newParentId": "b"}, "copy_subtree": {"sourceId": "a#s", "targetParentId": "b"},
	} {
		f := p.refused(t, name, p.with(t, in))
		require.Equal(t, fault.BatchTooLarge, f.Code, name)
		require.Equal(t, 1000, f.Details["max"])
		require.NotEmpty(t, f.Fixes)
	}
	p.write(t, "clone_node", args{"nodeId": "a#s", "targetParentId": "b"})
	require.Equal(t, "## S\n", p.file(t, "b.md"))
}

// structures are calls of the tools that change the structure, on the notes of website.
var structures = map[string]args{
	"add_child":     {"parentNodeId": w("#goals"), "payloadType": "section", "payloadProps": args{"title": "New"}},
	"remove_node":   {"nodeId": w("#q1")},
	"move_node":     {"nodeId": w("#q1"), "newParentId": w("")},
	"move_before":   {"nodeId": w("#notes"), "siblingId": w("#goals")},
	"move_after":    {"nodeId": w("#goals"), "siblingId": w("#notes")},
	"sort_children": {"parentId": w(""), "byProp": "title", "direction": "desc"},
	"copy_subtree":  {"sourceId": w("#goals"), "targetParentId": w("")},
	"clone_node":    {"nodeId": w("#goals"), "targetParentId": w("")},
}

// TestMannersOfStructure is TestManners for the tools that change the structure.
func TestMannersOfStructure(t *testing.T) {
	for name, in := range structures {
		p := open(t, website)
		latest := p.token(t)
		with := func(more args) args {
			all := maps.Clone(in)
			maps.Copy(all, more)
			return all
		}
		for _, token := range []string{"", "v999", "999"} {
			f := p.refused(t, name, with(args{"versionToken": token}))
			require.Equal(t, fault.Conflict, f.Code, "%s %q", name, token)
			require.Equal(t, latest, f.Details["latestVersion"])
		}
		dry := p.data(t, name, with(args{"versionToken": latest, "dryRun": true}))
		require.Equal(t, true, dry["dry_run"], name)
		require.Equal(t, w("")+".md", dry["would_modify_files"].([]any)[0].(args)["path"], name)
		require.Equal(t, website, p.files(t), name)
		p.write(t, "tag_node", args{"nodeId": "people/alice", "tags": []string{"x"}}) // another note
		keyed := with(args{"versionToken": latest, "idempotencyKey": "k"})
		first := p.data(t, name, keyed)
		require.Equal(t, dry["nodeId"], first["nodeId"], name)
		require.Equal(t, first, p.data(t, name, keyed), "%s is replayed", name)
		require.Equal(t, first["versionToken"], p.token(t), "%s is one version", name)
		f := p.refused(t, "tag_node", args{"nodeId": w(""), "tags": []string{"y"}, "versionToken": latest})
		require.Equal(t, w(""), f.Details["changed"], name)
		f = p.refused(t, "add_child", args{"parentNodeId": w(""), "payloadType": "section", "payloadProps": args{"title": "Y"}, "versionToken": latest})
		require.Equal(t, fault.Conflict, f.Code, name)
	}
}

// TestWhatMovesIsCovered covers the tokens of moves between folders: those of both folders and of the note, and none of
// notes that only refer to it.
func TestWhatMovesIsCovered(t *testing.T) {
	for change, stale := range map[string]bool{"projects/website": true, "projects/api": false, "people/new": true, "projects/new": true, "daily/new": false} {
		p := open(t, website)
		token := p.token(t)
		if id, fresh := strings.CutSuffix(change, "/new"); fresh {
			p.write(t, "add_child", args{"parentNodeId": id + "/", "payloadType": "page", "payloadProps": args{"title": "New"}})
		} else {
			p.write(t, "tag_node", args{"nodeId": change, "tags": []string{"x"}})
		}
		answer, err := p.call(t, "move_node", args{"nodeId": w(""), "newParentId": "people/", "versionToken": token})
		require.Equal(t, stale, err != nil, "%s: %v", change, answer)
	}
}

// TestTitlesThatAppear covers that a section which is the only one of level 1 that is left is the title of its note.
func TestTitlesThatAppear(t *testing.T) {
	p := open(t, map[string]string{"a.md": "# One\n\none\n\n## Sub\n\n# Two\n\ntwo\n", "b.md": "[[a#one]] [[a#sub]] [[a#two]]\n"})
	sub := p.data(t, "get_node", args{"nodeId": "a#sub"})["node"].(args)["uid"]
	two := p.data(t, "get_node", args{"nodeId": "a#two"})["node"].(args)["uid"]
	answer := p.write(t, "move_node", args{"nodeId": "a#two", "newParentId": "a#sub"})
	require.Equal(t, "# One\n\none\n\n## Sub\n\n### Two\n\ntwo\n", p.file(t, "a.md"))
	require.Equal(t, args{"a#one": "a"}, answer["idMap"])
	require.Equal(t, "[[a#one]] [[a#sub]] [[a#two]]\n", p.file(t, "b.md"))
	require.Equal(t, "a#sub", p.data(t, "get_node", args{"nodeId": sub})["node"].(args)["nodeId"])
	require.Equal(t, "a#two", p.data(t, "get_node", args{"nodeId": two})["node"].(args)["nodeId"])
}

// TestRootHasAnOrder covers the order of the vault itself, and that a folder that moves with its file keeps its uid.
func TestRootHasAnOrder(t *testing.T) {
	p := open(t, map[string]string{"a.md": "", "b.md": "", "f/_folder.md": "---\ntitle: F\n---\n", "f/x.md": "", "g/y.md": ""})
	p.write(t, "move_before", args{"nodeId": "b", "siblingId": "f/"})
	require.Equal(t, "b f/ g/ a", ids(p.data(t, "list_children", args{"nodeId": "/"})))
	require.Equal(t, "---\norder:\n  - b\n  - f/\n  - g/\n  - a\n---\n", p.file(t, "_folder.md"))
	uid := p.data(t, "get_node", args{"nodeId": "f/"})["node"].(args)["uid"]
	answer := p.write(t, "move_node", args{"nodeId": "f/", "newParentId": "g/"})
	require.Equal(t, "g/f/", answer["nodeId"])
	require.Equal(t, uid, p.data(t, "get_node", args{"nodeId": "g/f/"})["node"].(args)["uid"])
	require.Equal(t, "---\norder:\n  - b\n  - g/\n  - a\n---\n", p.file(t, "_folder.md"))
	p.write(t, "move_node", args{"nodeId": "g/f/x", "newParentId": "/"})
	require.Equal(t, "b g/ a x", ids(p.data(t, "list_children", args{"nodeId": "/"})))
}

package tree_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repotest"
)

// ways are the six ways to merge.
func ways(do func(strategy, by string)) {
	for _, strategy := range []string{"upsert", "replace", "skip"} {
		for _, by := range []string{"nodeId", "path"} {
			do(strategy, by)
		}
	}
}

// exported is the export of a node.
func (p *place) exported(t testing.TB, id string) args {
	t.Helper()
	return p.data(t, "export_subtree", args{"nodeId": id})["json"].(args)
}

// merge merges a JSON.
func (p *place) merge(t testing.TB, root any, more args) args {
	t.Helper()
	in := p.with(t, args{"json": root})
	maps.Copy(in, more)
	return p.data(t, "import_merge", in)
}

// counts are what became of the nodes of a merge.
func counts(answer args) string {
	var all []string
	for _, name := range []string{"created", "updated", "replaced", "skipped", "unchanged", "removed"} {
		if n := answer[name].(float64); n > 0 {
			all = append(all, fmt.Sprint(name, " ", n))
		}
	}
	return strings.Join(all, ", ")
}

// TestOwnExportsChangeNothing covers C8.7: an export that is merged back is no change, whatever strategy and match.
func TestOwnExportsChangeNothing(t *testing.T) {
	files := maps.Clone(awkward)
	maps.Copy(files, website)
	maps.Copy(files, map[string]string{
		"b/odd.md":   "---\nempty:\nnested: {a: {b: [1, 2]}}\nwhen: 2026-01-02\nbig: 1.50\nyes: true\ntags: one, two\n---\ntext before\n\n# A\n\n# B\n\nB\n===\n\n- # in a list\n\n## C\n",
		"b/crlf.md":  "---\r\na: 1\r\n---\r\n\r\n# T\r\n\r\nx\r\n\r\n## S\r\n::section(a=1, tags=[x])\r\n\r\ny\r\nz\r\n",
		"b/plain.md": "no head", "c/ideas.md": "# Ideas\n\n## Ideas\n\n## Ideas\n\n#### Deep\n\n[^1]: note\n",
		"d/e/f/_folder.md": "---\ntype: project\n---\n",
	})
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		all := maps.Clone(files)
		for path, text := range grow(rand.New(rand.NewPCG(seed, 27))).writeAll() {
			all["grown/"+path] = text
		}
		delete(all, "grown/_folder.md")
		p := open(t, all)
		before := p.files(t)
		for _, id := range []string{"/", "a/", "b/odd", "projects/website", w("#goals"), "grown/a/"} {
			root := p.exported(t, id)
			ways(func(strategy, by string) {
				answer := p.merge(t, root, args{"strategy": strategy, "matchBy": by})
				require.Equal(t, args{}, answer["idMap"], "%s %s %s", id, strategy, by)
				require.Regexp(t, "^(unchanged|skipped) [0-9]+$", counts(answer), "%s %s %s: %v", id, strategy, by, answer)
				require.Empty(t, answer["nodes"], "%s %s %s", id, strategy, by)
				require.Equal(t, "v2", p.token(t), "%s %s %s", id, strategy, by)
			})
		}
		require.Equal(t, before, p.files(t))
	})
}

// TestMergeIntoAnotherVault covers that what is made has the nodes of the export.
func TestMergeIntoAnotherVault(t *testing.T) {
	p := open(t, website)
	root := p.exported(t, "projects/")
	q := open(t, map[string]string{"schema.yaml": website["schema.yaml"]})
	answer := q.merge(t, root, nil)
	require.Equal(t, "created 7", counts(answer))
	require.Equal(t, args{"projects/website#r": "projects/website#risks"}, answer["idMap"])
	require.Equal(t, "---\ntype: project\n---\n\n# Website\n\nIntro.\n\n## Goals\n\nG text.\n\n### Q1\n\nq1 text\n\n## Risks\n::risk(severity=2)\n\nR text.\n\n"+
		"## Notes\n\n```\n## not a heading\n```\n", q.file(t, "projects/website.md"))
	require.Equal(t, "---\ntype: project\nstatus: paused\n---\n\nUses [[projects/website#goals]].\n", q.file(t, "projects/api.md"))
	ways(func(strategy, by string) {
		require.NotContains(t, counts(q.merge(t, q.exported(t, "projects/"), args{"strategy": strategy, "matchBy": by})), "created")
	})
	goals := p.exported(t, w("#goals"))
	answer = p.merge(t, goals, args{"targetId": "daily/2025-02-01"})
	require.Equal(t, args{w("#goals"): "daily/2025-02-01#goals", w("#q1"): "daily/2025-02-01#q1"}, answer["idMap"])
	require.Equal(t, "A day.\n\n## Goals\n\nG text.\n\n### Q1\n\nq1 text\n", p.file(t, "daily/2025-02-01.md"))
	require.Equal(t, "unchanged 2", counts(p.merge(t, goals, args{"targetId": "daily/2025-02-01", "matchBy": "path"})))
}

// TestMergeByPathTwice covers that sections match by their headings where their slugs have other
// numbers, and where a declared id was not kept, so that a repeated merge creates nothing.
func TestMergeByPathTwice(t *testing.T) {
	p := open(t, website)
	p.put(t, map[string]string{"n.md": "# N\n\n## A\n\n### Notes\n\n1\n\n### Notes\n\n2\n\n## B\n\n### Notes\n\n3\n"})
	root := p.exported(t, "/")
	for _, strategy := range []string{"upsert", "replace", "skip"} {
		q := open(t, map[string]string{"schema.yaml": website["schema.yaml"], "n.md": "# N\n\n## B\n\n### Notes\n\nx\n"})
		was := q.allUIDs(t)["n#notes"]
		q.merge(t, root, args{"strategy": strategy, "matchBy": "path"})
		node := q.data(t, "get_node", args{"nodeId": was})["node"].(args)
		require.Equal(t, "Notes", node["title"])
		require.Equal(t, map[string]string{"upsert": "3", "replace": "3", "skip": "x"}[strategy], node["body"], strategy)
		files := q.files(t)
		again := q.merge(t, root, args{"strategy": strategy, "matchBy": "path"})
		require.Regexp(t, "^(unchanged|skipped) [0-9]+$", counts(again), strategy)
		require.Equal(t, files, q.files(t), strategy)
	}
}

// TestMergedTitles covers that a created note has the title of the export, also if a heading could not be its title.
func TestMergedTitles(t *testing.T) {
	p := open(t, map[string]string{
		"field.md": "---\ntitle: Zed\n---\n\ntext\n", "quote.md": "---\ntitle: Zed\n---\n\n> # in a quote\n\n## A\n",
		"first.md": "## A\n\na\n",
	})
	root := p.exported(t, "/")
	q := open(t, nil)
	q.merge(t, root, nil)
	require.Equal(t, "# Zed\n\ntext\n", q.file(t, "field.md"))
	require.Equal(t, "---\ntitle: Zed\n---\n\n> # in a quote\n\n## A\n", q.file(t, "quote.md"))
	require.Equal(t, "## A\n\na\n", q.file(t, "first.md"))
	require.Regexp(t, "^unchanged [0-9]+$", counts(q.merge(t, root, args{"matchBy": "path", "strategy": "replace"})))
}

// changedExport is the export of the website with other texts and nodes.
func changedExport(t *testing.T, p *place) args {
	root := p.exported(t, w(""))
	children := root["children"].([]any)
	goals, risks, notes := children[0].(args), children[1].(args), children[2].(args)
	goals["body"], goals["title"] = "Other.", "Aims"
	goals["children"] = []any{args{"nodeId": w("#q2"), "kind": "section", "title": "Q2", "body": "two", "payload": args{"n": 1}, "children": []any{}}}
	risks["payload"] = args{"severity": 3}
	root["children"] = []any{notes, risks, goals}
	root["payload"] = args{"status": "active"}
	return root
}

// TestStrategies covers the table of C8.7.
func TestStrategies(t *testing.T) {
	head := "---\ntype: project\nstatus: active\n---\n\n# Website\n\nIntro.\n"
	q1, q2 := "\n### Q1\n\nq1 text\n", "\n### Q2\n::section(n=1)\n\ntwo\n"
	notes := "\n## Notes\n\n```\n## not a heading\n```\n"
	for strategy, want := range map[string]string{
		"upsert":  head + "\n## Aims\n\nOther.\n" + q1 + q2 + "\n## Risks\n::risk(id=r, severity=3)\n\nR text.\n" + notes,
		"replace": head + notes + "\n## Risks\n::risk(id=r, severity=3)\n\nR text.\n\n## Aims\n\nOther.\n" + q2,
		"skip": "---\ntype: project\n---\n\n# Website\n\nIntro.\n\n## Goals\n\nG text.\n" + q1 + q2 +
			"\n## Risks\n::risk(id=r, severity=2)\n\nR text.\n" + notes,
	} {
		for _, by := range []string{"nodeId", "path"} {
			t.Run(strategy+" "+by, func(t *testing.T) {
				p := open(t, website)
				uids, root := p.allUIDs(t), changedExport(t, p)
				before := p.files(t)
				tried := p.merge(t, root, args{"strategy": strategy, "matchBy": by, "dryRun": true})
				require.Equal(t, before, p.files(t))
				require.NotEmpty(t, tried["would_modify_files"])
				answer := p.merge(t, root, args{"strategy": strategy, "matchBy": by})
				require.Equal(t, counts(tried), counts(answer))
				require.Equal(t, want, p.file(t, "projects/website.md"))
				now := p.allUIDs(t)
				require.Equal(t, uids[w("#r")], now[w("#r")])
				require.Equal(t, uids[w("#notes")], now[w("#notes")])
				switch strategy {
				case "upsert":
					require.Equal(t, "created 1, updated 3, unchanged 1", counts(answer))
				case "replace":
					require.Equal(t, "created 1, replaced 3, unchanged 1, removed 1", counts(answer))
					require.Equal(t, map[string]bool{".trash/projects/website/q1.md": true}, p.trash(t))
				case "skip":
					require.Equal(t, "created 1, skipped 4", counts(answer))
					require.Equal(t, uids[w("#goals")], now[w("#goals")])
					return
				}
				require.Equal(t, uids[w("#goals")], now[w("#aims")])
				require.Equal(t, w("#aims"), answer["idMap"].(args)[w("#goals")])
				require.Contains(t, p.file(t, "projects/api.md"), "[[projects/website#aims]]")
			})
		}
	}
}

// TestReplaceOfFolders covers what the strategy replace does to notes and folders: it removes, makes, and orders them.
func TestReplaceOfFolders(t *testing.T) {
	p := open(t, map[string]string{"a/one.md": "1\n", "a/two.md": "2\n", "a/sub/three.md": "3\n", "a/sub/four.md": "4\n", "a/sub/_folder.md": "---\ntitle: Sub\n---\n", "b.md": "b\n"})
	root := p.exported(t, "a/")
	children := root["children"].([]any) // sub/, one, two
	root["children"] = []any{children[2], args{"nodeId": "a/new", "title": "New", "body": "n"}, children[1], args{"nodeId": "a/more/", "children": []any{args{"nodeId": "a/more/x"}}}}
	answer := p.merge(t, root, args{"strategy": "replace"})
	require.Equal(t, "created 3, unchanged 3, removed 1", counts(answer))
	require.Equal(t, map[string]string{
		"a/_folder.md": "---\norder:\n  - two\n  - new\n  - one\n  - more/\n---\n", "a/two.md": "2\n", "a/new.md": "# New\n\nn\n", "a/one.md": "1\n",
		"a/more/x.md": "", "b.md": "b\n",
	}, p.tracked(t))
	require.Equal(t, map[string]bool{".trash/a/sub/_folder.md": true, ".trash/a/sub/four.md": true, ".trash/a/sub/three.md": true}, p.trash(t))
	require.Equal(t, "a/two a/new a/one a/more/", ids(p.data(t, "list_children", args{"nodeId": "a/"})))
}

// TestMergesAreRefused covers that all nodes are checked before one is written, and what is wrong with each.
func TestMergesAreRefused(t *testing.T) {
	p := open(t, website)
	before := p.files(t)
	section := func(id string, more args) args {
		n := args{"nodeId": w("#" + id), "title": id}
		maps.Copy(n, more)
		return n
	}
	for name, c := range map[string]struct {
		json   any
		reason string
	}{
		"no JSON":        {"x", "json"},
		"null":           {nil, ""},
		"no id":          {args{"title": "x"}, "missing_node_id"},
		"another kind":   {args{"nodeId": "people/", "kind": "note"}, "kind_mismatch"},
		"wrong place":    {args{"nodeId": w(""), "children": []any{args{"nodeId": "people/bob"}}}, "kind_mismatch"},
		"no parent":      {args{"nodeId": "nowhere#x", "title": "x"}, "kind_mismatch"},
		"heading":        {args{"nodeId": w(""), "body": "## x"}, "body_escapes_section"},
		"new heading":    {args{"nodeId": w(""), "children": []any{section("x", args{"body": "a\n\n# x"})}}, "body_escapes_section"},
		"open fence":     {args{"nodeId": w(""), "children": []any{section("x", args{"body": "```\nx"})}}, "malformed_markdown"},
		"unknown type":   {args{"nodeId": w(""), "children": []any{section("x", args{"payloadType": "nope"})}}, "unknown_payload_type"},
		"unknown field":  {args{"nodeId": w("#r"), "payload": args{"severity": 2, "odd": 1}}, "unknown_field"},
		"another value":  {args{"nodeId": w("#r"), "payload": args{"severity": "high"}}, "type_mismatch"},
		"internal":       {args{"nodeId": w("#r"), "payload": args{"severity": 2, "uid": "x"}}, "internal_property"},
		"another type":   {args{"nodeId": w("#r"), "payloadType": "section"}, "kind_mismatch"},
		"without a name": {args{"nodeId": "people/bob", "payloadType": "person", "title": "x", "payload": args{"odd": 1}}, "unknown_field"},
		"markup":         {args{"nodeId": w(""), "children": []any{section("x", args{"title": "a `b`"})}}, "type_mismatch"},
	} {
		f := p.refused(t, "import_merge", p.with(t, args{"json": c.json}))
		require.Equal(t, "invalid_argument", string(f.Status()), name)
		if c.reason != "" {
			require.Equal(t, c.reason, f.Details["reason"], "%s: %v", name, f)
		}
	}
	f := p.refused(t, "import_merge", p.with(t, args{"json": args{"nodeId": w(""), "body": "# x", "children": []any{section("r", args{"payload": args{"odd": 1}})}}}))
	require.Len(t, f.Errors, 2)
	deep := args{"nodeId": w("#a"), "title": "a"}
	for range 6 {
		deep = args{"nodeId": w("#a"), "title": "a", "children": []any{deep}}
	}
	f = p.refused(t, "import_merge", p.with(t, args{"json": args{"nodeId": w(""), "children": []any{deep}}, "matchBy": "path"}))
	require.Equal(t, "heading_depth_exceeded", f.Details["reason"])
	token := p.token(t)
	require.Equal(t, before, p.files(t))
	p.write(t, "tag_node", args{"nodeId": "people/alice", "tags": []string{"x"}})
	p.put(t, map[string]string{"at-the-top.md": "x\n"})
	sound := args{"nodeId": w(""), "body": "x"}
	p.data(t, "import_merge", args{"json": sound, "versionToken": token})
	for _, old := range []string{"", token, "v99"} {
		require.Equal(t, "conflict", string(p.refused(t, "import_merge", args{"json": sound, "versionToken": old}).Status()), old)
	}
	require.Equal(t, "conflict", string(p.refused(t, "import_merge", args{"json": args{"nodeId": "new", "title": "x"}, "versionToken": token}).Status()))
}

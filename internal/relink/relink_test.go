package relink_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/relink"
)

// build returns the index of a vault: its texts by path.
func build(files map[string]string) *index.Index {
	c := index.Commit{Seq: 1}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		c.Changes = append(c.Changes, index.Change{Path: path, Text: []byte(files[path])})
	}
	return index.Empty().With(c)
}

// move moves notes of a vault and rewrites its references.
func move(files, ids map[string]string) (moved map[string]string, results map[string]relink.Result) {
	before, moved := build(files), map[string]string{}
	for path, text := range files {
		if to, ok := ids[strings.TrimSuffix(path, ".md")]; ok {
			path = to + ".md"
		}
		moved[path] = text
	}
	r := relink.New(before, build(moved), ids)
	results = map[string]relink.Result{}
	for _, id := range r.Sources() {
		res := r.Rewrite(id, []byte(moved[id+".md"]))
		moved[id+".md"], results[id] = string(res.Text), res
	}
	return moved, results
}

const schema = "types:\n  person: {name_field: name, fields: {name: string}}\n" +
	"  project: {fields: {lead: {type: ref, target: person}, team: {type: 'ref[]', target: person}}}\n" +
	"traits:\n  assignee: {type: ref}\n"

// TestMoveRewrites moves people/freya to staff/north/freya and reads what became of each way to refer to it.
func TestMoveRewrites(t *testing.T) {
	rows := []struct{ name, in, want string }{
		{"id", "[[people/freya]]", "[[staff/north/freya]]"},
		{"short name stays", "[[freya]] [[Freya]]", "[[freya]] [[Freya]]"},
		{"with ending", "[[people/freya.md]]", "[[staff/north/freya]]"},
		{"fragment and display", "[[people/freya#Log Book|the log]]", "[[staff/north/freya#Log Book|the log]]"},
		{"display in a table", "| a | [[people/freya\\|F]] |", "| a | [[staff/north/freya\\|F]] |"},
		{"embed", "![[people/freya]]", "![[staff/north/freya]]"},
		{"name field stays", "[[Freya Njord]]", "[[Freya Njord]]"},
		{"alias stays", "[[The Queen]]", "[[The Queen]]"},
		{"suffix", "[[/people/freya]]", "[[staff/north/freya]]"},
		{"missing fragment", "[[people/freya#nope]]", "[[staff/north/freya#nope]]"},
		{"block", "[[people/freya#^b1]]", "[[staff/north/freya#^b1]]"},
		{"markdown, relative", "[f](../people/freya.md#log-book)", "[f](../staff/north/freya.md#log-book)"},
		{"markdown, with a title", "[f](../people/freya.md \"T\")", "[f](../staff/north/freya.md \"T\")"},
		{"markdown, angle brackets", "[f](<../people/freya.md>)", "[f](<../staff/north/freya.md>)"},
		{"code", "`[[people/freya]]`", "`[[people/freya]]`"},
		{"another note", "[[people/bjorn]]", "[[people/bjorn]]"},
		{"nothing", "[[people/nobody]]", "[[people/nobody]]"},
		{"trait without brackets", "- @assignee(people/freya) Go", "- @assignee(staff/north/freya) Go"},
		{"trait with brackets", "- @assignee([[people/freya]]) Go", "- @assignee([[staff/north/freya]]) Go"},
		{"field", "---\ntype: project\nlead: people/freya # boss\n---\n",
			"---\ntype: project\nlead: staff/north/freya # boss\n---\n"},
		{"quoted field", "---\ntype: project\nlead: 'people/freya'\n---\n",
			"---\ntype: project\nlead: 'staff/north/freya'\n---\n"},
		{"field with brackets", "---\ntype: project\nlead: \"[[people/freya]]\"\n---\n",
			"---\ntype: project\nlead: \"[[staff/north/freya]]\"\n---\n"},
		{"list", "---\ntype: project\nteam:\n  - people/bjorn\n  - people/freya # x\n  - \"[[people/freya|F]]\"\n---\n",
			"---\ntype: project\nteam:\n  - people/bjorn\n  - staff/north/freya # x\n  - \"[[staff/north/freya|F]]\"\n---\n"},
		{"list in brackets", "---\ntype: project\nteam: [people/freya, people/freya-2]\n---\n",
			"---\ntype: project\nteam: [staff/north/freya, people/freya-2]\n---\n"},
		{"a field that is no reference", "---\nx: people/freya\n---\n", "---\nx: people/freya\n---\n"},
		{"declaration", "## P\n::project(lead=people/freya, team=[[[people/freya]], people/bjorn])\n",
			"## P\n::project(lead=staff/north/freya, team=[[[staff/north/freya]], people/bjorn])\n"},
		{"CRLF", "a [[people/freya]]\r\nb\r\n", "a [[staff/north/freya]]\r\nb\r\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{
				"schema.yaml":       schema,
				"people/freya.md":   "---\ntype: person\nname: Freya Njord\nalias: The Queen\n---\n## Log Book\nx ^b1\n",
				"people/freya-2.md": "", "people/bjorn.md": "", "notes/use.md": row.in,
			}
			moved, results := move(files, map[string]string{"people/freya": "staff/north/freya"})
			require.Equal(t, row.want, moved["notes/use.md"])
			require.Empty(t, results["notes/use"].Unwritable)
			require.Equal(t, row.in != row.want, results["notes/use"].Count > 0)
		})
	}
}

// TestMovedNote says what becomes of the references in the moved note itself.
func TestMovedNote(t *testing.T) {
	moved, _ := move(map[string]string{
		"a/x.md": "[[./y]] [[a/x]] [[#Part]] [p](pic.png) ![p](./img/p%201.png#f) [y](y.md) [u](http://a.test/b) [r](/top.png)\n## Part\n",
		"a/y.md": "[[x]] [[./x]]",
	}, map[string]string{"a/x": "b/c/x"})
	require.Equal(t, "[[a/y]] [[b/c/x]] [[#Part]] [p](../../a/pic.png) ![p](../../a/img/p%201.png#f) [y](../../a/y.md) "+
		"[u](http://a.test/b) [r](/top.png)\n## Part\n", moved["b/c/x.md"])
	require.Equal(t, "[[x]] [[b/c/x]]", moved["a/y.md"])
}

// TestRelativeLinks covers Markdown links by a relative path: they stay paths of their notes, also where the name of the
// note would do. Links from the root stay as they are.
func TestRelativeLinks(t *testing.T) {
	files := map[string]string{
		"a/x.md":   "[y](y.md) [p](y.md#part) [d](./y.md) [r](a/y.md) ![e](y.md) [z](../z.md)",
		"a/y.md":   "[x](x.md)\n## Part\n",
		"z.md":     "[x](a/x.md) [y](a/y.md#part)",
		"a/use.md": "[x](x.md#gone) [y](y.md) [[x]]",
	}
	moved, _ := move(files, map[string]string{"a/x": "b/c/x"})
	require.Equal(t, "[y](../../a/y.md) [p](../../a/y.md#part) [d](../../a/y.md) [r](a/y.md) ![e](../../a/y.md) [z](../../z.md)",
		moved["b/c/x.md"])
	require.Equal(t, "[x](../b/c/x.md)\n## Part\n", moved["a/y.md"])
	require.Equal(t, "[x](b/c/x.md) [y](a/y.md#part)", moved["z.md"])
	require.Equal(t, "[x](../b/c/x.md#gone) [y](y.md) [[x]]", moved["a/use.md"])

	other := map[string]string{"a/x.md": "[o](o.markdown) [p](../b/o.MD)", "a/o.markdown": "", "b/o.MD": ""}
	moved, results := move(other, map[string]string{"a/x": "c/x"})
	require.Equal(t, "[o](../a/o.markdown) [p](../b/o.MD)", moved["c/x.md"])
	require.Empty(t, results["c/x"].Unwritable)

	moved, _ = move(files, map[string]string{"a/x": "b/x", "a/y": "b/y"})
	require.Equal(t, strings.Replace(files["a/x.md"], "[r](a/y.md)", "[r](b/y.md)", 1), moved["b/x.md"], "both went to one folder")
	require.Equal(t, files["a/y.md"], moved["b/y.md"])
}

// TestNewNameIsAmbiguous says that references to another note of the new name are written as its id.
func TestNewNameIsAmbiguous(t *testing.T) {
	moved, results := move(map[string]string{
		"a/one.md": "", "b/two.md": "", "use.md": "[[two]] [[one]] [[three]]",
	}, map[string]string{"a/one": "c/two"})
	require.Equal(t, "[[b/two]] [[c/two]] [[three]]", moved["use.md"])
	require.Equal(t, 2, results["use"].Count)
}

// TestGained counts references that led nowhere and now lead to the moved note.
func TestGained(t *testing.T) {
	moved, results := move(map[string]string{"a.md": "", "use.md": "[[b]] [[c]]"}, map[string]string{"a": "b"})
	require.Equal(t, "[[b]] [[c]]", moved["use.md"])
	require.Equal(t, 1, results["use"].Gained)
}

// TestRenamedSection rewrites the references to a section, and no others.
func TestRenamedSection(t *testing.T) {
	before := map[string]string{
		"n.md":   "# N\n[[#Old]] [o](#old) [[#Other]]\n## Old\n## Other\n",
		"use.md": "[[n#old|x]] [[N#Old]] [o](n.md#old) [[n#other]]",
	}
	after := maps.Clone(before)
	after["n.md"] = strings.Replace(before["n.md"], "## Old", "## New Name", 1)
	r := relink.New(build(before), build(after), map[string]string{"n#old": "n#new-name"})
	require.Equal(t, []string{"n", "use"}, r.Sources())
	require.Equal(t, "# N\n[[#new-name]] [o](#new-name) [[#Other]]\n## New Name\n## Other\n",
		string(r.Rewrite("n", []byte(after["n.md"])).Text))
	require.Equal(t, "[[n#new-name|x]] [[N#new-name]] [o](n.md#new-name) [[n#other]]",
		string(r.Rewrite("use", []byte(after["use.md"])).Text))
}

// names collide in many ways: by case, by slug, as suffixes, as titles, aliases and fragments.
var names = []string{"a", "A", "b", "a b", "a-b", "Été", "été", "日本", "c", "2026-03-02"}

// drawVault draws a vault whose references are of all forms and lead to all kinds of things.
func drawVault(t *rapid.T) map[string]string {
	folder := rapid.SampledFrom([]string{"", "x/", "y/", "x/y/", "daily/"})
	name := rapid.SampledFrom(names)
	reference := rapid.Custom(func(t *rapid.T) string {
		target := rapid.SampledFrom([]string{"", "", "./", "../", "/", "x/", "y/", "x/y/"}).Draw(t, "at") + name.Draw(t, "to")
		part := rapid.SampledFrom([]string{"", "", "", "#part", "#Part Two", "#nope", "#^b"}).Draw(t, "part")
		switch rapid.IntRange(0, 6).Draw(t, "form") {
		case 0:
			return "![[" + target + part + "]]"
		case 1:
			return "[t](" + strings.ReplaceAll(target, " ", "%20") + ".md" + strings.ReplaceAll(part, " ", "%20") + ")"
		case 2:
			return "[t](<" + target + ".md" + part + ">)"
		case 3:
			return "[[" + target + part + "|shown]]"
		case 4:
			return "@assignee(" + target + ")"
		case 5:
			return "[[#" + strings.TrimPrefix(part, "#") + "]]"
		}
		return "[[" + target + part + "]]"
	})
	files := map[string]string{"schema.yaml": schema}
	for range rapid.IntRange(2, 7).Draw(t, "notes") {
		path := folder.Draw(t, "folder") + name.Draw(t, "name") + ".md"
		taken := slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(p string) bool { return strings.EqualFold(p, path) })
		if taken || strings.EqualFold(path, "daily/2026-03-02.md") {
			continue
		}
		var b strings.Builder
		if rapid.Bool().Draw(t, "head") {
			fmt.Fprintf(&b, "---\ntype: project\nlead: %s\nteam:\n  - %s # c\n  - \"[[%s]]\"\nalias: %s\n---\n",
				name.Draw(t, "lead"), "x/"+name.Draw(t, "member"), name.Draw(t, "other"), name.Draw(t, "alias"))
		}
		for range rapid.IntRange(0, 5).Draw(t, "refs") {
			b.WriteString("- " + reference.Draw(t, "ref") + "\n")
		}
		b.WriteString("\n## Part\ntext ^b\n\n## Part Two\n" + reference.Draw(t, "last") + "\n")
		files[path] = b.String()
	}
	if len(files) == 1 {
		t.Skip("no notes: each path was that of a daily note or taken")
	}
	return files
}

// leadsTo returns what each reference of a vault leads to, by the id of its note and its place among the
// references of that note.
func leadsTo(x *index.Index) map[string][]string {
	all := map[string][]string{}
	for n := range x.Notes("") {
		for _, ref := range n.Refs {
			to := x.From(n, ref.Target)
			all[n.ID] = append(all[n.ID], fmt.Sprint(to.ID, "|", to.FragmentMissing, to.Line > 0))
		}
		for t := range n.Traits() {
			if ref, ok := t.Value().(string); ok {
				all[n.ID] = append(all[n.ID], x.From(n, ref).ID+"|")
			}
		}
	}
	return all
}

// TestMoveKeepsWhatReferencesLeadTo is the invariant of reference/raven-rest.md §9: after a move each
// reference leads to what it led to before, by the new id of what moved; and a note changes only in its
// references.
func TestMoveKeepsWhatReferencesLeadTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawVault(t)
		before := build(files)
		var ids []string
		for n := range before.Notes("") {
			ids = append(ids, n.ID)
		}
		from := rapid.SampledFrom(ids).Draw(t, "from")
		to := rapid.SampledFrom([]string{"", "x/", "y/", "x/y/", "z/"}).Draw(t, "folder") + rapid.SampledFrom(append(names, "new")).Draw(t, "to")
		if other, taken := before.Folded(to + ".md"); taken && other != from+".md" || to == from {
			t.Skip("taken")
		}
		moved, results := move(files, map[string]string{from: to})
		r := relink.New(before, before, map[string]string{from: to})
		now := leadsTo(build(moved))
		for id, was := range leadsTo(before) {
			is := now[r.NewID(id)]
			require.Len(t, is, len(was), "%s\n%s", files[id+".md"], moved[r.NewID(id)+".md"])
			for i := range was {
				led, rest, _ := strings.Cut(was[i], "|")
				if led == "" {
					continue // it may lead somewhere now
				}
				want := r.NewID(led) + "|" + rest
				require.Equal(t, want, is[i], "%s: reference %d\n%s\n%s", id, i, files[id+".md"], moved[r.NewID(id)+".md"])
			}
			require.Empty(t, results[r.NewID(id)].Unwritable)
		}
	})
}

// TestRewritingFromTheIndex checks that a note whose text is not parsed is rewritten as one whose text
// is, after a move or the rename of a section.
func TestRewritingFromTheIndex(t *testing.T) {
	edited := 0
	rapid.Check(t, func(t *rapid.T) {
		files := drawVault(t)
		before, moved := build(files), maps.Clone(files)
		n := rapid.SampledFrom(slices.Collect(before.Notes(""))).Draw(t, "note")
		ids := map[string]string{n.ID: "z/new"}
		if rapid.Bool().Draw(t, "a section") {
			ids = map[string]string{n.ID + "#part": n.ID + "#piece"}
			moved[n.Path] = strings.Replace(files[n.Path], "## Part\n", "## Piece\n", 1)
		} else {
			moved["z/new.md"] = files[n.Path]
			delete(moved, n.Path)
		}
		r := relink.New(before, build(moved), ids)
		for _, id := range r.Sources() {
			want, quick := r.RewriteParsed(id, []byte(moved[id+".md"]))
			got := r.Rewrite(id, []byte(moved[id+".md"]))
			requireSameIndex(t, build(moved), id+".md", want, got)
			want.Parsed, got.Parsed = nil, nil // the forms of one note can differ until the schema is applied
			require.Equal(t, want, got, "%s\n%s", id, moved[id+".md"])
			if quick && want.Count > 0 {
				edited++
			}
		}
	})
	require.Positive(t, edited)
}

// requireSameIndex requires that a commit of two results for a note gives the same index.
func requireSameIndex(t require.TestingT, x *index.Index, path string, want, got relink.Result) {
	with := func(res relink.Result) []byte {
		return x.With(index.Commit{Seq: 2, Changes: []index.Change{
			{Path: path, Text: res.Text, Parsed: res.Parsed, Nodes: res.Nodes},
		}}).AppendImage(nil)
	}
	require.True(t, bytes.Equal(with(want), with(got)), "%q", want.Text)
}

// TestRewriteAll checks that RewriteAll gives the results of Rewrite, in the order of the notes.
func TestRewriteAll(t *testing.T) {
	files := map[string]string{"people/freya.md": "# The queen\n", "people/bjorn.md": ""}
	for i := range 100 {
		text := "Nothing.\n"
		if i%3 > 0 {
			text = strings.Repeat("See [[people/freya]] and [[people/bjorn]].\n\n", i%5+1)
		}
		files[fmt.Sprintf("notes/%03d.md", i)] = text
	}
	ids := map[string]string{"people/freya": "staff/freya"}
	moved := maps.Clone(files)
	moved["staff/freya.md"] = moved["people/freya.md"]
	delete(moved, "people/freya.md")
	before, after := build(files), build(moved)
	sources := relink.New(before, after, ids).Sources()
	var notes []relink.NoteText
	var want []relink.Result
	for _, id := range sources {
		notes = append(notes, relink.NoteText{ID: id, Text: []byte(moved[id+".md"])})
		want = append(want, relink.New(before, after, ids).Rewrite(id, []byte(moved[id+".md"])))
	}
	require.Greater(t, len(sources), 50)
	for _, ahead := range []int{1, 7, 1000} {
		var got []relink.Result
		for n, res := range relink.New(before, after, ids).RewriteAll(slices.Values(notes), ahead) {
			require.Equal(t, notes[len(got)], n)
			got = append(got, res)
		}
		require.Equal(t, want, got)
	}
	for range relink.New(before, after, ids).RewriteAll(slices.Values(notes[:0]), 1) {
		t.Fatal("no notes")
	}
}

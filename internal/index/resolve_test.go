package index_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// named is the vault of the table in reference/raven.md §1.9.
func named() *index.Index {
	return of([]string{
		"schema.yaml", "types: {person: {name_field: name, fields: {name: string}}, company: {}}\n",
		"person/freya.md", "---\ntype: person\nname: Freya Njord\nalias: The Queen\n---\n## Notes\n",
		"company/freya.md", "---\ntype: company\n---\n",
		"person/thor.md", "---\ntype: person\nname: Thor\n---\n",
		"solo.md", "# Solo\n\n## Tasks\n",
		"person/alias2.md", "---\ntype: person\nalias: solo\n---\n",
		"a/b/deep.md", "", "My Folder/Some File.md", "## Part One\n",
		"person/same1.md", "---\ntype: person\nname: Same Name\n---\n",
		"person/same2.md", "---\ntype: person\nname: Same Name\n---\n",
		"daily/2025-02-01.md", "# Saturday\n\n## Standup\n::meeting(id=standup)\n",
	})
}

// TestResolve is the table of reference/raven.md §1.9 by the tiers of raven-rest.md §25. `daily/YYYY-MM-DD`
// is the id, the bare date its alias.
func TestResolve(t *testing.T) {
	x := named()
	rows := []struct {
		ref, id, source string
		matches         []string
	}{
		{"person/freya", "person/freya", index.ByID, nil},
		{"/person/freya", "person/freya", index.ByID, nil},
		{"/freya", "", "", nil},
		{"person/thor.md", "person/thor", index.ByID, nil},
		{"person/Thor", "person/thor", index.ByPath, nil},
		{"freya", "", "", []string{"company/freya", "person/freya"}},
		{"Freya", "", "", []string{"company/freya", "person/freya"}},
		{"Freya Njord", "person/freya", index.ByName, nil},
		{"freya njord", "person/freya", index.ByName, nil},
		{"freya-njord", "person/freya", index.ByName, nil},
		{"The Queen", "person/freya", index.ByAlias, nil},
		{"the queen", "person/freya", index.ByAlias, nil},
		{"the-queen", "person/freya", index.ByAlias, nil},
		{"THOR", "person/thor", index.ByShort, nil},
		{"Thor", "person/thor", index.ByShort, nil},
		{"solo", "solo", index.ByID, nil}, // the alias is of a later tier
		{"solo#tasks", "solo#tasks", index.ByID, nil},
		{"solo#Tasks", "solo#tasks", index.ByID, nil},
		{"tasks", "", "", nil}, // a section is no name of a reference
		{"notes", "", "", nil},
		{"deep", "a/b/deep", index.ByShort, nil},
		{"b/deep", "a/b/deep", index.BySuffix, nil},
		{"/b/deep", "", "", nil},
		{"some-file", "My Folder/Some File", index.ByShort, nil},
		{"Some File", "My Folder/Some File", index.ByShort, nil},
		{"my-folder/some-file", "My Folder/Some File", index.ByPath, nil},
		{"/my-folder/some-file", "My Folder/Some File", index.ByPath, nil},
		{"Same Name", "", "", []string{"person/same1", "person/same2"}},
		{"2025-02-01", "daily/2025-02-01", index.ByDate, nil},
		{"daily/2025-02-01", "daily/2025-02-01", index.ByDate, nil},
		{"2025-02-01#standup", "daily/2025-02-01#standup", index.ByDate, nil},
		{"daily/2025-02-01#standup", "daily/2025-02-01#standup", index.ByDate, nil},
		{"2025-09-09", "daily/2025-09-09", index.ByDate, nil}, // no note
		{"daily/2025-09-09", "daily/2025-09-09", index.ByDate, nil},
		{"today", "", "", nil}, // a word of arguments only
		{"person/freya#nope", "person/freya", index.ByID, nil},
		{"wrong/freya", "", "", nil},
		{"#tasks", "", "", nil},
		{"./solo", "", "", nil},

		{"person/Freya Njord", "person/freya", index.ByName, nil},
		{"person/The Queen", "person/freya", index.ByAlias, nil},
		{"company/The Queen", "", "", nil},
		{"deep.md", "a/b/deep", index.ByShort, nil},
		{"b/deep.md#x", "a/b/deep", index.BySuffix, nil},
		{" solo.md#tasks ", "solo#tasks", index.ByID, nil},
		{"solo#solo", "solo", index.ByID, nil}, // its title
		{"My Folder/Some File#Part One", "My Folder/Some File#part-one", index.ByID, nil},
		{"Some File#PART ONE", "My Folder/Some File#part-one", index.ByShort, nil},
		{"standup", "daily/2025-02-01#standup", index.ByShort, nil}, // a declared object
		{"2025-02-30", "", "", nil},
		{"2025-02-01#nope", "daily/2025-02-01", index.ByDate, nil},
		{"2025-09-09#standup", "daily/2025-09-09", index.ByDate, nil},
		{"", "", "", nil},
		{".md", "", "", nil},
		{"/", "", "", nil},
		{"#", "", "", nil},
		{"solo#", "solo", index.ByID, nil},
	}
	for _, r := range rows {
		got := x.Resolve(r.ref)
		require.Equal(t, r.id, got.ID, "%q: %v", r.ref, got.Matches)
		require.Equal(t, r.matches, got.Matches, "%q", r.ref)
		if r.source != "" {
			require.Equal(t, r.source, got.Source, "%q", r.ref)
		}
		if _, exists := x.Find(r.id); exists {
			require.Equal(t, r.id, got.Object.ID(), "%q", r.ref)
		}
		missing := strings.Contains(r.ref, "#") && r.id != "" && !strings.Contains(r.id, "#") && r.ref != "solo#solo"
		require.Equal(t, missing, got.FragmentMissing, "%q", r.ref)
	}
}

// TestResolveTiers says which of two notes a reference leads to, and that its own note decides among
// those of one tier.
func TestResolveTiers(t *testing.T) {
	x := of([]string{
		"schema.yaml", "types: {person: {name_field: name, fields: {name: string}}}\n",
		"a/Note.md", "# Alpha\n## Part\n### Deep\n## Other\n### Deep\nx ^block\n[[#Other#Deep]] [[#^block]] [[#nope]]\n",
		"b/note.md", "---\ntitle: Beta\naliases: [Gamma, C#]\n---\n## `code` *x*\n",
		"b/use.md", "[[note]]",
		"c/use.md", "[[note]]",
		"c/sub/use.md", "[[../x]] [[./y]] [[../../top]]",
		"c/x.md", "", "c/sub/y.md", "", "top.md", "",
		"d/Gamma.md", "", "d/Alpha.md", "", "d/person.md", "---\ntype: person\nname: Beta\n---\n",
		"e/Ｗｉｄｅ.md", "", "e/日本語.md", "## 見出し\n", "e/ÉTÉ.md", "",
	})
	rows := []struct{ in, ref, id, source string }{
		{"", "Note", "a/Note", index.ByShort}, // as written before folded
		{"", "note", "b/note", index.ByShort},
		{"", "NOTE", "", ""},
		{"b/use.md", "NOTE", "b/note", index.ByShort}, // in its own folder
		{"a/Note.md", "NOTE", "a/Note", index.ByShort},
		{"c/use.md", "NOTE", "", ""},
		{"", "Alpha", "d/Alpha", index.ByShort}, // a file before a title
		{"", "Beta", "d/person", index.ByName},  // a name field before a title
		{"", "Gamma", "d/Gamma", index.ByShort}, // a file before an alias
		{"", "C#", "b/note", index.ByAlias},
		{"c/sub/use.md", "../x", "c/x", index.ByID},
		{"c/sub/use.md", "./y", "c/sub/y", index.ByID},
		{"c/sub/use.md", "../../top", "top", index.ByID},
		{"c/sub/use.md", "../../../top", "", ""},
		{"c/sub/use.md", "../nope", "", ""},
		{"a/Note.md", "#Other#Deep", "a/Note#deep-2", index.ByID},
		{"a/Note.md", "#Part#Deep", "a/Note#deep", index.ByID},
		{"", "Note#Other#Part", "a/Note", index.ByShort},
		{"", "note#code x", "b/note#code-x", index.ByShort},
		{"", "wide", "e/Ｗｉｄｅ", index.ByShort},
		{"", "日本語#見出し", "e/日本語#見出し", index.ByShort},
		{"", "été", "e/ÉTÉ", index.ByShort},
		{"", "e\u0301te\u0301", "e/ÉTÉ", index.ByShort},
	}
	for _, r := range rows {
		from, _ := x.Note(r.in)
		got := x.From(from, r.ref)
		require.Equal(t, r.id, got.ID, "%q in %q: %v", r.ref, r.in, got.Matches)
		if r.source != "" {
			require.Equal(t, r.source, got.Source, "%q", r.ref)
		}
	}
	require.False(t, x.Resolve("C#").FragmentMissing)
	block := x.From(note(t, x, "a/Note.md"), "#^block")
	require.Equal(t, []any{"a/Note", 6, false}, []any{block.ID, block.Line, block.FragmentMissing})
	require.True(t, x.Resolve("Note#^nope").FragmentMissing)
	require.Equal(t, []string{
		"a/Note#deep-2:7 #Other#Deep→a/Note#deep-2", "a/Note#deep-2:7 #^block→a/Note", "a/Note#deep-2:7 #nope→a/Note",
	}, links(x.Resolver().Backlinks("a/Note", index.Location{})))
	require.Equal(t, 3, x.Resolver().CountBacklinks("a/Note"))
	require.Equal(t, []string{"b/use:1 note→b/note", "c/use:1 note→b/note"},
		links(x.Resolver().Backlinks("b/note", index.Location{})))
	require.Equal(t, []string{"c/sub/use:1 ../x→c/x"}, links(x.Resolver().Backlinks("c/x", index.Location{})))
	require.Equal(t, 1, x.Resolver().CountBacklinks("c/x"))
}

// TestResolveEndsSomewhere says that a reference longer than any in a text leads nowhere, not even to
// the note whose path is what a slug keeps of it.
func TestResolveEndsSomewhere(t *testing.T) {
	long := strings.Repeat("x", 4096)
	x := of([]string{"named.md", "---\nalias: " + long + "\n---\n"})
	require.Equal(t, "named", x.Resolve(long).ID)
	x = of([]string{
		"named.md", "---\nalias: " + long + "x\n---\n", vault.SlugPath(long) + ".md", "",
	})
	require.Empty(t, x.Resolve(long+"x"))
}

// TestResolveDropsSectionsOfCandidates says that an object in a note is no candidate beside the note.
func TestResolveDropsSectionsOfCandidates(t *testing.T) {
	x := of([]string{
		"a.md", "---\nalias: The One\n---\n## S\n::meeting(id=s, alias=The One)\n",
		"b.md", "## S\n::meeting(id=t, alias=The One)\n",
	})
	require.Equal(t, []string{"a", "b#t"}, x.Resolve("The One").Matches)
	x = x.With(commit(2, "b.md", "-"))
	require.Equal(t, "a", x.Resolve("The One").ID)
}

func TestResolveArg(t *testing.T) {
	x := named()
	clock := vault.Clock{Now: time.Date(2025, 2, 1, 12, 0, 0, 0, time.UTC)}
	for arg, want := range map[string]string{
		"today": "daily/2025-02-01", "tomorrow": "daily/2025-02-02", "yesterday": "daily/2025-01-31",
		"[[person/thor]]": "person/thor", "[[person/thor|T]]": "person/thor", "solo#tasks": "solo#tasks",
		"2025-02-01": "daily/2025-02-01", "nope": "", "tasks": "solo#tasks", "Part One": "My Folder/Some File#part-one",
		"solo#nope": "",
	} {
		require.Equal(t, want, x.ResolveArg(arg, clock).ID, arg)
	}
	require.Equal(t, "daily/2025-02-01", x.ResolveArg("today", clock).Object.ID())
	moved := x.With(commit(2, "raven.yaml", "daily_directory: journal\n"))
	require.Equal(t, "journal/2025-02-01", moved.ResolveArg("today", clock).ID)
	require.Equal(t, "daily/2025-02-01", moved.Resolve("2025-02-01").ID, "a note before a day")
	require.Equal(t, index.BySection, x.ResolveArg("tasks", clock).Source)
	two := of([]string{"a.md", "## Same\n", "b.md", "## Same\n"})
	require.Equal(t, []string{"a#same", "b#same"}, two.ResolveArg("same", clock).Matches)
}

// TestBucketsHoldAllReferences says that however a reference is written, the object that it leads to
// has it among its backlinks.
func TestBucketsHoldAllReferences(t *testing.T) {
	schema := "types: {person: {fields: {name: string}}}\n"
	refs := []string{
		"C#", "c", "A#B", "a-b", "x/A#B", "tcp/ip", "TCP/IP", "Über Café", "uber-cafe", "日本", "日本 語",
		"ri-ben", "k#日本-語", "dir/k", "K", "k", "!!!", "a.md", "Ärger.md", "dir/TCP/IP", "k#C#", "con",
		"İstanbul", "istanbul", "x_y", "e/f", "e-f", "dir/k#e/f", "dir/C#", "F. G", "f-g",
	}
	text := ""
	for _, ref := range refs {
		text += "- [[" + ref + "]]\n"
	}
	for _, name := range []string{
		"C#", "A#B", "TCP/IP", "Über Café", "日本", "!!!", "Ärger.md", "İstanbul", "x_y", "F. G", "con",
	} {
		x := of([]string{
			"schema.yaml", schema, "refs.md", text,
			"dir/k.md", "---\ntype: person\nname: \"" + name + "\"\nalias: \"" + name + "\"\n---\n# Ti Tle\n## 日本 語\n## E\n::person(id=e/f)\n",
		})
		linked := map[string]bool{}
		for l := range x.Resolver().Backlinks("dir/k", index.Location{}) {
			linked[l.Ref.Target] = true
		}
		for _, ref := range refs {
			leads := x.Resolve(ref).Object.Note
			require.Equal(t, leads != nil && leads.ID == "dir/k", linked[ref], "%q by %q", ref, name)
		}
		require.NotEmpty(t, linked)
	}
}

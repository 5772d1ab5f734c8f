package index_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/index"
	"rookery/internal/vault"
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

// TestResolve is the table of §1.9. Where ours is not C's: `daily/YYYY-MM-DD` is the id, the bare date
// its alias.
func TestResolve(t *testing.T) {
	x := named()
	rows := []struct {
		ref, id, source string
		matches         []string
	}{
		{"person/freya", "person/freya", index.ByID, nil},
		{"person/thor.md", "person/thor", index.ByID, nil},
		{"person/Thor", "person/thor", index.ByPath, nil},
		{"freya", "", "", []string{"company/freya", "person/freya"}},
		{"Freya", "", "", []string{"company/freya", "person/freya"}},
		{"Freya Njord", "person/freya", index.ByName, nil},
		{"freya njord", "person/freya", index.ByName, nil},
		{"The Queen", "person/freya", index.ByAlias, nil},
		{"the queen", "person/freya", index.ByAlias, nil},
		{"the-queen", "person/freya", index.ByAlias, nil},
		{"THOR", "person/thor", index.ByName, nil},
		{"Thor", "person/thor", index.ByName, nil},
		{"solo", "", "", []string{"person/alias2", "solo"}},
		{"solo#tasks", "solo#tasks", index.ByID, nil},
		{"solo#Tasks", "solo#tasks", index.ByID, nil},
		{"tasks", "solo#tasks", index.ByShort, nil},
		{"notes", "person/freya#notes", index.ByShort, nil},
		{"deep", "a/b/deep", index.ByShort, nil},
		{"b/deep", "a/b/deep", index.BySuffix, nil},
		{"some-file", "My Folder/Some File", index.ByShort, nil},
		{"Some File", "My Folder/Some File", index.ByShort, nil},
		{"my-folder/some-file", "My Folder/Some File", index.ByPath, nil},
		{"Same Name", "", "", []string{"person/same1", "person/same2"}},
		{"2025-02-01", "daily/2025-02-01", index.ByDate, nil},
		{"daily/2025-02-01", "daily/2025-02-01", index.ByDate, nil},
		{"2025-02-01#standup", "daily/2025-02-01#standup", index.ByDate, nil},
		{"daily/2025-02-01#standup", "daily/2025-02-01#standup", index.ByDate, nil},
		{"2025-09-09", "daily/2025-09-09", index.ByDate, nil}, // no note
		{"daily/2025-09-09", "daily/2025-09-09", index.ByDate, nil},
		{"today", "", "", nil}, // a word of arguments only
		{"person/freya#nope", "", "", nil},
		{"wrong/freya", "", "", nil},
		{"#tasks", "", "", nil},

		{"person/Freya Njord", "person/freya", index.ByName, nil},
		{"person/The Queen", "person/freya", index.ByAlias, nil},
		{"company/The Queen", "", "", nil},
		{"deep.md", "a/b/deep", index.ByShort, nil},
		{"b/deep.md#x", "", "", nil},
		{" solo.md#tasks ", "solo#tasks", index.ByID, nil},
		{"solo#solo", "solo", index.ByID, nil}, // its title
		{"My Folder/Some File#Part One", "My Folder/Some File#part-one", index.ByID, nil},
		{"standup", "daily/2025-02-01#standup", index.ByShort, nil},
		{"2025-02-30", "", "", nil},
		{"2025-02-01#nope", "", "", nil},
		{"2025-09-09#standup", "", "", nil},
		{"", "", "", nil},
		{".md", "", "", nil},
		{"/", "", "", nil},
		{"#", "", "", nil},
		{"solo#", "", "", nil},
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
	}
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

func TestResolveDropsSectionsOfCandidates(t *testing.T) {
	x := of([]string{"solo.md", "## Solo\n", "other.md", "## Solo\n"})
	require.Equal(t, []string{"other#solo", "solo"}, x.Resolve("solo").Matches)
	x = x.With(commit(2, "other.md", "-"))
	require.Equal(t, "solo", x.Resolve("solo").ID)
}

func TestResolveArg(t *testing.T) {
	x := named()
	clock := vault.Clock{Now: time.Date(2025, 2, 1, 12, 0, 0, 0, time.UTC)}
	for arg, want := range map[string]string{
		"today": "daily/2025-02-01", "tomorrow": "daily/2025-02-02", "yesterday": "daily/2025-01-31",
		"[[person/thor]]": "person/thor", "[[person/thor|T]]": "person/thor", "solo#tasks": "solo#tasks",
		"2025-02-01": "daily/2025-02-01", "nope": "",
	} {
		require.Equal(t, want, x.ResolveArg(arg, clock).ID, arg)
	}
	require.Equal(t, "daily/2025-02-01", x.ResolveArg("today", clock).Object.ID())
	moved := x.With(commit(2, "raven.yaml", "daily_directory: journal\n"))
	require.Equal(t, "journal/2025-02-01", moved.ResolveArg("today", clock).ID)
	require.Equal(t, []string{"daily/2025-02-01", "journal/2025-02-01"},
		moved.Resolve("2025-02-01").Matches, "the old note has the short name, the day is the new one")
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
		for l := range x.Resolver().Backlinks("dir/k", index.Spot{}) {
			linked[l.Ref.Target] = true
		}
		for _, ref := range refs {
			leads := x.Resolve(ref).Object.Note
			require.Equal(t, leads != nil && leads.ID == "dir/k", linked[ref], "%q by %q", ref, name)
		}
		require.NotEmpty(t, linked)
	}
}

package index_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// start is the time of commit 0; each commit is an hour later.
var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func at(seq uint64) time.Time { return start.Add(time.Duration(seq) * time.Hour) }

// commit makes a commit of pairs of path and text. The text "-" deletes.
func commit(seq uint64, pairs ...string) index.Commit {
	c := index.Commit{Seq: seq, Time: at(seq)}
	for i := 0; i < len(pairs); i += 2 {
		ch := index.Change{Path: pairs[i], Body: index.Body{Run: seq, Part: i / 2}}
		if ch.Deleted = pairs[i+1] == "-"; !ch.Deleted {
			ch.Text = []byte(pairs[i+1])
		}
		c.Changes = append(c.Changes, ch)
	}
	return c
}

// of is the index after commits of these changes, one each.
func of(changes ...[]string) *index.Index {
	x := index.Empty()
	for i, pairs := range changes {
		x = x.With(commit(uint64(i+1), pairs...))
	}
	return x
}

func paths(notes iter.Seq[*index.Note]) []string {
	all := []string{}
	for n := range notes {
		all = append(all, n.Path)
	}
	return all
}

func note(t *testing.T, x *index.Index, path string) *index.Note {
	t.Helper()
	n, ok := x.Note(path)
	require.True(t, ok, path)
	return n
}

// sections renders the plain sections of a note.
func sections(n *index.Note) []string {
	var all []string
	for _, s := range n.Sections {
		all = append(all, fmt.Sprintf("%s %s %d ^%d %d–%d %d",
			s.Slug, s.Title, s.Level(), s.Parent(), s.Line(), s.LineEnd(), s.SubtreeEnd()))
	}
	return all
}

func TestNote(t *testing.T) {
	text := "---\ntype: person\nname: Freya\ncompany: \"[[firms/a]]\"\ntags: [x, 2]\n---\n# Freya\n\n" +
		"Hello\n\n## Work\n\ntext\n\n### Now\n\n## Work\nend"
	x := of([]string{"schema.yaml", "types: {person: {}}\n"}, []string{"people/freya.md", text})
	n := note(t, x, "people/freya.md")
	require.Equal(t, "people/freya", n.ID)
	require.Equal(t, "person", n.Type)
	require.Equal(t, "person", n.DeclaredType)
	require.Equal(t, "Freya", n.Title)
	require.Equal(t, []index.Field{
		{Name: "name", Value: "Freya", Line: 3},
		{Name: "company", Value: markdown.Ref("firms/a"), Line: 4},
		{Name: "tags", Value: []any{"x", 2.0}, Line: 5},
	}, n.Fields)
	require.Equal(t, []string{
		"work Work 2 ^-1 11–14 16", "now Now 3 ^0 15–16 16", "work-2 Work 2 ^-1 17–0 0",
	}, sections(n))
	require.Equal(t, 18, n.LineCount())
	require.Equal(t, len(text), n.Size)
	require.Equal(t, index.DigestOf([]byte(text)), n.Digest)
	require.Equal(t, index.Body{Run: 2}, n.Body)
	require.Equal(t, uint64(2), n.Version)
	require.Equal(t, at(2), n.Created)
	require.Equal(t, at(2), n.Modified)
	require.Nil(t, n.Quarantine())
	require.Equal(t, "Hello", strings.Split(text[n.BodyStart():], "\n")[2])
	require.Equal(t, map[string]any{
		"name": "Freya", "company": markdown.Ref("firms/a"), "tags": []any{"x", 2.0},
	}, n.Values())
	f, ok := n.Field("name")
	require.True(t, ok)
	require.Equal(t, "Freya", f.Value)
	_, ok = n.Field("type")
	require.False(t, ok)

	file, ok := x.File("people/freya.md")
	require.True(t, ok)
	require.Same(t, n, file.Note)
	require.Equal(t, index.Totals{
		Notes: 1, Sections: 3, Refs: 1, Things: 6, Bytes: int64(len(text)),
		Counted: index.Counted{Notes: 1, Units: 5, Bytes: int64(len(text))},
	}, x.Totals())
	require.Equal(t, 3, x.Count("section"))
	require.Equal(t, uint64(2), x.Version())
	require.Equal(t, at(2), x.Time())
}

func TestFind(t *testing.T) {
	x := of([]string{
		"people/freya.md", "# Freya\n\n## Work\n", "daily/2026-03-02.md", "# Monday\n\n## Tasks\n",
	})
	for id, want := range map[string]string{
		"people/freya": "people/freya", "people/freya.md": "people/freya",
		"people/freya#work": "people/freya#work", "people/freya#freya": "people/freya",
		"people/freya.md#work": "people/freya#work",
		"2026-03-02":           "daily/2026-03-02", "2026-03-02#tasks": "daily/2026-03-02#tasks",
		"daily/2026-03-02": "daily/2026-03-02",
	} {
		o, ok := x.Find(id)
		require.True(t, ok, id)
		require.Equal(t, want, o.ID(), id)
	}
	for _, id := range []string{
		"", "#", "people/freya#", "people/freya#none", "freya", "2026-03-03", "people/Freya", "people/",
	} {
		_, ok := x.Find(id)
		require.False(t, ok, id)
	}
	moved := x.With(commit(2, "raven.yaml", "daily_directory: journal\n", "journal/2026-03-02.md", "x"))
	o, ok := moved.Find("2026-03-02")
	require.True(t, ok)
	require.Equal(t, "journal/2026-03-02", o.ID())
}

func TestOrderAndPaging(t *testing.T) {
	x := of([]string{
		"b.md", "", "a/b.md", "", "a.md", "", "a-b.md", "", "schema.yaml", "", "é.md", "",
		".trash/z.md", "# gone", "people/_folder.md", "---\ntype: x\n---\n",
	})
	require.Equal(t, []string{"a-b.md", "a.md", "a/b.md", "b.md", "é.md"}, paths(x.Notes("")))
	require.Equal(t, []string{"a/b.md", "b.md", "é.md"}, paths(x.Notes("a.md")))
	require.Equal(t, []string{"a/b.md", "b.md", "é.md"}, paths(x.OfType("page", "a.md")))
	require.Equal(t, []string{"b.md", "é.md"}, paths(x.Notes("aa")), "a start key need not exist")
	require.Equal(t, []string{"b.md", "é.md"}, paths(x.OfType("page", "aa")))
	require.Empty(t, paths(x.Notes("é.md")))
	var files []string
	for f := range x.FilesAfter("b.md") {
		files = append(files, f.Path)
	}
	require.Equal(t, []string{"people/_folder.md", "schema.yaml", "é.md"}, files)
	for range x.Files() {
		break
	}
	for range x.OfType("page", "") {
		break
	}
	require.Equal(t, 5, x.Totals().Notes)
}

const people = "version: 1\ntypes:\n  person: {}\n"

func TestTypes(t *testing.T) {
	of := of([]string{
		"schema.yaml", people,
		"a.md", "---\ntype: person\n---\n", "b.md", "---\ntype: persona\n---\n", "c.md", "plain",
		"d.md", "---\ntype: date\n---\n", "e.md", "---\ntype: daily\n---\n",
		"daily/2026-03-02.md", "plain", "daily/notes.md", "plain",
		"daily/2026-03-03.md", "---\ntype: person\n---\n",
		"daily/2026-03-04.md", "---\n: [\n---\n", "daily/2026-03-05.md", "---\ntype: []\n---\n",
		"daily/2026-03-06.md", "---\ntype:\n---\n", "f.md", "---\ntype: section\n---\n",
		"g.md", "---\ntype: page\n---\n", "h.md", "---\ntype: \"per\\0son\"\n---\n",
	})
	require.Equal(t, []string{"a.md", "daily/2026-03-03.md"}, paths(of.OfType("person", "")))
	require.Equal(t, paths(of.Notes("")), paths(of.OfType("", "")), "the notes of any type")
	require.Equal(t, []string{"d.md", "daily/2026-03-02.md", "daily/2026-03-06.md", "e.md"},
		paths(of.OfType("daily", "")))
	require.Equal(t, []string{
		"b.md", "c.md", "daily/2026-03-04.md", "daily/2026-03-05.md", "daily/notes.md", "f.md", "g.md",
		"h.md",
	}, paths(of.OfType("page", "")))
	require.Equal(t, 4, of.Count("daily"))
	require.Equal(t, 8, of.Count("page"))
	require.Equal(t, 2, of.Count("person"))
	require.Zero(t, of.Count("persona"))
	require.Empty(t, paths(of.OfType("pers", "")))
	require.Empty(t, paths(of.OfType("section", "")))
}

func TestSchemaChanges(t *testing.T) {
	x := of(
		[]string{"a.md", "---\ntype: person\n---\n", "b.md", "---\ntype: task\n---\n", "c.md", "x",
			"d.md", "---\ntype: date\n---\n"},
		[]string{"schema.yaml", people})
	require.Equal(t, []string{"a.md"}, paths(x.OfType("person", "")))
	require.Equal(t, []string{"b.md", "c.md"}, paths(x.OfType("page", "")))
	require.Equal(t, uint64(1), note(t, x, "a.md").Version, "the note did not change")

	y := x.With(commit(3, "schema.yaml", "types: {task: {}}\n", "b.md", "-", "e.md",
		"---\ntype: task\n---\n"))
	require.Equal(t, []string{"e.md"}, paths(y.OfType("task", "")))
	require.Equal(t, []string{"a.md", "c.md"}, paths(y.OfType("page", "")))
	require.Zero(t, y.Count("person"))
	require.Equal(t, []string{"d.md"}, paths(y.OfType("daily", "")))
	require.Equal(t, []string{"a.md"}, paths(x.OfType("person", "")), "the old index is as it was")

	broken := y.With(commit(4, "schema.yaml", "types: [\n"))
	require.True(t, fault.Is(broken.SchemaErr(), fault.SchemaError))
	require.Equal(t, []string{"daily", "page", "section"}, broken.Schema().TypeNames())
	require.Equal(t, []string{"a.md", "c.md", "e.md"}, paths(broken.OfType("page", "")))
	healed := broken.With(commit(5, "schema.yaml", "-"))
	require.NoError(t, healed.SchemaErr())
	require.Equal(t, broken.Schema().TypeNames(), healed.Schema().TypeNames())
}

func TestConfigChanges(t *testing.T) {
	x := of([]string{
		"daily/2026-03-02.md", "x", "daily/old/2026-03-02.md", "y", "daily/2026-03-03.md",
		"---\ntype: page\n---\n", "daily.md", "z",
	})
	require.Equal(t, []string{"daily/2026-03-02.md"}, paths(x.OfType("daily", "")))
	x = x.With(commit(2, "raven.yaml", "directories: {daily: daily/old}\n"))
	require.Equal(t, []string{"daily/old/2026-03-02.md"}, paths(x.OfType("daily", "")))
	require.Equal(t, 3, x.Count("page"))
	daily, _ := x.Schema().Type("daily")
	require.Equal(t, "daily/old/", daily.DefaultPath)

	x = x.With(commit(3, "rookery.yaml", "timezone: Asia/Tokyo\n"))
	require.Equal(t, "daily/old", x.Config().DailyDirectory, "the files are read together")
	require.Equal(t, "Asia/Tokyo", x.Config().Timezone)
	x = x.With(commit(4, "raven.yaml", "daily_directory: [\n"))
	require.True(t, fault.Is(x.ConfigErr(), fault.SchemaError))
	require.Equal(t, "daily", x.Config().DailyDirectory)
	require.Equal(t, "Asia/Tokyo", x.Config().Timezone)
	require.Equal(t, []string{"daily/2026-03-02.md"}, paths(x.OfType("daily", "")))
	x = x.With(commit(5, "raven.yaml", "-", "rookery.yaml", "-"))
	require.NoError(t, x.ConfigErr())
	require.Equal(t, "UTC", x.Config().Timezone)
}

func TestQuarantine(t *testing.T) {
	x := of([]string{
		"a.md", "---\ntype: person\nx: [\n---\n# A\n\n## Part\n", "b.md", "ok", "c.md", "\xff",
	})
	require.Equal(t, []string{"a.md", "c.md"}, paths(x.Quarantined()))
	require.Equal(t, 2, x.Totals().Quarantined)
	a := note(t, x, "a.md")
	require.Equal(t, "page", a.Type)
	require.Empty(t, a.Fields)
	require.Equal(t, "A", a.Title)
	require.Len(t, a.Sections, 1)
	require.Positive(t, a.Quarantine().Line)
	for range x.Quarantined() {
		break
	}
	x = x.With(commit(2, "a.md", "good", "c.md", "-"))
	require.Empty(t, paths(x.Quarantined()))
	require.Zero(t, x.Totals().Quarantined)
}

func TestFolded(t *testing.T) {
	x := of([]string{
		"People/Freya.md", "", "Café.md", "", "straße.md", "", "schema.yaml", "", ".trash/A.md", "",
	})
	for path, want := range map[string]string{
		"People/Freya.md": "People/Freya.md", "people/freya.md": "People/Freya.md",
		"CAFÉ.md": "Café.md", "Cafe\u0301.md": "Café.md", "STRASSE.md": "straße.md",
		"Schema.yaml": "schema.yaml", ".trash/a.md": ".trash/A.md",
	} {
		got, ok := x.Folded(path)
		require.True(t, ok, path)
		require.Equal(t, want, got)
	}
	for _, path := range []string{"people/frey.md", "people/freya", "cafe.md", ""} {
		_, ok := x.Folded(path)
		require.False(t, ok, path)
	}
	both := x.With(commit(2, "people/freya.md", ""))
	got, _ := both.Folded("people/freya.md")
	require.Equal(t, "people/freya.md", got)
	one := both.With(commit(3, "People/Freya.md", "-"))
	got, _ = one.Folded("PEOPLE/freya.md")
	require.Equal(t, "people/freya.md", got, "the other one is still there")
	none := one.With(commit(4, "people/freya.md", "-"))
	_, ok := none.Folded("people/freya.md")
	require.False(t, ok)
}

func TestTimes(t *testing.T) {
	x := of([]string{"a.md", "1"}, []string{"b.md", "1"}, []string{"a.md", "2"})
	a := note(t, x, "a.md")
	require.Equal(t, at(1), a.Created)
	require.Equal(t, at(3), a.Modified)
	require.Equal(t, uint64(3), a.Version)
	again := x.With(commit(4, "a.md", "-")).With(commit(5, "a.md", "3"))
	require.Equal(t, at(5), note(t, again, "a.md").Created)
}

const auditLog = `{"ts":"2025-02-01T10:30:00Z","op":"create","entity":"object","id":"people/bob","type":"person"}
{"ts":"2025-02-01T10:32:00Z","op":"create","entity":"trait","id":"due-a3f2b1","parent":"people/bob#tasks","trait":"due","value":"2025-02-05"}
not json
{"op":"update","entity":"object","id":"people/bob"}
{"ts":"2025-02-01T14:15:00Z","op":"update","entity":"trait","id":"due-a3f2b1"}
{"ts":"2025-02-01T15:00:00Z","op":"create","entity":"object","id":"old","type":"page"}
{"ts":"2025-02-01T16:00:00Z","op":"delete","entity":"object","id":"old"}
{"ts":"2025-02-01T16:30:00Z","op":"delete","entity":"object","id":"people/bob#part"}
{"ts":"2025-02-02T18:00:00+02:00","op":"reindex","file":"daily/2025-02-01.md","discovered":["trait:due-xyz","object:b#s"],"removed":["object:gone"]}
{"ts":"2025-02-03T00:00:00Z","op":"update","entity":"object","id":"daily/2025-02-01"}
{"ts":"2099-01-01T00:00:00Z","op":"create","entity":"object","id":"future"}
`

func TestTimesOfAnAuditLog(t *testing.T) {
	notes := []string{
		"people/bob.md", "x", "old.md", "x", "daily/2025-02-01.md", "x", "b.md", "x", "c.md", "x",
		"future.md", "x",
	}
	log := []string{vault.AuditLog, auditLog}
	day := func(s string) time.Time {
		t.Helper()
		at, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return at
	}
	for name, x := range map[string]*index.Index{
		"before": of(log, notes), "after": of(notes, log), "together": of(append(notes, log...)),
	} {
		came := note(t, x, "c.md").Created
		require.Equal(t, came, note(t, x, "c.md").Modified)
		bob := note(t, x, "people/bob.md")
		require.Equal(t, day("2025-02-01T10:30:00Z"), bob.Created, name)
		require.Equal(t, day("2025-02-01T16:30:00Z"), bob.Modified, name)
		daily := note(t, x, "daily/2025-02-01.md")
		require.Equal(t, day("2025-02-02T16:00:00Z"), daily.Created, name)
		require.Equal(t, day("2025-02-03T00:00:00Z"), daily.Modified, name)
		require.Equal(t, day("2025-02-02T16:00:00Z"), note(t, x, "b.md").Created, name)
		require.Equal(t, came, note(t, x, "old.md").Created, "what was deleted tells nothing")
		require.Equal(t, came, note(t, x, "future.md").Created, "nobody saw it in the future")
		require.Equal(t, came, note(t, x, "future.md").Modified)
	}

	x := of(notes, []string{"people/bob.md", "changed"}, log)
	bob := note(t, x, "people/bob.md")
	require.Equal(t, day("2025-02-01T10:30:00Z"), bob.Created)
	require.Equal(t, at(2), bob.Modified, "it was changed here since")
	x = x.With(commit(4, "people/bob.md", "-")).With(commit(5, "people/bob.md", "another"))
	require.Equal(t, at(5), note(t, x, "people/bob.md").Created, "the new one is another")
}

func TestEmpty(t *testing.T) {
	x := index.Empty()
	require.Zero(t, x.Version())
	require.Zero(t, x.Totals())
	require.NoError(t, x.SchemaErr())
	require.NoError(t, x.ConfigErr())
	require.Equal(t, []string{"daily", "page", "section"}, x.Schema().TypeNames())
	require.Equal(t, "daily", x.Config().DailyDirectory)
	require.Empty(t, slices.Collect(x.Files()))
	require.Zero(t, index.Build(slices.Values[[]index.Commit](nil)).Version())
}

func TestManyReadersOfOneIndex(t *testing.T) {
	x := index.Empty()
	for i := range 200 {
		x = x.With(commit(uint64(i+1), fmt.Sprintf("n%03d.md", i), "x"))
	}
	done := make(chan *index.Index)
	for i := range 8 {
		go func() {
			y := x
			for j := range 50 {
				y = y.With(commit(uint64(201+j), fmt.Sprintf("n%03d.md", (i*31+j)%200), fmt.Sprint(i)))
				_ = paths(x.Notes(""))
			}
			done <- y
		}()
	}
	for range 8 {
		y := <-done
		require.Equal(t, 200, y.Totals().Notes)
		require.Equal(t, uint64(250), y.Version())
	}
	require.Equal(t, uint64(200), x.Version())
	require.Equal(t, int64(200), x.Totals().Bytes)
}

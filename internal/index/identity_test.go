package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

const traitSchema = "types: {meeting: {}, person: {traits: [due]}}\n" +
	"traits: {due: date, status: {type: enum, values: [todo, done], default: todo}, flag: {}, owner: ref,\n" +
	"  level: number}\n"

// ids renders the traits of a note: `type=id`.
func ids(t *testing.T, x *index.Index, path string) []string {
	t.Helper()
	all := []string{}
	for trait := range note(t, x, path).Traits() {
		all = append(all, trait.Type+"="+trait.ID)
	}
	return all
}

// id is what the id of a new trait is.
func id(parent, trait, text string) string { return trait + "=" + vault.TraitID(parent, trait, text) }

func TestTraitIDOfTheDocument(t *testing.T) {
	x := of([]string{
		"schema.yaml", traitSchema, "daily/2026-03-02.md",
		"# Monday\n\n## Weekly Standup\n::meeting(id=standup)\n\n" +
			"- @due(2026-03-06) @owner([[people/freya]]) Send estimate\n",
	})
	trait, ok := x.Trait("due-e2bae6c0")
	require.True(t, ok)
	require.Equal(t, "daily/2026-03-02#standup", trait.Parent().ID())
	require.Equal(t, "Send estimate", trait.ContentText())
	require.Equal(t, []string{"owner"}, types(trait.Siblings()))
}

func types(traits []*index.Trait) []string {
	all := []string{}
	for _, t := range traits {
		all = append(all, t.Type)
	}
	return all
}

// TestIdentity edits a note and says which ids its traits have then. `%` stands for what the trait
// would have if it were new.
func TestIdentity(t *testing.T) {
	due := func(parent, text string) string { return id(parent, "due", text) }
	lines := func(n int) string { return strings.Repeat("\n", n) }
	rows := []struct {
		name, before, after string
		want                []string
	}{
		{"value", "- @due(2026-03-02) a\n", "- @due(2026-03-03) a\n", []string{due("n", "a")}},
		{"sibling", "- @due(2026-03-02) a\n", "- @flag @due(2026-03-02) a\n",
			[]string{id("n", "flag", "a"), due("n", "a")}},
		{"lines above", "- @due a\n", lines(40) + "- @due a\n", []string{due("n", "a")}},
		{"equal ones are counted", "", "- @due a\n- @due a\n- @due a\n",
			[]string{due("n", "a"), due("n", "a") + "-2", due("n", "a") + "-3"}},
		{"k-th with k-th", "- @due a\n- @due a\n", "- @due a\n\n- @due a\n- @due a\n",
			[]string{due("n", "a"), due("n", "a") + "-2", due("n", "a") + "-3"}},
		{"text nearby", "- @due a\n", lines(5) + "- @due b\n", []string{due("n", "a")}},
		{"text too far", "- @due a\n", lines(6) + "- @due b\n", []string{due("n", "b")}},
		{"the nearest", "- @due a\n" + lines(3) + "- @due b\n", "\n- @due c\n" + lines(1) + "- @due d\n",
			[]string{due("n", "a"), due("n", "b")}},
		{"a tie goes to the one above", "- @due a\n\n- @due b\n", "\n- @due c\n", []string{due("n", "a")}},
		{"another type is no match", "- @due a\n", "- @flag b\n", []string{id("n", "flag", "b")}},
		{"who stays where it was goes first", "x\n- @due a\n", "- @due new\n- @due b\n",
			[]string{due("n", "new"), due("n", "a")}},
		{"a number in use is not taken", "- @due a\n- @due a\n", "- @due a\n",
			[]string{due("n", "a")}},
		{"the heading is renamed", "## One\n- @due a\n", "## Two\n- @due a\n", []string{due("n#one", "a")}},
		{"to another parent", "## One\n- @due a\n## Two\n", "## One\n## Two\n- @due a\n",
			[]string{due("n#two", "a")}},
		{"text in another parent that is new", "- @due a\n", "## New\n- @due a\n", []string{due("n#new", "a")}},
		{"pin", "- @due a\n", "- @id(mine) @due a\n", []string{"due=mine"}},
		{"pin for the first on the line", "", "- @id(mine) @due @flag a\n",
			[]string{"due=mine", id("n", "flag", "a")}},
		{"pin for the first that the schema knows", "", "- @other @due @id(mine) a\n", []string{"due=mine"}},
		{"pin twice", "", "- @id(mine) @due a\n- @due @id(mine) b\n", []string{"due=mine", due("n", "b")}},
		{"pinned ones are not counted", "", "- @id(mine) @due a\n- @due a\n",
			[]string{"due=mine", due("n", "a")}},
		{"pin is taken away", "- @id(mine) @due a\n", "- @due a\n", []string{"due=mine"}},
		{"pin moves to another line", "- @id(mine) @due a\n- @due b\n", "- @due a\n- @due b @id(mine)\n",
			[]string{due("n", "a"), "due=mine"}},
		{"first 50 characters", "- @due " + strings.Repeat("é", 50) + "x\n",
			lines(20) + "- @due " + strings.Repeat("é", 50) + "y\n",
			[]string{due("n", strings.Repeat("é", 50))}},
		{"a field", "---\ntype: person\ndue: 2026-03-02\n---\n", "---\nx: 1\ntype: person\ndue: 2026-03-03\n---\n",
			[]string{due("n", "n")}},
	}
	for _, r := range rows {
		x := of([]string{"schema.yaml", traitSchema}, []string{"n.md", r.before}, []string{"n.md", r.after})
		require.Equal(t, r.want, ids(t, x, "n.md"), r.name)
	}
}

func TestNewcomersTakeNoIDInUse(t *testing.T) {
	taken := vault.TraitID("b", "due", "x")
	x := of([]string{"schema.yaml", traitSchema, "a.md", "- @id(" + taken + ") @flag y\n"},
		[]string{"b.md", "- @due x\n- @due x\n"})
	require.Equal(t, []string{"due=" + taken + "-2", "due=" + taken + "-3"}, ids(t, x, "b.md"))
	x = x.With(commit(3, "b.md", "- @due x\n"))
	require.Equal(t, []string{"due=" + taken + "-2"}, ids(t, x, "b.md"))
	x = x.With(commit(4, "b.md", "- @due x\n- @due x\n"))
	require.Equal(t, []string{"due=" + taken + "-2", "due=" + taken + "-3"}, ids(t, x, "b.md"))
}

func TestPinsOfSeveralNotes(t *testing.T) {
	x := of([]string{"schema.yaml", traitSchema, "b.md", "- @due @id(p) b\n"})
	require.Equal(t, []string{"due=p"}, ids(t, x, "b.md"))
	x = x.With(commit(2, "a.md", "- @due @id(p) a\n"))
	require.Equal(t, []string{"due=p"}, ids(t, x, "a.md"), "the first by path")
	require.Equal(t, []string{id("b", "due", "b")}, ids(t, x, "b.md"))
	require.Equal(t, []string{vault.TraitID("b", "due", "b")}, traitIDs(x.Duplicates))
	held, _ := x.Trait("p")
	require.Equal(t, "a", held.Parent().ID())
	x = x.With(commit(3, "a.md", "-"))
	require.Equal(t, []string{"due=p"}, ids(t, x, "b.md"))
	require.Empty(t, traitIDs(x.Duplicates))
	_, ok := x.Trait(vault.TraitID("b", "due", "b"))
	require.False(t, ok)

	x = x.With(commit(4, "a.md", "- @due @id(p) a\n", "a.md", "-"))
	held, ok = x.Trait("p")
	require.True(t, ok, "the pin came back within a commit")
	require.Equal(t, "b", held.Parent().ID())
}

func TestGivenIDs(t *testing.T) {
	c := commit(2, "n.md", "- @due a\n- @other b\n- @flag b\n")
	x := of([]string{"schema.yaml", traitSchema})
	kept := note(t, x.With(c), "n.md").TraitIDs()
	require.Len(t, kept, 3, "one that the schema does not know may be one some day")
	c.Changes[0].TraitIDs = []string{"one", "two", "three"}
	y := x.With(c)
	require.Equal(t, []string{"due=one", "flag=three"}, ids(t, y, "n.md"))
	known := y.With(commit(3, "schema.yaml",
		strings.Replace(traitSchema, "flag: {}", "flag: {}, other: {}", 1)))
	require.Equal(t, []string{"due=one", "other=two", "flag=three"}, ids(t, known, "n.md"))
	c.Changes[0].TraitIDs = []string{"one"}
	require.Equal(t, kept, note(t, x.With(c), "n.md").TraitIDs(), "these are of another text")
}

func TestSchemaKeepsIDs(t *testing.T) {
	x := of([]string{"schema.yaml", traitSchema, "n.md", "- @due a\n"}, []string{"n.md", "- @due b\n"})
	want := ids(t, x, "n.md")
	require.Equal(t, []string{id("n", "due", "a")}, want)
	broken := x.With(commit(3, "schema.yaml", "types: [\n"))
	require.Empty(t, ids(t, broken, "n.md"))
	require.Zero(t, broken.Totals().Traits)
	_, ok := broken.Trait(vault.TraitID("n", "due", "a"))
	require.False(t, ok)
	require.Equal(t, want, ids(t, broken.With(commit(4, "schema.yaml", traitSchema)), "n.md"))
}

func TestMovedFileKeepsIdentity(t *testing.T) {
	text := "---\ntype: person\ndue: 2026-03-02\n---\n- @due a\n\n## S\n- @flag b\n"
	x := of([]string{"schema.yaml", traitSchema, "old.md", text})
	want := ids(t, x, "old.md")
	for _, goesFirst := range []bool{true, false} {
		c := commit(2, "new.md", text+"more\n", "old.md", "-")
		c.Changes[0].From = "old.md"
		if goesFirst {
			c.Changes[0], c.Changes[1] = c.Changes[1], c.Changes[0]
		}
		y := x.With(c)
		require.Equal(t, want, ids(t, y, "new.md"))
		n := note(t, y, "new.md")
		require.Equal(t, at(1), n.Created)
		require.Equal(t, at(2), n.Modified)
		require.Equal(t, at(1), n.Sections[0].Created)
		trait, ok := y.Trait(strings.TrimPrefix(want[1], "due="))
		require.True(t, ok)
		require.Equal(t, "new", trait.Parent().ID())
		require.Equal(t, at(1), trait.Modified)
		again := y.With(commit(3, "new.md", text))
		require.Equal(t, want, ids(t, again, "new.md"))
	}
}

func TestIDsOfAnAuditLog(t *testing.T) {
	log := `{"ts":"2025-02-01T10:00:00Z","op":"create","entity":"trait","id":"due-aaaaaa","parent":"n","trait":"due","content":"a"}
{"ts":"2025-02-01T11:00:00Z","op":"create","entity":"trait","id":"due-bbbbbb","parent":"n#s","trait":"due","content":"b","line":9}
{"ts":"2025-02-01T12:00:00Z","op":"update","entity":"trait","id":"due-bbbbbb","changes":{"content":{"old":"b","new":"c"},"line":{"old":9,"new":4}}}
{"ts":"2025-02-01T13:00:00Z","op":"create","entity":"trait","id":"due-gone","parent":"n","trait":"due","content":"e"}
{"ts":"2025-02-01T14:00:00Z","op":"delete","entity":"trait","id":"due-gone"}
{"ts":"2025-02-01T15:00:00Z","op":"create","entity":"object","id":"n#s","type":"section"}
`
	text := "- @due a\n\n## S\n- @due edited\n- @due e\n"
	lines := slices.Collect(strings.Lines(log))
	for name, x := range map[string]*index.Index{
		"together": of([]string{"schema.yaml", traitSchema, "n.md", text, vault.AuditLog, log}),
		"before":   of([]string{"schema.yaml", traitSchema, vault.AuditLog, log}, []string{"n.md", text}),
		"by months": of([]string{vault.AuditLog, lines[3] + lines[4] + lines[5],
			"schema.yaml", traitSchema, "n.md", text, vault.ClosedAudit("2025-01"), lines[0] + lines[1],
			vault.ClosedAudit("2025-02"), lines[2]}),
		"one after the other": of([]string{vault.ClosedAudit("2025-01"), lines[0] + lines[1]},
			[]string{vault.ClosedAudit("2025-02"), lines[2], vault.AuditLog, lines[3]},
			[]string{vault.AuditLog, lines[4] + lines[5]},
			[]string{"schema.yaml", traitSchema}, []string{"n.md", text}),
	} {
		require.Equal(t, []string{"due=due-aaaaaa", "due=due-bbbbbb", id("n#s", "due", "e")},
			ids(t, x, "n.md"), name)
		trait, _ := x.Trait("due-bbbbbb")
		require.Equal(t, "2025-02-01 11:00", trait.Created.Format("2006-01-02 15:04"))
		require.Equal(t, "2025-02-01 12:00", trait.Modified.Format("2006-01-02 15:04"))
		s := note(t, x, "n.md").Sections[0]
		require.Equal(t, "2025-02-01 15:00", s.Created.Format("2006-01-02 15:04"))
	}
}

func TestTimesOfTraitsAndSections(t *testing.T) {
	x := of([]string{"schema.yaml", traitSchema},
		[]string{"n.md", "- @due(2026-03-02) a\n- @flag b\n\n## S\ntext\n## T\n"},
		[]string{"n.md", "\n- @due(2026-03-03) a\n- @flag b\n- @flag new\n\n## S\ntext\n## T\nmore\n"})
	got := []string{}
	for trait := range note(t, x, "n.md").Traits() {
		got = append(got, fmt.Sprintf("%s %s %s %s", trait.Type, trait.ContentText(),
			trait.Created.Format("15"), trait.Modified.Format("15")))
	}
	for _, s := range note(t, x, "n.md").Sections {
		got = append(got, fmt.Sprintf("%s %s %s", s.Slug, s.Created.Format("15"), s.Modified.Format("15")))
	}
	require.Equal(t, []string{"due a 02 03", "flag b 02 02", "flag new 03 03", "s 02 02", "t 02 03"}, got)
}

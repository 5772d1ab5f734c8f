package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

const day = vault.Date("2026-03-02")

func TestDailyFolder(t *testing.T) {
	obsidian := func(text string) string { return `{"folder":"` + text + `","format":"YYYY-MM-DD"}` }
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"nothing said", []string{"a.md", "x"}, "daily/2026-03-02"},
		{"another case", []string{"Daily/2026-03-01.md", "x"}, "Daily/2026-03-02"},
		{"both", []string{"Daily/2026-03-01.md", "x", "daily/2026-02-28.md", "x"}, "daily/2026-03-02"},
		{"Obsidian", []string{vault.ObsidianDaily, obsidian("Journal/Days")}, "Journal/Days/2026-03-02"},
		{"Obsidian, another case", []string{
			vault.ObsidianDaily, obsidian("journal/days"), "Journal/Days/2026-03-01.md", "x",
		}, "Journal/Days/2026-03-02"},
		{"Obsidian, the vault itself", []string{vault.ObsidianDaily, obsidian("")}, "2026-03-02"},
		{"Obsidian, no JSON", []string{vault.ObsidianDaily, "{"}, "daily/2026-03-02"},
		{"Obsidian, out of the vault", []string{vault.ObsidianDaily, obsidian("../x")}, "daily/2026-03-02"},
		{"raven.yaml first", []string{
			vault.ObsidianDaily, obsidian("Journal"), "raven.yaml", "directories: {daily: log}\n",
		}, "log/2026-03-02"},
		{"the root", []string{"raven.yaml", "directories: {daily: .}\n"}, "2026-03-02"},
		{"the root with a slash", []string{"raven.yaml", "directories: {daily: ./}\n"}, "2026-03-02"},
	} {
		x := index.Empty().With(commitOf(1, c.files...))
		require.NoError(t, x.ConfigErr(), c.name)
		require.Equal(t, c.want+".md", string(x.Config().DailyPath(day)), c.name)
		again, err := index.ReadImage(x.AppendImage(nil))
		require.NoError(t, err)
		for _, x := range []*index.Index{x, again} {
			require.Equal(t, c.want+".md", string(x.Config().DailyPath(day)), c.name)
			daily, _ := x.Schema().Type(vault.Daily)
			require.Equal(t, c.want, daily.DefaultPath+string(day), c.name)
		}
		x = x.With(commitOf(2, c.want+".md", "x\n"))
		n, ok := x.Note(c.want + ".md")
		require.True(t, ok)
		require.Equal(t, vault.Daily, n.Type, c.name)
		o, ok := x.Find("2026-03-02")
		require.True(t, ok, c.name)
		require.Equal(t, c.want, o.ID(), c.name)
		require.Equal(t, c.want, x.From(n, "2026-03-02").ID, c.name)
	}
	x := index.Empty().With(commitOf(1, "Daily/2026-03-01.md", "x"))
	x = x.With(commitOf(2, "daily/2026-03-01.md", "x"))
	daily, _ := x.Schema().Type(vault.Daily)
	require.Equal(t, "daily/", daily.DefaultPath, "the folder of the configuration is there now")
	x = index.Empty().With(commitOf(1, "raven.yaml", "directories: {daily: .}\n", "2026-03-02.md", "x\n"))
	x = x.With(commitOf(2, "raven.yaml", "directories: {daily: log}\n"))
	n, _ := x.Note("2026-03-02.md")
	require.Equal(t, vault.Page, n.Type, "a stray note of another folder is a page")
}

func TestTemplatesAreNotQuarantined(t *testing.T) {
	const broken = "---\ntitle: a: b\ntype: person\n---\n"
	x := index.Empty().With(commitOf(1, "Templates/t.md", broken, "a.md", broken,
		"b.md", "---\ndate: {{date}}\ntitle: a: b\n---\n"))
	quarantined := func(x *index.Index) (all []string) {
		for n := range x.Quarantined() {
			all = append(all, n.Path)
		}
		return all
	}
	require.Equal(t, []string{"Templates/t.md", "a.md"}, quarantined(x), "b.md has a placeholder for a whole value")
	for seq, c := range []index.Commit{
		commitOf(2, vault.ObsidianTemplates, `{"folder":"Templates"}`),
		commitOf(2, "raven.yaml", "directories: {template: Templates/}\n"),
	} {
		y := x.With(c)
		require.Equal(t, []string{"a.md"}, quarantined(y), seq)
		require.Equal(t, 1, y.Totals().Quarantined)
		require.Equal(t, []string{"Templates/t.md", "a.md"}, quarantined(y.With(commitOf(3, c.Changes[0].Path, ""))))
	}
	x = index.Empty().With(commitOf(1, "schema.yaml", "types: {person: {}}\n", "raven.yaml",
		"directories: {template: Templates}\n", "Templates/p.md", "---\ntype: person\n---\n"))
	require.Zero(t, x.Count("person"), "a template is no object")
}

func TestNotesWithOtherEndings(t *testing.T) {
	x := index.Empty().With(commitOf(1, "a/Read Me.markdown", "# R\n", "b/UPPER.MD", "# U\n", "c.md", "[[Read Me]] [[upper]]\n"))
	require.Equal(t, 3, x.Totals().Notes)
	c, _ := x.Note("c.md")
	require.Equal(t, "a/Read Me.markdown", x.From(c, "Read Me").ID)
	require.Equal(t, "b/UPPER.MD", x.From(c, "upper").ID)
	n, ok := x.ByID("b/UPPER.MD")
	require.True(t, ok)
	require.Equal(t, "b/UPPER.MD", n.Path)
	o, ok := x.Find("a/Read Me.markdown")
	require.True(t, ok)
	require.Equal(t, "a/Read Me.markdown", o.Note.Path)
}

func TestFoldersOfObjects(t *testing.T) {
	x := index.Empty().With(commitOf(1, "schema.yaml", "types:\n  person: { default_path: people/ }\n  thing: {}\n",
		"raven.yaml", "directories: {type: objects/, page: notes}\n"))
	path := func(name string) string {
		typ, _ := x.Schema().Type(name)
		return typ.DefaultPath
	}
	require.Equal(t, []string{"objects/people/", "objects/", "notes/", "daily/"},
		[]string{path("person"), path("thing"), path("page"), path("daily")})
}

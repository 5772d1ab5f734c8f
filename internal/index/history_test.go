package index_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rookery/internal/index"
	"rookery/internal/vault"
)

// An image is all that an index can be asked, so that two can be compared.
type image struct {
	Version     uint64
	Totals      index.Totals
	Files       []index.File
	Notes       []index.Note
	Types       map[string][]string
	Counts      map[string]int
	Quarantined []string
	Folded      map[string]string
	SchemaErr   string
	ConfigErr   string
	Daily       string
}

// typeNames are all that the notes and schemas of histories know.
var typeNames = []string{"page", "daily", "date", "person", "task", "ghost", "section"}

// imageOf asks an index everything.
func imageOf(x *index.Index) image {
	m := image{
		Version: x.Version(), Totals: x.Totals(), Types: map[string][]string{},
		Counts: map[string]int{}, Folded: map[string]string{}, Daily: x.Config().DailyDirectory,
		SchemaErr: fmt.Sprint(x.SchemaErr()), ConfigErr: fmt.Sprint(x.ConfigErr()),
		Quarantined: paths(x.Quarantined()),
	}
	for f := range x.Files() {
		flat := *f
		flat.Note = nil
		m.Files = append(m.Files, flat)
		m.Folded[f.Path], _ = x.Folded(vault.Fold(f.Path))
	}
	for n := range x.Notes("") {
		flat := *n
		flat.File = nil
		m.Notes = append(m.Notes, flat)
	}
	for _, name := range typeNames {
		m.Types[name], m.Counts[name] = paths(x.OfType(name, "")), x.Count(name)
	}
	return m
}

// filePaths and their texts are few, so that histories meet themselves again.
var (
	filePaths = []string{
		"a.md", "A.md", "b.md", "x/a.md", "x/é.md", "x/e\u0301.md", "daily/2026-03-02.md",
		"daily/old/2026-03-02.md", "x/2026-03-02.md", ".trash/a.md", "_folder.md",
	}
	noteTexts = []string{
		"", "plain\n", "---\ntype: person\nname: x\n---\n# T\n\n## S\n", "---\ntype: task\n---\n",
		"---\ntype: ghost\n---\n## S\n### S\n", "---\ntype: date\n---\n", "---\ntype: daily\n---\n",
		"---\na: [\n---\nbroken", "---\ntype: [x]\n---\n", "---\ntype: section\n---\n",
	}
	schemaTexts = []string{
		"", "types: {person: {}}\n", "types: {task: {}, person: {}}\n", "types: {daily: {}}\n", "types: [",
	}
	configTexts = []string{"", "daily_directory: x\n", "daily_directory: daily/old\n", "a: [\n"}
	auditTexts  = []string{
		`{"ts":"2025-01-01T00:00:00Z","op":"create","entity":"object","id":"a"}` + "\n",
		`{"ts":"2025-01-02T00:00:00Z","op":"create","entity":"object","id":"b"}` + "\n" +
			`{"ts":"2025-01-03T00:00:00Z","op":"delete","entity":"object","id":"a"}` + "\n",
	}
)

// history draws a list of commits.
func history(t *rapid.T) []index.Commit {
	var commits []index.Commit
	for seq := range rapid.IntRange(1, 12).Draw(t, "commits") {
		var pairs []string
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			pairs = append(pairs, draw(t)...)
		}
		commits = append(commits, commit(uint64(seq+1), pairs...))
	}
	return commits
}

// draw draws a path and its text.
func draw(t *rapid.T) []string {
	path, texts := rapid.SampledFrom(filePaths).Draw(t, "path"), noteTexts
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		path, texts = vault.SchemaFile, schemaTexts
	case 1:
		path, texts = vault.ConfigRaven, configTexts
	case 2:
		return []string{vault.AuditLog, rapid.SampledFrom(auditTexts).Draw(t, "audit")}
	}
	return []string{path, rapid.SampledFrom(append([]string{"-"}, texts...)).Draw(t, "text")}
}

// TestBuildIsAFoldOfWith also says that an index stays as it was when others are made of it.
func TestBuildIsAFoldOfWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := history(t)
		all, images := []*index.Index{index.Empty()}, []image{imageOf(index.Empty())}
		for _, c := range commits {
			x := all[len(all)-1].With(c)
			all, images = append(all, x), append(images, imageOf(x))
		}
		for i, x := range all {
			require.Equal(t, images[i], imageOf(x), "version %d did not stay as it was", i)
			require.Equal(t, images[i], imageOf(index.Build(slices.Values(commits[:i]))))
		}
	})
}

// TestSameFilesSameIndex says that the index follows from the files, whatever came before: but for
// versions, times, and where a text is kept.
func TestSameFilesSameIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Build(slices.Values(history(t)))
		y := index.Build(oneCommit(x))
		a, b := timeless(imageOf(x)), timeless(imageOf(y))
		require.Equal(t, a, b)
	})
}

// texts of the files, by digest.
func textsByDigest() map[index.Digest]string {
	all := map[index.Digest]string{}
	for _, list := range [][]string{noteTexts, schemaTexts, configTexts, auditTexts} {
		for _, text := range list {
			all[index.DigestOf([]byte(text))] = text
		}
	}
	return all
}

// oneCommit brings all files of an index at once.
func oneCommit(x *index.Index) iter.Seq[index.Commit] {
	texts := textsByDigest()
	var pairs []string
	for f := range x.Files() {
		pairs = append(pairs, f.Path, texts[f.Digest])
	}
	return slices.Values([]index.Commit{commit(1, pairs...)})
}

// timeless is an image without what history leaves in it.
func timeless(m image) image {
	m.Version = 0
	for i := range m.Files {
		m.Files[i].Version, m.Files[i].Body = 0, index.Body{}
	}
	for i := range m.Notes {
		m.Notes[i].Created, m.Notes[i].Modified = start, start
	}
	return m
}

package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
)

// commitOf is a commit of files by path and text in turn; an empty text deletes.
func commitOf(seq uint64, files ...string) index.Commit {
	c := index.Commit{Seq: seq, Time: time.Date(2026, 11, 1, 0, 0, int(seq), 0, time.UTC)}
	for i := 0; i < len(files); i += 2 {
		c.Changes = append(c.Changes, index.Change{
			Path: files[i], Text: []byte(files[i+1]), Deleted: files[i+1] == "",
		})
	}
	return c
}

// tasksOf are the checkboxes of a value, as `value text`.
func tasksOf(x *index.Index, value string) []string {
	var all []string
	for t := range x.Tasks(value).After(index.Location{}) {
		all = append(all, t.Raw+" "+t.ContentText())
	}
	return all
}

func TestCheckboxesAreTraits(t *testing.T) {
	x := index.Empty().With(commitOf(1, "a.md", "# A\n\n- [ ] Call\n- [x] Paid @note(5)\n- [/] Half\n- plain\n"))
	require.Equal(t, []string{"todo [ ] Call", "done [x] Paid", "in-progress [/] Half"}, tasksOf(x, ""))
	require.Equal(t, []string{"done [x] Paid"}, tasksOf(x, "done"))
	require.Equal(t, 2, x.Tasks("todo").Count()+x.Tasks("in-progress").Count())
	require.Zero(t, x.Totals().Traits, "a checkbox is no trait of the schema")

	x = x.With(commitOf(2, "schema.yaml", "traits:\n  note: { type: string }\n"))
	require.Equal(t, 1, x.Totals().Traits)
	n, _ := x.Note("a.md")
	var note *index.Trait
	for trait := range n.Traits() {
		if trait.Type == "note" {
			note = trait
		}
	}
	require.Empty(t, note.Siblings(), "the checkbox is not beside it")
	require.Equal(t, "x", note.Checkbox())
	require.True(t, x.Done(note))

	x = x.With(commitOf(3, "schema.yaml", "traits:\n  task: { type: string }\n"))
	require.Empty(t, tasksOf(x, ""), "the schema has a trait of that name")
	x = x.With(commitOf(4, "schema.yaml", ""))
	require.Len(t, tasksOf(x, ""), 3)
}

func TestDone(t *testing.T) {
	schema := "traits:\n  status: { type: enum, values: [todo, done, blocked] }\n  done: { type: boolean }\n" +
		"  due: { type: date }\n"
	for line, want := range map[string][2]bool{
		"- [x] @due(2026-12-01)":               {true, true},
		"- [ ] @due(2026-12-01)":               {false, true},
		"- @due(2026-12-01)":                   {false, false},
		"- @due(2026-12-01) @status(done)":     {true, true},
		"- @due(2026-12-01) @status(blocked)":  {false, true},
		"- [ ] @due(2026-12-01) @status(done)": {true, true},
		"- @due(2026-12-01) @done":             {true, true},
		"- @due(2026-12-01) @done(false)":      {false, true},
	} {
		x := index.Empty().With(commitOf(1, "schema.yaml", schema, "a.md", line+" text\n"))
		for trait := range x.Traits("due", index.Location{}) {
			done, known := x.DoneKnown(trait)
			require.Equal(t, want, [2]bool{done, known}, line)
		}
	}
	last := strings.Replace(schema, "[todo, done, blocked]", "[open, closed]", 1)
	x := index.Empty().With(commitOf(1, "schema.yaml", last, "a.md", "- @due(2026-12-01) @status(closed) x\n"))
	for trait := range x.Traits("due", index.Location{}) {
		require.True(t, x.Done(trait), "the last value of the enum")
	}
}

// TestTaskKeepsItsID holds that a checkbox is the same trait after it was ticked, moved and edited nearby.
func TestTaskKeepsItsID(t *testing.T) {
	x := index.Empty().With(commitOf(1, "a.md", "- [ ] One\n- [ ] Two 📅 2026-12-01\n"))
	ids := func(x *index.Index) []string {
		n, _ := x.Note("a.md")
		return n.TraitIDs()
	}
	before := ids(x)
	require.Len(t, before, 2)
	require.True(t, strings.HasPrefix(before[0], "task-"))
	x = x.With(commitOf(2, "a.md", "- [x] Two 📅 2026-12-01 ✅ 2026-12-02\n\ntext\n\n- [x] One\n"))
	require.Equal(t, []string{before[1], before[0]}, ids(x))

	// A log from before checkboxes were traits has the ids of the annotations only.
	old := commitOf(1, "a.md", "- [ ] One @due(2026-12-01)\n- [ ] Two\n")
	old.Changes[0].TraitIDs = []string{"due-0000000a"}
	n, _ := index.Empty().With(old).Note("a.md")
	require.Equal(t, "due-0000000a", n.TraitIDs()[0])
	require.Len(t, slices.Compact(n.TraitIDs()), 3)
}

// TestTasksBuiltAsWith holds that notes with checkboxes come to the same state by any way, and that images keep it.
func TestTasksBuiltAsWith(t *testing.T) {
	lines := []string{"- [ ] a", "- [x] b @due(2026-12-01)", "- c @due", "## H", "1. [/] d", "", "- [ ] a", "> - [-] e"}
	rapid.Check(t, func(t *rapid.T) {
		x, commits := index.Empty(), []index.Commit(nil)
		for seq := range rapid.IntRange(1, 6).Draw(t, "commits") {
			text := strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "lines"), "\n")
			c := commitOf(uint64(seq+1), fmt.Sprintf("%d.md", rapid.IntRange(0, 2).Draw(t, "note")), text)
			if rapid.IntRange(0, 4).Draw(t, "schema") == 0 {
				c = commitOf(uint64(seq+1), "schema.yaml", rapid.SampledFrom([]string{
					"traits:\n  due: { type: date }\n", "traits:\n  task: { type: string }\n", "",
				}).Draw(t, "text"))
			}
			commits, x = append(commits, c), x.With(c)
		}
		image := x.AppendImage(nil)
		require.Equal(t, image, index.Build(slices.Values(commits)).AppendImage(nil))
		read, err := index.ReadImage(slices.Clone(image))
		require.NoError(t, err)
		require.Equal(t, tasksOf(x, ""), tasksOf(read, ""))
		require.Equal(t, len(tasksOf(x, "")), x.Tasks("").Count())
	})
}

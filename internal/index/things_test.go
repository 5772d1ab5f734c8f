package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// crowds are the ways in which a note can have n indexed things.
var crowds = map[string]func(n int) string{
	"headings":   func(n int) string { return strings.Repeat("# h\n", n) },
	"traits":     func(n int) string { return strings.Repeat("@due(2026-03-02) x\n", n) },
	"references": func(n int) string { return strings.Repeat("[[a]]\n", n) },
	"tags":       distinctTags,
	"all": func(n int) string {
		return strings.Repeat("# h\n@due x\n[[a]]\n", n/3) + distinctTags(n-3*(n/3))
	},
}

func TestANoteWithTooManyThingsIsNotIndexed(t *testing.T) {
	for name, crowd := range crowds {
		t.Run(name, func(t *testing.T) {
			at := crowd(index.MaxThings)
			x := index.Empty().With(commit(1, "a.md", at, "b.md", "[[a]]\n"))
			n, ok := x.Note("a.md")
			require.True(t, ok)
			require.Zero(t, n.Unindexed())
			require.Equal(t, index.MaxThings, n.Things())
			require.Equal(t, index.MaxThings+1, x.Totals().Things)
			require.Equal(t, index.MaxThings, index.Things([]byte(at)))

			x = x.With(commit(2, "a.md", at+crowd(3)+"#more #than #before\n"))
			n, _ = x.Note("a.md")
			require.Greater(t, n.Unindexed(), index.MaxThings)
			require.Zero(t, n.Things())
			require.Equal(t, 1, x.Totals().Things)
			require.Equal(t, 1, x.Totals().Unindexed)
			require.Zero(t, x.Totals().Traits)
			require.Len(t, slices.Collect(x.Unindexed()), 1)
			require.Zero(t, index.Things([]byte(at+"#more\n#than #before @x\n# h\n")))

			x = x.With(commit(3, "a.md", at))
			require.Zero(t, x.Totals().Unindexed)
			require.Empty(t, slices.Collect(x.Unindexed()))
			require.Equal(t, index.MaxThings+1, x.Totals().Things)
		})
	}
}

func TestWhatIsKeptOfANoteThatIsNotIndexed(t *testing.T) {
	body := "# Its title\n" + strings.Repeat("@due(2026-03-02) x\n", index.MaxThings)
	x := index.Empty().With(commit(1, "n.md", "---\ntype: log\nkind: x\n---\n"+body))
	n, _ := x.Note("n.md")
	require.Equal(t, "Its title", n.Title)
	require.Equal(t, "log", n.DeclaredType)
	f, ok := n.Field("kind")
	require.True(t, ok)
	require.Equal(t, "x", f.Value)
	require.Equal(t, strings.Count(body, "\n")+4, n.LineCount())
}

func TestFieldsHaveABound(t *testing.T) {
	var many strings.Builder
	for i := range index.MaxThings + 1 {
		fmt.Fprintf(&many, "f%d: 1\n", i)
	}
	for name, fields := range map[string]string{
		"fields": many.String(),
		"values": "list: [" + strings.Repeat("1,", index.MaxThings) + "]\n",
	} {
		t.Run(name, func(t *testing.T) {
			x := index.Empty().With(commit(1, "n.md", "---\ntype: log\n"+fields+"---\n# T\n"))
			n, _ := x.Note("n.md")
			require.Greater(t, n.Unindexed(), index.MaxThings)
			require.Empty(t, n.Fields)
			require.Equal(t, "log", n.DeclaredType)
		})
	}
}

// TestThingsAtMost says that the cheap bound is one.
func TestThingsAtMost(t *testing.T) {
	for _, c := range goldenCommits() {
		for _, ch := range c.Changes {
			x := index.Empty().With(index.Commit{Seq: 1, Changes: []index.Change{ch}})
			require.LessOrEqual(t, x.Totals().Things, index.ThingsAtMost(ch.Text), ch.Path)
			require.LessOrEqual(t, index.Things(ch.Text), index.ThingsAtMost(ch.Text), ch.Path)
		}
	}
	for name, crowd := range crowds {
		text := []byte(crowd(500))
		require.LessOrEqual(t, index.Things(text), index.ThingsAtMost(text), name)
		require.LessOrEqual(t, 500, index.Things(text), name)
	}
	require.Equal(t, 3, index.Things([]byte("a\n=\n\nb\n-\n\n> c\n> -\n")))
	require.LessOrEqual(t, 3, index.ThingsAtMost([]byte("a\n=\n\nb\n-\n\n> c\n> -\n")))
}

package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestParsed checks that a commit with parsed texts gives the same index as one without, also if the
// same parsed text is applied twice, and that the parsed form of another text or path is ignored.
func TestParsed(t *testing.T) {
	before := index.Empty().With(commit(1, "schema.yaml",
		"types:\n  person: {fields: {boss: {type: ref}}, traits: [due]}\ntraits:\n  due: {type: date}\n",
		"a.md", "# A\n\n- @due(2026-03-02) one ^b\n"))
	text := "---\ntype: person\nboss: b\ndue: 2026-03-01\n---\n# A\n\n- @due(2026-03-02) one ^b\n" +
		"- [ ] @due @id(x) two\n\n## B\n::person(boss=b)\n\nSee [[b]], #tag and [c](c.pdf).\n"
	c := commit(2, "a.md", text)
	want := before.With(c).AppendImage(nil)
	was, ok := before.Note("a.md")
	require.True(t, ok)
	parsed := func(path, text string) *index.Parsed {
		return index.NewParsed(path, []byte(text), markdown.Parse([]byte(text)), was)
	}
	c.Changes[0].Parsed = parsed("a.md", text)
	for range 2 {
		require.Equal(t, want, before.With(c).AppendImage(nil))
	}
	for _, other := range []*index.Parsed{nil, parsed("b.md", text), parsed("a.md", text+"\n"), parsed(".x", text)} {
		c.Changes[0].Parsed = other
		require.Equal(t, want, before.With(c).AppendImage(nil))
	}
}

// TestParsedMentions checks that a parsed text shares the Mentions of the note before the change, also
// after references that were added or removed, and that no more than the new ones are computed.
func TestParsedMentions(t *testing.T) {
	was, ok := index.Empty().With(commit(1, "a.md", "[[a]] [[b|x]] [[c]] [[d]] [[b]]\n")).Note("a.md")
	require.True(t, ok)
	for text, shared := range map[string][]int{ // the number of the earlier reference; -1: none
		"[[a]] [[b|x]] [[c]] [[d]] [[b]]\n": {0, 1, 2, 3, 4},
		"[[new]] [[a]] [[c]] [[b]]\n":       {-1, 0, 2, 4},
		"[[b]] [[b|y]]\n":                   {4, -1},
	} {
		is := index.ParseText("a.md", []byte(text), was).Note()
		fresh := index.ParseText("a.md", []byte(text), nil).Note()
		require.Equal(t, fresh.Refs, is.Refs)
		for i, earlier := range shared {
			if earlier >= 0 {
				require.Same(t, was.Refs[earlier].Mention, is.Refs[i].Mention, "%s %d", text, i)
			}
		}
	}
}

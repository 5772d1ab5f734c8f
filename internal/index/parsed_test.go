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
	parsed := func(path, text string) *index.Parsed {
		return index.NewParsed(path, []byte(text), markdown.Parse([]byte(text)))
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

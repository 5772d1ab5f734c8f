package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// TestProven covers that a note of which it follows that its body has a word has it, whatever else is in the text,
// and in the frontmatter.
func TestProven(t *testing.T) {
	more := append([]string{"read-file", "ffi", "i", "stanbul", "lo", "don’t", "_", "ab"}, lettersOfAllKinds...)
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(more), 0, 10).Draw(t, "text"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		v, bodies := vault{}, map[string]string{}
		for _, name := range []string{"a.md", "pager.md", "c.md"}[:rapid.IntRange(1, 3).Draw(t, "notes")] {
			bodies[name] = text.Draw(t, "body")
			v[name] = bodies[name]
			if rapid.Bool().Draw(t, "frontmatter") {
				v[name] = "---\nx: " + strings.ReplaceAll(text.Draw(t, "field"), "\n", " ") + "\n---\n" + bodies[name]
			}
			if rapid.Bool().Draw(t, "heading") {
				bodies[name] += "\n# pager file\n"
				v[name] += "\n# pager file\n"
			}
		}
		x := v.index("english")
		word := rapid.SampledFrom([]string{
			"a", "readfile", "read", "File", "dfi", "i", "is", "istanbul", "ss", "1", "pag", "long", "longlong", "fi", "k", "s", "don", "dont",
			"ab", "fa", "0", "e", "b",
		}).Draw(t, "word")
		for name := range x.Proven(word) {
			require.Contains(t, lowered(bodies[name]), lowered(word), "%q", v[name])
		}
	})
}

// TestProvenFinds covers that plain words of a body are found, in words too and beside other signs, and that nothing
// follows of words in the frontmatter, of joined ones and of texts that are no word.
func TestProvenFinds(t *testing.T) {
	v := vault{
		"a.md": "Don’t page the Harbour-master (harbour).", "b.md": "---\nx: harbour\n---\nnone", "c.md": "re-ad-file",
		"d.md": "the harbourside", "harbour.md": "none",
	}
	x := v.index("english")
	for word, want := range map[string][]string{
		"HARBOUR": {"a.md", "d.md"}, "arbo": {"a.md", "d.md"}, "readfile": nil, "read": nil, "file": {"c.md"}, "the harbour": nil, "": nil,
		"don": {"a.md"}, "dont": nil, "none": {"b.md", "harbour.md"}, "é": nil,
	} {
		require.Equal(t, want, slices.Sorted(x.Proven(word)), word)
	}
	x = x.With([]search.Change{{Doc: "d.md", Note: note("gone")}, {Doc: "a.md", Deleted: true}})
	require.Empty(t, slices.Collect(x.Proven("harbour")))
}

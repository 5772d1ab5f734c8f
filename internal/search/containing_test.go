package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// lettersOfAllKinds are what texts are made of: capitals, accents that are composed or not, scripts without
// spaces, marks that change the character before them, joiners, what normalization changes, and what is not seen.
var lettersOfAllKinds = []string{
	"a", "B", "readFile", "pager", "é", "e\u0301", "b\u0301", "ß", "ẞ", "Σ", "ς", "σ", "İ", "ı", "日", "本", "語", "か", "\u3099", "が", "한",
	"가", "\u11a8", "ㄱ", "Я", "и", "\u0306", "й", "1", "½", "ﬁ", "Ａ", "\u00ad", "\u200d", "-", "_", ".", "'", " ", "\n", "。", "!", "ก", "ำ",
	"\u0308", "Å", "Å", "K", "ſ", strings.Repeat("long", 30), "क", "\u093c", "ø",
}

// lowered is a text without case, as a search for a text compares it.
func lowered(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")), "ς", "σ")
}

// TestContaining covers that a note which contains a text is among those that may, however the text is cut out
// of it, in notes that came at once or one by one.
func TestContaining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := vault{}
		for i := range rapid.IntRange(1, 5).Draw(t, "notes") {
			parts := rapid.SliceOfN(rapid.SampledFrom(lettersOfAllKinds), 1, 12).Draw(t, "text")
			v[fmt.Sprintf("n%d.md", i)] = strings.Join(parts, "")
		}
		x := v.index(rapid.SampledFrom([]string{"english", "german", ""}).Draw(t, "language"))
		of := rapid.SampledFrom(slices.Sorted(func(yield func(string) bool) {
			for name := range v {
				if !yield(name) {
					return
				}
			}
		})).Draw(t, "note")
		runes := []rune(v[of])
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		part := string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(t, "to")])
		if rapid.Bool().Draw(t, "capitals") && lowered(strings.ToUpper(part)) == lowered(part) {
			part = strings.ToUpper(part)
		}
		paths, ok := x.Containing(part)
		if !ok {
			return
		}
		found := slices.Collect(paths)
		for name, text := range v {
			if strings.Contains(lowered(text), lowered(part)) {
				require.Contains(t, found, name, "%q in %q", part, text)
			}
		}
	})
}

// TestContainingNarrows covers that other notes are left out, also those that are gone.
func TestContainingNarrows(t *testing.T) {
	v := vault{"a.md": "The pagers rang", "b.md": "nothing", "c.md": "東京タワー", "d.md": "京東", "e.md": "On-call", "f.md": "кафе"}
	x := v.index("english")
	for query, want := range map[string][]string{
		"AGER": {"a.md"}, "pager rang": {"a.md"}, "rang pager": {"a.md"}, "東京": {"c.md"}, "京": {"c.md", "d.md"},
		"n-ca": {"e.md"}, "кафе": {"f.md"}, "zzz": nil,
	} {
		paths, ok := x.Containing(query)
		require.True(t, ok, query)
		require.Equal(t, want, slices.Sorted(paths), query)
	}
	for _, query := range []string{"", "!!", " - ", "か"} {
		_, ok := x.Containing(query)
		require.False(t, ok, query)
	}
	x = x.With([]search.Change{{Doc: "a.md", Deleted: true}})
	paths, _ := x.Containing("pager")
	require.Empty(t, slices.Collect(paths))
}

// TestSnippetLength covers that a snippet is as long as it may be, or left out.
func TestSnippetLength(t *testing.T) {
	v := vault{"a.md": strings.Repeat("word ", 100) + "lantern " + strings.Repeat("word ", 100)}
	x := v.index("english")
	text := func(doc string) ([]byte, error) { return []byte(v[doc]), nil }
	for _, n := range []int{1, 10, 80, 300} {
		r, err := x.Search(search.ParseQuery("lantern"), search.Options{Text: text, Snippet: n})
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.Items[0].Snippet), n)
		require.Greater(t, len(r.Items[0].Snippet), n/2-8)
	}
	r, err := x.Search(search.ParseQuery("lantern"), search.Options{Snippet: -1, Text: func(string) ([]byte, error) {
		return nil, fmt.Errorf("no text is needed")
	}})
	require.NoError(t, err)
	require.Empty(t, r.Items[0].Snippet)
}

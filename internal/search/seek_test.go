package search_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"rookery/internal/search"
)

// TestPhraseOfWhatReadsTheSame looks for phrases whose first word the text writes with a character
// that reads as others: ﬁ, Ａ, ², ㎏, a ligature, a compatibility ideograph.
func TestPhraseOfWhatReadsTheSame(t *testing.T) {
	v, queries := vault{}, map[string]string{}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		reads := norm.NFKC.String(string(r))
		letters := strings.IndexFunc(reads, func(c rune) bool { return !unicode.In(c, unicode.L, unicode.N) }) < 0
		if reads == string(r) || !letters || !unicode.In(r, unicode.L, unicode.N) {
			continue
		}
		path := fmt.Sprintf("n%06x.md", r)
		rest := "ab"
		if reads[0] >= 0x80 {
			rest = "" // of a script without spaces it is a word of its own
		}
		v[path] = fmt.Sprintf("Before %c%s q%06xq after.", r, rest, r)
		queries[path] = fmt.Sprintf(`"%s%s q%06xq"`, reads, rest, r)
	}
	require.Greater(t, len(v), 1000)
	x := v.index("english")
	for path, query := range queries {
		r, err := x.Search(search.ParseQuery(query), search.Options{Text: v.text})
		require.NoError(t, err)
		require.Equal(t, []string{path}, paths(r), "%s in %s", query, v[path])
	}
}

// TestPhraseInAnyDress hides a phrase in a text: in capitals, in full width, with soft hyphens, with
// accents that are characters of their own, parted by anything. It is found, and its words in another
// order are not.
func TestPhraseInAnyDress(t *testing.T) {
	dresses := []func(string) string{
		func(w string) string { return w }, strings.ToUpper, norm.NFD.String, norm.NFC.String,
		func(w string) string { return w[:len(w)-1] + "\u00ad" + w[len(w)-1:] },
		func(w string) string {
			return strings.Map(func(r rune) rune {
				if r > ' ' && r < 0x7f {
					return r + 0xFEE0
				}
				return r
			}, w)
		},
	}
	words := []string{"copper", "garden", "lantern", "über", "ferry7", "mill"}
	parts := []string{" ", "\n", ", ", " — ", "… ", "  **"}
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.Permutation(words).Draw(rt, "order")
		text := ""
		for _, w := range order {
			dressed := rapid.SampledFrom(dresses).Draw(rt, "dress")(w)
			text += dressed + rapid.SampledFrom(parts).Draw(rt, "part")
		}
		noise := rapid.SampledFrom([]string{"", "naïve ", "灯塔 ", "ﬁne ", "copper ", "garden "}).Draw(rt, "noise")
		v := vault{"a.md": noise + text}
		x := v.index("english")
		found := func(words ...string) bool {
			q := search.ParseQuery(`"` + strings.Join(words, " ") + `"`)
			r, err := x.Search(q, search.Options{Text: v.text})
			require.NoError(rt, err)
			return len(r.Items) == 1
		}
		i := rapid.IntRange(0, len(order)-3).Draw(rt, "from")
		require.True(rt, found(order[i:i+3]...), "%q in %q", order[i:i+3], text)
		require.True(rt, found(order...), "%q in %q", order, text)
		require.False(rt, found(order[i], order[i+2]), "%q in %q", order[i], text)
	})
}

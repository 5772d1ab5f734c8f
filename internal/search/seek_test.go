package search_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
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

// TestSeekingFindsWhatCuttingFinds holds that a phrase is found by its bytes exactly where it is among the
// words of the text, in any mixture of scripts, accents and characters that read as others.
func TestSeekingFindsWhatCuttingFinds(t *testing.T) {
	letters := []string{
		"a", "e", "E", "é", "É", "e\u0301", "ł", "Ł", "ß", "ẞ", "ss", "σ", "ς", "Σ", "ά", "\u1f71", "ї", "Й", "и\u0306",
		"ợ", "Ợ", "ﬁ", "ﬀ", "K", "K", "İ", "ı", "ſ", "灯", "塔", "か", "か\u3099", "ק", "קּ", "س", "سَ", "\u00ad", "7", "Ⅷ",
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 3).Draw(rt, "letters"), "")
		})
		words := rapid.SliceOfN(word, 1, 8).Draw(rt, "words")
		text := strings.Join(words, " ")
		from := rapid.IntRange(0, len(words)-1).Draw(rt, "from")
		to := rapid.IntRange(from+1, len(words)).Draw(rt, "to")
		phrases := []string{
			strings.Join(words[from:to], " "), norm.NFC.String(strings.Join(words[from:to], " ")),
			strings.ToLower(strings.Join(words[from:to], " ")), word.Draw(rt, "a word") + " " + words[from],
		}
		for _, phrase := range phrases {
			sought, cut, _ := search.HoldsPhrase(text, phrase)
			require.Equal(rt, cut, sought, "%q in %q", phrase, text)
		}
	})
}

// TestWhatCanBeSought holds that the texts of most languages are not cut into words to find a phrase.
func TestWhatCanBeSought(t *testing.T) {
	for text, phrase := range map[string]string{
		"Za wodą była ŁÓDKA, późno.":    "łódka późno",
		"Le château, déjà LOIN… oui":    "déjà loin",
		"Ở bên kia ĐÈN CHỢ sáng":        "đèn chợ",
		"Το Γράμμα στον ΦΆΡΟ — νωρίς":   "γράμμα στον",
		"Світлий МІСТ і довгий лист":    "міст і",
		"Die Straße führt zum TÜRMCHEN": "türmchen",
		"קרוב לנהר, גן":                 "גן", "قريب نهر، حديقة": "نهر حديقة",
	} {
		_, _, can := search.HoldsPhrase(text, phrase)
		require.True(t, can, "%q in %q", phrase, text)
	}
	for text, phrase := range map[string]string{
		"cafe\u0301 noir": "é noir", "la\u00adć": "ać", "ﬁlet łosoś": "łosoś", "İyi ıyı": "ıyı",
	} {
		_, _, can := search.HoldsPhrase(text, phrase)
		require.False(t, can, "%q in %q", phrase, text)
	}
}

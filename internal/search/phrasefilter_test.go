package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// TestSignaturesLeaveNothingOut looks for phrases in random texts, in which words are parted in all
// the ways that a phrase reads over: the signatures of the units change no result.
func TestSignaturesLeaveNothingOut(t *testing.T) {
	words := []string{
		"git", "hub", "GitHub", "git-hub", "git_hub", "github", "actions", "a", "B", "2", "the", "of",
		"HTTPServer", "http", "server", "read.file", "readFile", "O'Brien", "x²", "ﬁne", "fine", "½",
		"über", "u\u0308ber", "STRASSE", "straße", "灯", "塔", "灯塔", "灯塔市场", "市场", "Go言語", "go",
		"言語", "한국어", "검색", "ｶﾞ", "ガ", "สวัสดี", "soft\u00adhyphen", "softhyphen", "ёлка", "дом",
		"2026-11-20", "11", "20", "é", "e\u0301",
	}
	parts := []string{" ", "  ", "\n", "\n\n# Heading\n\n", ", ", "-", "_", ".", "", "\u00ad", "\u200b"}
	rapid.Check(t, func(rt *rapid.T) {
		text := func(most int, label string) string {
			var b strings.Builder
			for range rapid.IntRange(1, most).Draw(rt, label) {
				b.WriteString(rapid.SampledFrom(words).Draw(rt, "word"))
				b.WriteString(rapid.SampledFrom(parts).Draw(rt, "part"))
			}
			return b.String()
		}
		v := vault{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "notes") {
			v[fmt.Sprintf("%s%d.md", rapid.SampledFrom(words[:12]).Draw(rt, "name"), i)] = text(20, "words")
		}
		x := v.index("english")
		for _, body := range v {
			all := []rune(body)
			from := rapid.IntRange(0, len(all)-1).Draw(rt, "from")
			to := rapid.IntRange(from+1, min(from+30, len(all))).Draw(rt, "to")
			for _, phrase := range []string{string(all[from:to]), text(4, "wanted")} {
				sameUnsigned(rt, x, v, `"`+phrase+`"`)
				sameUnsigned(rt, x, v, `git -"`+phrase+`"`)
				sameUnsigned(rt, x, v, `"the" 灯 "`+phrase+`" -"git hub"`)
			}
		}
	})
}

// TestSignaturesOfAVault looks for what stands in the notes of a vault in many languages.
func TestSignaturesOfAVault(t *testing.T) {
	v := generated(15, 150)
	x := v.index("english")
	for path := range v { // some in layers of their own, and merged
		x = x.With([]search.Change{{Doc: path, Note: note(v[path])}})
	}
	for _, text := range v {
		words := strings.Fields(text)
		for i := 0; i+3 < len(words); i += 41 {
			phrase := strings.ReplaceAll(strings.Join(words[i:i+3], " "), `"`, "")
			sameUnsigned(t, x, v, `"`+phrase+`"`)
		}
	}
}

// sameUnsigned requires that a query finds the same without signatures.
func sameUnsigned(t require.TestingT, x *search.Index, v vault, query string) {
	q := search.ParseQuery(query)
	got, err := x.Search(q, search.Options{Text: v.text})
	require.NoError(t, err)
	want, err := x.Unsigned().Search(q, search.Options{Text: v.text})
	require.NoError(t, err)
	require.Equal(t, want, got, query)
}

// TestSignaturesSpareTexts: a phrase whose words stand in every note is looked for where they may
// stand side by side, and nowhere else.
func TestSignaturesSpareTexts(t *testing.T) {
	v := vault{"here.md": "see GitHub Actions, 灯塔市场"}
	for i := range 200 {
		v[fmt.Sprintf("n%d.md", i)] = "actions of github; git a hub of actions 市场和灯塔市"
	}
	x := v.index("english")
	for _, query := range []string{`"github actions"`, `"hub actions"`, `"灯塔市场"`, `see -"git hub"`} {
		read := map[string]bool{}
		_, err := x.Search(search.ParseQuery(query), search.Options{
			Text: func(path string) ([]byte, error) {
				read[path] = true
				return v.text(path)
			},
		})
		require.NoError(t, err)
		require.Less(t, len(read), 3, query)
	}
}

// TestPhrasesAreFoundAsWritten covers that a text which contains a phrase in small letters is not copied.
func TestPhrasesAreFoundAsWritten(t *testing.T) {
	for text, phrase := range map[string]string{
		"The harbour lantern was lit.": "harbour lantern", "у порту вежа біля гавані": "порту вежа",
		"港口的灯塔很安静": "灯塔很", "Harbour lantern": "harbour lantern", "Ночі. Вежа біля порту": "вежа біля",
	} {
		require.Zero(t, search.LoweredFor(text, phrase), text)
		require.NotZero(t, search.LoweredFor(strings.ReplaceAll(text, " ", "\n")+" .", "other "+phrase), text)
	}
}

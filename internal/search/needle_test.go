package search_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// TestNeedles covers that a needle is found where it is first, also if its rarest byte is frequent.
func TestNeedles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SampledFrom([]string{"ab", "qz ", "eé е"}).Draw(rt, "letters")
		part := rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 1, 6, -1).Draw(rt, "part")
		text := rapid.StringOfN(rapid.RuneFrom([]rune(letters+"x")), 0, 300, -1).Draw(rt, "text")
		from := rapid.IntRange(0, len(text)).Draw(rt, "from")
		want := strings.Index(text[from:], part)
		if want >= 0 {
			want += from
		}
		require.Equal(rt, want, search.IndexOf(text, part, from), "%q in %q", part, text)
	})
}

// TestLowered covers the conversion to lower case of eight bytes at a time.
func TestLowered(t *testing.T) {
	var all strings.Builder
	for c := range 0x80 {
		all.WriteByte(byte(c))
	}
	for _, text := range []string{all.String(), all.String()[3:], "É" + all.String() + "ÀB", "ÀÉÎ"} {
		want := strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, text)
		require.Equal(t, want, search.Lowered(text))
	}
}

// TestPhrasesAreRarelySplit covers that the bytes beside a phrase show whether it is there, so that the
// text is not split into words.
func TestPhrasesAreRarelySplit(t *testing.T) {
	for text, found := range map[string]bool{
		"The harbour lantern was lit.": true, "Harbour lantern": true, "(harbour lantern).": true,
		"harbours, lanterns and a newharbour lantern": false, "Harbourharbour Lanterns": false,
	} {
		got, atoms := search.SplitFor(text, "harbour lantern")
		require.Equal(t, found, got, text)
		require.Zero(t, atoms, text)
	}
	for text, found := range map[string]bool{
		"a harbour\nlantern": true, "the newHarbour lantern": true, "harbour lantern-7": true, "harbour lantern\u0301": false,
		"\x10harbour lantern": true, "x_harbour lantern": true, "harbour lanterń": false,
	} {
		got, atoms := search.SplitFor(text, "harbour lantern")
		require.Equal(t, found, got, text)
		require.Equal(t, text[0] != 0x10, atoms > 0, text)
	}
}

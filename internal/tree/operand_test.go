package tree

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTextsCompareAsTheirFoldedCopies covers that texts compare as copies of them in lower case do.
func TestTextsCompareAsTheirFoldedCopies(t *testing.T) {
	texts := rapid.StringOf(rapid.SampledFrom([]rune("aAbBzZ_[09 éÉKſİ")))
	rapid.Check(t, func(rt *rapid.T) {
		a, b := texts.Draw(rt, "a"), texts.Draw(rt, "b")
		require.Equal(rt, strings.Compare(fold(a), fold(b)), compareFolded(a, b))
	})
}

// TestWhatMayBeANumber covers that no number is taken for a text.
func TestWhatMayBeANumber(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[-+]?(inf|Infinity|INF|0x[0-9a-f]+p[0-9]|[0-9_]*\.?[0-9]*(e[0-9])?)`), rapid.String())
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.TrimSpace(texts.Draw(rt, "text"))
		if x, err := strconv.ParseFloat(s, 64); err == nil && x == x {
			require.True(rt, maybeNumber(s))
		}
	})
}

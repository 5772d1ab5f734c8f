package merge_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/merge"
)

// TestNearest: the version that a text was made from is nearer than the others.
func TestNearest(t *testing.T) {
	long := "A paragraph that is one long line, as most editors write them, with many words in it."
	cases := []struct {
		name, found, near, far string
	}{
		{"a line more", "a\nb\nc\nnew\n", "a\nb\nc\n", "a\nb\n"},
		{"a word of a long line", strings.Replace(long, "many", "few", 1), long, "short"},
		{"a character without blanks", "这是一个很长的段落没有空格新", "这是一个很长的段落没有空格", "短"},
		{"words that are all over", "a\n- ask her to see the shop\n- buy what is there\n- bring tea\n", "a\n",
			"a\n- the shop is there to buy tea\n"},
		{"a line that was changed", "a\nb\nto buy the milk and tea\n", "a\nb\nto buy the milk and bread\n",
			"a\nb\n"},
		{"an order", "a\nb\nc\nd\nnew\n", "a\nb\nc\nd\n", "d\nc\nb\na\n"},
		{"a repeated line", "a\na\nb\nnew\n", "a\na\nb\n", "a\nb\n"},
		{"line breaks", "a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\nb\n"},
		{"the last line break", "a\nb", "a\nb\n", "a\n"},
		{"a blank line", "a\n\nb\n", "a\nb\n", "a\n"},
		{"an indent", "- a\n  - b\n", "- a\n- b\n", "- a\n- c\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := merge.NewMeasure([]byte(c.found))
			require.Zero(t, m.Distance([]byte(c.found)))
			require.Positive(t, m.Distance([]byte(c.near)))
			require.Less(t, m.Distance([]byte(c.near)), m.Distance([]byte(c.far)))
		})
	}
}

func TestMeasureIsSymmetrical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawThree(t, drawLine, edits)
		a, b := join(x.ours), join(x.theirs)
		there, back := merge.NewMeasure(a).Distance(b), merge.NewMeasure(b).Distance(a)
		require.Equal(t, there, back)
		require.Equal(t, bytes.Equal(a, b), there == 0)
		require.GreaterOrEqual(t, there, 0)
	})
}

// TestMeasureIsReused: a comparison leaves nothing behind in the measure.
func TestMeasureIsReused(t *testing.T) {
	m := merge.NewMeasure([]byte("a\nb c\nb c\n"))
	first := m.Distance([]byte("b\nb c\n"))
	m.Distance([]byte("a\na\nb c\n"))
	require.Equal(t, first, m.Distance([]byte("b\nb c\n")))
}

package merge_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/merge"
)

// FuzzTexts merges any three texts: nothing that ours has and theirs left goes, nothing comes that
// nobody wrote, and what theirs added is there unless theirs is kept whole.
func FuzzTexts(f *testing.F) {
	for _, s := range [][3]string{
		{"", "a", "b"}, {"a\n", "a\nb\n", "a\nc\n"}, {"a\r\nb", "a\nb", "b\r\n\r\n"},
		{"---\na: 1\n---\nb\n", "---\na: 2\n---\nb\n", "---\na: 1\nc: [x]\n---\nd\n"},
		{"---\n{a: 1}\n---\n", "\ufeff---\n? a\n: 1\n---\n", "---\na: |+\n  x\n\n---\n"},
		{"- a\n\n- b\n", "- a\n\n- b\n\n- c\n", "- a\n- b\n\n\n- c\n- d\n"},
		{"a\nb\nc\n", "c\nb\na\n", "b\na\nc\n"}, {"```\na\n```\n", "```\nb\n```\n", "```\n\x00\xff\n```\n```\n"},
	} {
		f.Add([]byte(s[0]), []byte(s[1]), []byte(s[2]))
	}
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		m := merge.Texts(base, ours, theirs)
		require.Equal(t, string(m.Text), string(merge.Texts(base, ours, theirs).Text))
		for _, text := range [][]byte{base, ours, theirs} {
			if bytes.ContainsRune(text, '\r') || bytes.HasPrefix(text, []byte("\ufeff")) {
				return
			}
		}
		b, o, h, got := count(base), count(ours), count(theirs), count(m.Text)
		for line := range got {
			require.NotZero(t, o[line]+h[line], "nobody's: %q", line)
		}
		for line := range h {
			if bytes.HasPrefix(bytes.TrimSpace(theirs), []byte("---")) {
				break // a field that is only written in another way may stay as ours wrote it
			}
			require.True(t, m.Overlaps || b[line] > 0 || got[line] > 0, "theirs: %q", line)
		}
	})
}

// FuzzMeasure: a distance is symmetrical, and zero between equal texts only.
func FuzzMeasure(f *testing.F) {
	f.Add([]byte("a b\nc\n"), []byte("a\nb c\n"))
	f.Add([]byte("日本語 a\n"), []byte("日本\n\xff"))
	f.Add([]byte("a\nb\nb\na\n"), []byte("b\na\na\nb\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		there, back := merge.NewMeasure(a).Distance(b), merge.NewMeasure(b).Distance(a)
		require.Equal(t, there, back)
		require.Equal(t, bytes.Equal(a, b), there == 0)
		require.GreaterOrEqual(t, there, 0)
	})
}

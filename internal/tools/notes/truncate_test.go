package notes

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTruncate covers the examples of A4, and characters of two UTF-16 units.
func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text  string
		units int
		want  string
	}{
		{"hello world foo", 8, "hello…"}, {"abcdefgh", 4, "abcd…"}, {"abcd", 4, "abcd"}, {"", 4, ""},
		{"a bcdefgh", 6, "a bcde…"}, {"abc defgh", 6, "abc de…"}, {"abcd efgh", 6, "abcd…"},
		{"ab😀cd", 3, "ab…"}, {"ab😀cd", 4, "ab😀…"}, {"ab😀", 4, "ab😀"},
	} {
		require.Equal(t, c.want, truncate(c.text, c.units), "%q %d", c.text, c.units)
	}
}

package control_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/control"
)

// every are the characters that are escaped.
func every() []rune {
	all := []rune{0x7f}
	for r := rune(0); r < 0x20; r++ {
		all = append(all, r)
	}
	for r := rune(0x80); r < 0xa0; r++ {
		all = append(all, r)
	}
	for r := rune(0x202a); r <= 0x202e; r++ {
		all = append(all, r)
	}
	for r := rune(0x2066); r <= 0x2069; r++ {
		all = append(all, r)
	}
	return all
}

func TestEscape(t *testing.T) {
	for _, r := range every() {
		require.True(t, control.Is(r), "%U", r)
		out := control.Escape("a" + string(r) + "b")
		if r == '\n' || r == '\t' {
			require.Equal(t, "a"+string(r)+"b", out)
			continue
		}
		require.Regexp(t, `^a\\u[0-9a-f]{4}b$`, out, "%U", r)
	}
	for _, s := range []string{"", "plain", "ひらがな", "مرحبا", "a\u200fb", "a\u200db", "a\u00a0b", "🎉"} {
		require.Equal(t, s, control.Escape(s))
		require.False(t, control.Has(s))
	}
	require.Equal(t, "a\ufffdb", control.Escape("a\x9bb"))
	require.Equal(t, `\u001b[2Ja`, control.Escape("\x1b[2Ja"))
}

// TestEscapeLine holds that a line stays one.
func TestEscapeLine(t *testing.T) {
	for _, r := range every() {
		require.Regexp(t, `^a\\u[0-9a-f]{4}b$`, control.EscapeLine("a"+string(r)+"b"), "%U", r)
	}
	require.Equal(t, "ひらがな", control.EscapeLine("ひらがな"))
}

// TestEscapeJSON holds that the result is the same JSON, and has none of the characters.
func TestEscapeJSON(t *testing.T) {
	text := `\ " `
	for _, r := range every() {
		text += string(r)
	}
	raw, err := json.MarshalIndent(map[string]string{text: text}, "", "  ")
	require.NoError(t, err)
	out := control.EscapeJSON(raw)
	require.JSONEq(t, string(raw), string(out))
	for _, r := range string(out) {
		require.True(t, r == '\n' || !control.Is(r), "%U", r)
	}
}

package blob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

func TestCheckKey(t *testing.T) {
	segment := strings.Repeat("s", blob.MaxSegment)
	for _, key := range []string{
		"a", "a/b", ".a", "...", "a..b/..c", "a b", "Ærø/日本語.md", "log/~", `\`, segment,
		strings.Repeat("k/", blob.MaxKey/2-1) + "kk",
	} {
		require.NoError(t, blob.CheckKey(key), "%q", key)
	}
	for _, key := range []string{
		"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "./a", "a\x00", "a\r\n", "\x7f", "\u0085",
		"\xff", segment + "s", strings.Repeat("k/", blob.MaxKey/2) + "k",
	} {
		require.ErrorIs(t, blob.CheckKey(key), blob.ErrKey, "%q", key)
	}
}

func TestCond(t *testing.T) {
	require.Zero(t, blob.Always)
	require.True(t, blob.IfAbsent.Absent())
	require.Empty(t, blob.IfAbsent.Tag())
	require.Equal(t, blob.Tag("x"), blob.IfTag("x").Tag())
	require.NotEqual(t, blob.Always, blob.IfTag(""), "the empty tag is a condition")
	require.NotEmpty(t, blob.IfTag("").Tag())
}

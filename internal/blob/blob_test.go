package blob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/fileblob"
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

// plain hides that a bucket is an Exchanger.
type plain struct{ blob.Bucket }

func TestSubExchanges(t *testing.T) {
	b, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })

	_, ok := blob.Sub(plain{b}, "a").(blob.Exchanger)
	require.False(t, ok, "what cannot exchange does not seem to")
	sub, ok := blob.Sub(blob.Sub(b, "a"), "b").(blob.Exchanger)
	require.True(t, ok)
	require.NoError(t, sub.Exchange(t.Context(), "c", []byte("one"), nil))
	require.NoError(t, sub.Sync(t.Context(), "c"))
	data, _, err := b.Get(t.Context(), "a/b/c", 0, -1)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))

	wrong := blob.Sub(b, "../a").(blob.Exchanger)
	require.ErrorIs(t, wrong.Exchange(t.Context(), "c", nil, nil), blob.ErrKey)
	require.ErrorIs(t, wrong.Remove(t.Context(), "c", nil), blob.ErrKey)
	require.ErrorIs(t, wrong.Sync(t.Context(), "c"), blob.ErrKey)
}

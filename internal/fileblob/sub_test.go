package fileblob_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A plain is a bucket whose other interfaces are hidden.
type plain struct{ blob.Bucket }

func TestSubExchanges(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
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

package vault_test

import (
	"strings"
	"testing"

	"github.com/gosimple/slug"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/vault"
)

// TestSlugOfPlainWords checks that the fast path of Slug returns the same result as the slow one.
func TestSlugOfPlainWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringMatching(`[A-Za-z0-9 -]{1,30}`).Draw(t, "title")
		got := vault.Slug(title)
		if want := slug.Make(title); want != "" && len(want) > len("conout$") {
			require.Equal(t, want, got)
		}
		require.Equal(t, got, vault.Slug(got), "a slug is its own slug")
	})
	require.Equal(t, "con-note", vault.Slug("Con"))
	require.LessOrEqual(t, len(vault.Slug(strings.Repeat("a", 300))), vault.MaxSegment)
}

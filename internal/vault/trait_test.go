package vault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

func TestTraitID(t *testing.T) {
	require.Equal(t, "due-e2bae6c0",
		vault.TraitID("daily/2026-03-02#standup", "due", "Send estimate"))
	same := strings.Repeat("é", 50)
	require.Equal(t, vault.TraitID("a", "due", same), vault.TraitID("a", "due", same+"more"))
	require.NotEqual(t, vault.TraitID("a", "due", same), vault.TraitID("a", "due", same[2:]))
	require.Equal(t, same, vault.TraitText(same+"x"))
	require.Equal(t, "short", vault.TraitText("short"))
}

func TestTraitType(t *testing.T) {
	s := parse(t, `
traits:
  flag: {}
  due: date
  pages: number
  stage: {type: enum, values: [low, "3"], default: low}
  owner: ref
  owners: "ref[]"
  sizes: "number[]"
  done: {type: bool, default: false}
`)
	rows := []struct {
		trait    string
		in, want any
		dflt     bool
	}{
		{"flag", nil, true, false},
		{"flag", "false", false, false},
		{"flag", "true", true, false},
		{"flag", "maybe", "maybe", false},
		{"flag", false, false, false},
		{"done", nil, true, false},
		{"due", "2026-03-02", "2026-03-02", false},
		{"due", nil, nil, false},
		{"pages", "12.5", 12.5, false},
		{"pages", "many", "many", false},
		{"pages", 3.0, 3.0, false},
		{"stage", nil, "low", true},
		{"stage", "3", "3", false},
		{"owner", "people/freya", markdown.Ref("people/freya"), false},
		{"owner", markdown.Ref("people/freya"), markdown.Ref("people/freya"), false},
		{"owners", []any{"a", markdown.Ref("b")}, []any{markdown.Ref("a"), markdown.Ref("b")}, false},
		{"owners", "a", []any{markdown.Ref("a")}, false},
		{"sizes", []any{"1", "x"}, []any{1.0, "x"}, false},
	}
	for _, r := range rows {
		trait, ok := s.Trait(r.trait)
		require.True(t, ok)
		got, dflt := trait.Typed(r.in)
		require.Equal(t, r.want, got, "%s ← %#v", r.trait, r.in)
		require.Equal(t, r.dflt, dflt, r.trait)
	}
}

func TestSlugPath(t *testing.T) {
	for in, want := range map[string]string{
		"My Folder/Some File": "my-folder/some-file", "person/Thor": "person/thor", "solo": "solo",
		"": "", "a/": "a/", "Über/日本": "uber/ri-ben",
	} {
		require.Equal(t, want, vault.SlugPath(in), in)
	}
}

package vault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/vault"
)

// exclusions are patterns with paths that they exclude or do not exclude. The results are those of
// Git.
var exclusions = []struct{ patterns, out, in string }{
	{"", "x/build/b/a.md dist/a.md x/build/a.md target/y/a.md out/a.md Thumbs.db/a.md",
		"a.md x/a.md dist.md out.md builds/a.md build.md Dist/a.md thumbs.db/a.md"},
	{"", ".a.md .obsidian/a.md x/.git/a.md x/.cache/a.md .next/a.md x/.hidden.md", "x.y/a.md a..md x/a.b.md"},
	{"!.obsidian/", ".obsidian/a.md", "a.md"},
	{"drafts/", "drafts/a.md x/drafts/y/a.md", "drafts.md x/drafts.md"},
	{"/drafts", "drafts/a.md", "x/drafts/a.md drafts.md"},
	{"drafts", "drafts/a.md x/drafts/a.md", "drafts.md"},
	{"x/drafts", "x/drafts/a.md", "y/x/drafts/a.md drafts/a.md"},
	{"*.tmp.md", "a.tmp.md x/y/a.tmp.md", "a.md tmp.md"},
	{"/*.md", "a.md", "x/a.md"},
	{"a?c.md", "abc.md x/a-c.md", "ac.md abbc.md"},
	{"[a-c]x.md", "ax.md x/bx.md", "dx.md Ax.md"},
	{"[!a]x.md", "bx.md", "ax.md"},
	{"[[:digit:]].md", "7.md x/0.md", "a.md 77.md"},
	{"**/logs", "logs/a.md x/y/logs/a.md", "logs.md"},
	{"logs/**", "logs/a.md logs/x/a.md", "x/logs/a.md"},
	{"logs/**|!logs/a.md", "logs/b.md logs/x/a.md", "logs/a.md"},
	{"logs|!logs/a.md", "logs/a.md logs/b.md", "a.md"},
	{"logs/*|!logs/keep/", "logs/a.md logs/x/a.md", "logs/keep/a.md"},
	{"*|!keep/", "a.md x/a.md keep/a.md", ""},
	{"*|!keep/|!keep/**", "a.md x/a.md", "keep/a.md keep/x/a.md"},
	{"*|!*/|!*.md", "a.txt", "a.md x/y/a.md"},
	{"a/**/b.md", "a/b.md a/x/b.md a/x/y/b.md", "b.md x/a/b.md"},
	{"*.md|!a.md", "b.md x/b.md", "a.md x/a.md"},
	{"*.md|!a.md|a.md", "a.md x/b.md", ""},
	{"!dist/", "build/a.md", "dist/a.md x/dist/y/a.md"},
	{"# note|\\#x.md", "#x.md x/#x.md", "x.md note"},
	{"\\!x.md", "!x.md", "x.md"},
	{"*.md|!!x.md", "x.md a.md", "!x.md"},
	{"drafts/  ", "drafts/a.md", "x.md"},
	{"a\\ .md", "a_.md", "a.md"}, // _ is a space
	{"/", "", "a.md x/a.md"},
	{"|  ", "", "a.md x/a.md"},
	{"日本/", "日本/a.md x/日本/a.md", "日/a.md"},
	{"a**b.md", "ab.md axxb.md x/ab.md", "a/b.md"},
}

func TestExclusion(t *testing.T) {
	for _, row := range exclusions {
		t.Run(row.patterns, func(t *testing.T) {
			e, known := vault.NewExclusion(strings.Split(row.patterns, "|")), map[string]bool{}
			for list, want := range map[string]bool{row.out: true, row.in: false} {
				for _, path := range strings.Fields(list) {
					path = strings.ReplaceAll(path, "_", " ")
					require.Equal(t, want, e.Excludes(path, known), path)
					require.Equal(t, want, e.Excludes(path, nil), path)
				}
			}
		})
	}
}

func TestExcludedNames(t *testing.T) {
	e := vault.NewExclusion(nil)
	for _, path := range []string{"node_modules/a.md", "x/__pycache__/y/a.md"} {
		require.True(t, e.Excludes(path, nil), path)
	}
	require.False(t, e.Excludes("node_modules.md", nil))
}

// TestPatternsThatAreNone checks that invalid patterns are reported, and that the others still
// apply.
func TestPatternsThatAreNone(t *testing.T) {
	c, err := vault.ParseConfig([]byte("exclude: ['a/', '[[:nope:]]', \"b\\nc\", 'd/']\n"), nil)
	require.ErrorContains(t, err, "2 problems")
	require.Equal(t, []string{"a/", "d/"}, c.Exclude)
	c, err = vault.ParseConfig([]byte("exclude:\n"+strings.Repeat("- x\n", 1001)), nil)
	require.ErrorContains(t, err, "more than 1000 patterns")
	require.Len(t, c.Exclude, 1000)
}

package corpus_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

func notes(seed uint64, n int) []corpus.File {
	return slices.Collect(corpus.Vault(seed, n))[1:]
}

func TestSameSeedSameBytes(t *testing.T) {
	first := slices.Collect(corpus.Vault(7, 300))
	require.Equal(t, first, slices.Collect(corpus.Vault(7, 300)))
	require.NotEqual(t, first, slices.Collect(corpus.Vault(8, 300)))
}

func TestVaultHasASchemaAndItsNotes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 19, 1000} {
		all := slices.Collect(corpus.Vault(1, n))
		require.Len(t, all, n+1)
		require.Equal(t, corpus.SchemaPath, all[0].Path)
		if n > 0 {
			require.Equal(t, corpus.Hot+".md", all[1].Path)
		}
	}
	schema, err := vault.ParseSchema([]byte(slices.Collect(corpus.Vault(1, 0))[0].Text))
	require.NoError(t, err)
	for _, name := range []string{"person", "project", "book", "meeting"} {
		_, ok := schema.Type(name)
		require.True(t, ok, name)
	}
}

func TestVaultStopsWhenNobodyWantsMore(t *testing.T) {
	seen := 0
	for range corpus.Vault(1, 1000) {
		if seen++; seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
}

func TestPathsAreValidAndDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range notes(1, 12000) {
		_, err := vault.ParsePath(f.Path)
		require.NoError(t, err, f.Path)
		key := vault.Fold(f.Path)
		require.False(t, seen[key], "%s comes twice", f.Path)
		seen[key] = true
	}
}

func TestSizesAreLognormalAround2KB(t *testing.T) {
	var sizes []int
	for _, f := range notes(1, 4000) {
		require.True(t, utf8.ValidString(f.Text), f.Path)
		require.LessOrEqual(t, len(f.Text), corpus.MaxSize, f.Path)
		sizes = append(sizes, len(f.Text))
	}
	slices.Sort(sizes)
	at := func(percent int) int { return sizes[len(sizes)*percent/100] }
	require.InDelta(t, 2150, at(50), 250)
	require.InDelta(t, 2048/2.46, at(16), 250, "one standard deviation below")
	require.InDelta(t, 2048*2.46, at(84), 500, "one standard deviation above")
}

func TestManyNotesReferToTheHotObject(t *testing.T) {
	all := notes(1, 2000)
	hot := 0
	for _, f := range all {
		if strings.Contains(f.Text, "[["+corpus.Hot) {
			hot++
		}
	}
	require.Greater(t, hot, len(all)*3/10)
}

func TestReferencesLeadToNotes(t *testing.T) {
	paths := map[string]bool{}
	all := notes(3, 700)
	for _, f := range all {
		paths[f.Path] = true
	}
	for _, f := range all {
		for _, part := range strings.Split(f.Text, "[[")[1:] {
			target, _, _ := strings.Cut(part, "]]")
			target, _, _ = strings.Cut(target, "|")
			if strings.Contains(target, "/") {
				require.True(t, paths[target+".md"], "%s refers to %s", f.Path, target)
			}
		}
	}
}

func TestNotesAreWrittenInManyScripts(t *testing.T) {
	scripts := []*unicode.RangeTable{
		unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew,
		unicode.Devanagari, unicode.Thai, unicode.Han, unicode.Hiragana, unicode.Hangul,
	}
	for i, script := range scripts {
		require.True(t, slices.ContainsFunc(notes(1, 300), func(f corpus.File) bool {
			return strings.ContainsFunc(f.Text, func(r rune) bool { return unicode.Is(script, r) })
		}), "script %d", i)
	}
}

func TestNotesHaveWhatRealOnesHave(t *testing.T) {
	for _, want := range []string{
		"\r\n", "---\ntype: person\n", "---\ntype: date\n", "\n# ", "   # ", ": '", `: "`, "@due(2",
		"@priority(high)", "@status(done)", "@assignee([[", "\n> ", "```yaml\n", "\n## ",
	} {
		require.True(t, slices.ContainsFunc(notes(1, 400), func(f corpus.File) bool {
			return strings.Contains(f.Text, want)
		}), "no note has %q", want)
	}
}

func TestAgendaHasItsTraits(t *testing.T) {
	f := corpus.Agenda("2026-03-02", 10_000)
	_, err := vault.ParsePath(f.Path)
	require.NoError(t, err)
	traits := markdown.Parse([]byte(f.Text)).Traits
	require.Len(t, traits, 10_000)
	require.Equal(t, 1, strings.Count(f.Text, corpus.AgendaRevision(0)))
	due := strings.Count(f.Text, "@due(2026-03-02)")
	require.Greater(t, due, 3, "some of it is due on the day itself")
	require.Less(t, due, 20)
	require.Less(t, len(f.Text), 1<<20, "a vault takes it")
}

func TestHandbookHasItsHeadings(t *testing.T) {
	f := corpus.Handbook(10_000, "people/freya")
	doc := markdown.Parse([]byte(f.Text))
	require.Equal(t, corpus.HandbookPath, f.Path)
	require.Len(t, doc.Headings, 10_001)
	require.Equal(t, 1, strings.Count(f.Text, corpus.HandbookRevision(0)))
	require.Equal(t, 5000, strings.Count(f.Text, "[[people/freya]]"))
	require.Less(t, len(f.Text), 1<<20)
}

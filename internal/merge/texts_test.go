package merge_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/merge"
)

// TestTexts are the rules, as texts that a person can read.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		cases, names := map[string]map[string]string{}, []string{}
		for _, f := range archive.Files {
			name, part, ok := strings.Cut(f.Name, ": ")
			require.True(t, ok, f.Name)
			if cases[name] == nil {
				cases[name], names = map[string]string{}, append(names, name)
			}
			cases[name][part] = string(f.Data)
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) { check(t, cases[name]) })
		}
	}
}

// check merges a case, and then again as if the texts had begun with a byte order mark, had other line
// breaks, and no last one.
func check(t *testing.T, parts map[string]string) {
	require.Len(t, parts, 4)
	want, overlaps := parts["overlaps"]
	if !overlaps {
		want = parts["merged"]
	}
	for _, form := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		func(s string) string { return strings.TrimSuffix(s, "\n") },
		func(s string) string { return "\ufeff" + s },
	} {
		m := merge.Texts([]byte(form(parts["base"])), []byte(form(parts["ours"])), []byte(form(parts["theirs"])))
		require.Equal(t, form(want), string(m.Text))
		require.Equal(t, overlaps, m.Overlaps)
	}
}

// TestBytes are the cases that are about bytes.
func TestBytes(t *testing.T) {
	cases := []struct {
		name, base, ours, theirs, want string
		overlaps                       bool
	}{
		{"theirs has other line breaks", "a\nb\n", "A\nb\n", "a\r\nb\r\n", "A\r\nb\r\n", false},
		{"ours has other line breaks", "a\nb\n", "a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n", false},
		{"both have other line breaks", "a\r\nb\r\n", "A\nb\n", "a\nb\nc\n", "A\nb\nc\n", false},
		{"mixed line breaks stay", "a\r\nb\nc\r\nd\n", "a\r\nB\nc\r\nd\n", "a\r\nb\nc\r\nd\ne\r\n",
			"a\r\nB\nc\r\nd\ne\r\n", false},
		{"a carriage return alone", "a\rb\r\nc\r\n", "a\rb\r\nC\r\n", "a\rb\r\nc\r\nd\r\n",
			"a\rb\r\nC\r\nd\r\n", false},
		{"a carriage return at the end", "a\nb\r", "A\nb\r", "z\na\nb\r", "z\nA\nb\r", false},
		{"one line, then lines", "a", "A", "a\r\nb\r\n", "A\r\nb\r\n", false},
		{"theirs ended the text", "a\nb", "A\nb", "a\nb\n", "A\nb\n", false},
		{"no line is glued", "a", "a\nours", "a\ntheirs", "a\nours\ntheirs", false},
		{"a line behind one without an end", "a\nb", "A\nb", "a\nb\nc", "A\nb\nc", false},
		{"mixed, without an end", "a\r\nb\nc", "A\r\nb\nc", "a\r\nb\nc\nd", "A\r\nb\nc\nd", false},
		{"theirs took the mark away", "\ufeffa\nb\n", "\ufeffA\nb\n", "a\nb\n", "A\nb\n", false},
		{"theirs set the mark", "---\na: 1\n---\n", "---\na: 2\n---\n", "\ufeff---\na: 1\nb: 1\n---\n",
			"\ufeff---\na: 2\nb: 1\n---\n", false},
		{"not UTF-8", "\xff\n\x00\n", "\xff\n\x00\n\xfe\n", "\xfd\n\xff\n\x00\n", "\xfd\n\xff\n\x00\n\xfe\n", false},
		{"not UTF-8 behind a frontmatter", "---\na: 1\n---\n\xff\n", "---\na: 2\n---\n\xff\n",
			"---\na: 1\nb: 1\n---\n\xff\n", "---\na: 2\nb: 1\n---\n\xff\n", false},
		{"not UTF-8 in a frontmatter", "---\na: \xff\n---\n", "---\na: \xff\n---\nb\n",
			"---\na: \xfe\n---\n", "---\na: \xfe\n---\nb\n", false},
		{"all from nothing", "", "a\n", "", "a\n", false},
		{"all is removed", "a\n", "", "", "", false},
		{"indents that do not go together", "---\na: 1\n---\n", "---\n  a: 1\n  b: 1\n---\nx\n",
			"---\na: 1\nc: 1\n---\nx\n", "---\n  a: 1\n  b: 1\n---\nx\n", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := merge.Texts([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			require.Equal(t, c.want, string(m.Text))
			require.Equal(t, c.overlaps, m.Overlaps)
		})
	}
}

// TestLongTexts merges changes that are far apart, and long: more lines than the search for matches
// looks over.
func TestLongTexts(t *testing.T) {
	number := func(what string, n int) []string {
		var all []string
		for i := range n {
			all = append(all, strings.Repeat(what+" ", 1+i%7)+strings.Repeat("i", i)+"\n")
		}
		return all
	}
	section, middle, other := number("section", 300), number("middle", 300), number("other", 300)
	text := func(parts ...[]string) []byte {
		var s strings.Builder
		for _, part := range parts {
			s.Write(join(part))
		}
		return []byte(s.String())
	}
	changed := append([]string{"changed\n"}, middle[1:]...)
	m := merge.Texts(text(section, middle, other), text(middle, number("new", 300), section),
		text(section, changed, other))
	require.False(t, m.Overlaps)
	require.Equal(t, string(text(changed, number("new", 300), section)), string(m.Text))
}

// TestUnlikeTexts merges texts of two lines that stand there over and over, where what matches what is
// anybody's guess: nothing of ours is lost, either.
func TestUnlikeTexts(t *testing.T) {
	text := func(seed uint64) []string {
		r := rand.New(rand.NewPCG(seed, 0))
		var all []string
		for range 8_000 {
			all = append(all, []string{"- a\n", "- b\n"}[r.IntN(2)])
		}
		return all
	}
	x := three{text(1), text(2), append(text(3), "theirs\n")}
	m := x.merge()
	base, ours, theirs, got := count(join(x.base)), count(join(x.ours)), count(join(x.theirs)), count(m.Text)
	for line, n := range ours {
		require.GreaterOrEqual(t, got[line], n-max(0, base[line]-theirs[line]))
	}
	require.True(t, m.Overlaps || got["theirs\n"] == 1)
}

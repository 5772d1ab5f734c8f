package markdown_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

func FuzzRemoveSection(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), i)
	}
	f.Add([]byte("#\r0\n# 0"), 0)
	f.Fuzz(func(t *testing.T, text []byte, i int) {
		d := markdown.Parse(text)
		if len(text) > 10_000 || len(d.Headings) == 0 {
			return
		}
		slug := d.Headings[max(0, i%len(d.Headings))].Slug
		if out, removed, err := markdown.RemoveSection(text, slug); err == nil {
			checkRemoved(t, text, out, removed)
		}
	})
}

// checkRemoved requires that a text lacks what was removed, and nothing else; a line break may stand
// in its place.
func checkRemoved(t *testing.T, text, out, removed []byte) {
	for at := 0; ; at++ {
		n := bytes.Index(text[at:], removed)
		require.GreaterOrEqual(t, n, 0, "%q became %q without %q", text, out, removed)
		at += n
		before, after := text[:at], text[at+len(removed):]
		if bytes.HasPrefix(out, before) && bytes.HasSuffix(out, after) && len(out) >= len(before)+len(after) {
			between := out[len(before) : len(out)-len(after)]
			require.Empty(t, strings.Trim(string(between), "\r\n"))
			return
		}
	}
}

func FuzzFindOnce(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []string{"a", "# ", "\n\n", "---", "x\ny"}[i%5], "new\ntext")
	}
	f.Fuzz(func(t *testing.T, text []byte, old, with string) {
		o, err := markdown.FindOnce(text, old, with)
		if strings.Count(string(text), old) > 1 || old == "" {
			require.Error(t, err)
			return
		}
		if !strings.Contains(string(text), old) { // its line breaks may be those of another system
			return
		}
		at := strings.Index(string(text), old)
		if strings.Contains(string(text[at+1:]), old) {
			require.Error(t, err, "occurrences that overlap count")
			return
		}
		require.NoError(t, err)
		require.Equal(t, strings.Replace(string(text), old, with, 1),
			string(text[:o.At.Start])+o.With+string(text[o.At.End:]))
		require.Equal(t, 1+bytes.Count(text[:at], []byte("\n")), o.Line)
	})
}

func FuzzCompose(f *testing.F) {
	f.Add("type", "person", "# T\n")
	f.Add("a b", "- x", "---\n")
	f.Add("ключ", "p\nq", "")
	f.Fuzz(func(t *testing.T, key, value, body string) {
		text, err := markdown.Compose([]markdown.Field{{Key: key, Value: value}}, body)
		if err != nil || !utf8.ValidString(body) { // a note of other bytes is quarantined
			return
		}
		d := markdown.Parse(text)
		require.Nil(t, d.Problem, "%q", text)
		_, ok := d.Frontmatter.Get(key)
		require.True(t, ok, "%q", text)
		require.True(t, strings.HasSuffix(string(text), body))
	})
}

// FuzzReorder turns the order of sections around, cuts one out and puts it into the note again: what is written has the
// headings that it should have, or the text is refused.
func FuzzReorder(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), i)
	}
	f.Fuzz(func(t *testing.T, text []byte, i int) {
		if len(text) > 10_000 {
			return
		}
		sections := tops(text)
		if len(sections) == 0 {
			return
		}
		i = max(0, i%len(sections))
		order := markdown.Parse(text).Siblings(sections[i])
		slices.Reverse(order)
		if r, err := markdown.Reorder(text, sections[i], order); err == nil {
			require.Equal(t, headings(text), headings(r.Text), "%q became %q", text, r.Text)
		}
		cut, s, err := markdown.CutSection(text, sections[i])
		if err != nil {
			return
		}
		require.Equal(t, headings(text)-s.Sections(), headings(cut.Text), "%q became %q", text, cut.Text)
		if put, err := markdown.PlaceSections(cut.Text, 0, i, &s); err == nil {
			require.Equal(t, headings(text), headings(put.Text), "%q became %q", cut.Text, put.Text)
		}
		own, err := s.Own()
		if err != nil {
			return
		}
		other := slices.Concat([]byte("## Before\n\n"), own.Text, []byte("\n"))
		if len(tops(other)) != 2 {
			return
		}
		if swapped, new, err := markdown.SwapSection(text, sections[i], other, tops(other)[1]); err == nil {
			require.Equal(t, headings(text)-s.Sections()+new.Sections(), headings(swapped.Text), "%q became %q", text, swapped.Text)
		}
	})
}

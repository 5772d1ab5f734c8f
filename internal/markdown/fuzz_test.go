package markdown_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// seeds are notes that fuzzing starts from.
var seeds = []string{
	"", "# T\n", "---\n---\n# H", "\ufeff---\r\na: 1 # c\r\nb: [x, 'y']\r\n---\r\n\r\n# T\r\n",
	"---\na: |+\n  x\n\nb: >-\n  y\nc:\n  - \"[[p|q]]\"\n  - [1, [2]]\n---\n- # in\n\n> q\n> ===\n",
	"---\n? a\n: 1\n---\n", "---\n{a: 1}\n---\n", "---\na: &x 1\nb: *x\n---\n", "---\na: !!str\n---\n",
	"---\n\"a\\n\": 'x\n\n  y'\nb: x\n  y # c\n---\n", "---\na: 2025-1-1\nb: .inf\nc: 0777\n---\n",
	"```\n# x\n", "<!--\n# x\n", "[a]: /b\n===\n", "- - - a\n\n\n\n  # b\n", "\t- a\n  1. b\n", "---\na: 1\n...\n---\n",
	"## A\n::t(a=[x, \"y, z\"], b=[[[p]], [[q|r]]])\n\n- [ ] @a(1) *b* @id(x) [c](<d e>) `@f` #g\n",
	"## A\n::t\nid: x\na: [[b]], [[c]]\n\n@a (x) [[[b]], [[c]]] @d([\"e\"])\\\n<i @f> ![[g]] \\[[h]] **_@i_**\n",
	"# [a](b.c) [d][e] #f\n\n> - # G @h\n>   ``[[i`j]]`` @k\n\n[e]: /u\n", "@h @a(x) (k)\n- @b\n  - c\n",
	"---\n a: 1\n b:\n  - x\n---\n", "---\na: \u2028 b\nc\u0085: d\n---\n", "\xff\n---\n", "a\rb\n# c\r",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := markdown.Parse(text)
		checkDoc(t, d, text)
		_, err := json.Marshal(fields(d))
		require.NoError(t, err)
	})
}

// checkDoc requires what holds of every Doc.
func checkDoc(t *testing.T, d *markdown.Doc, text []byte) {
	lineAt := func(at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
	require.True(t, d.Problem == nil || d.Frontmatter == nil)
	require.Equal(t, lineAt(d.Body), d.BodyLine)
	slugs := map[string]bool{}
	declared := map[string]bool{}
	for _, h := range d.Headings {
		if h.Declaration != nil && h.Declaration.ID != "" {
			declared[h.Slug] = true
		}
	}
	end := d.Body
	for i, h := range d.Headings {
		require.False(t, slugs[h.Slug] && !declared[h.Slug], "slugs are unique")
		slugs[h.Slug] = true
		require.Less(t, h.Parent, i)
		require.Equal(t, lineAt(h.Own.Start), h.Line)
		require.LessOrEqual(t, h.Line, d.LineCount)
		require.Greater(t, h.Content, h.Own.Start)
		require.LessOrEqual(t, h.Content, h.Own.End)
		require.LessOrEqual(t, h.Own.End, h.Subtree.End)
		if i > 0 {
			require.Equal(t, end, h.Own.Start, "sections follow one another")
		}
		end = h.Own.End
	}
	if len(d.Headings) > 0 {
		require.Equal(t, len(text), end)
	}
	checkEntries(t, d, text)
	checkFound(t, d, text, lineAt)
}

// checkFound requires that what was found stands where it is said to stand, in text order.
func checkFound(t *testing.T, d *markdown.Doc, text []byte, lineAt func(int) int) {
	at := func(s markdown.Span, line, scope int) string {
		require.Equal(t, lineAt(s.Start), line)
		require.Equal(t, scopeAt(d, line), scope)
		return string(text[s.Start:s.End])
	}
	last := d.Body
	for _, tr := range d.Traits {
		require.GreaterOrEqual(t, tr.Span.Start, last)
		last = tr.Span.End
		whole := at(tr.Span, tr.Line, tr.Scope)
		require.True(t, strings.HasPrefix(whole, "@"+tr.Name), "%q", whole)
		require.NotContains(t, whole, "\n")
		require.LessOrEqual(t, tr.Span.Start, tr.Text.Start)
		require.LessOrEqual(t, tr.Text.End, tr.Span.End)
		require.Equal(t, tr.Raw == "", tr.Kind == markdown.KindNone)
		require.NotEqual(t, "id", tr.Name)
	}
	last = 0
	for _, r := range d.References {
		require.GreaterOrEqual(t, r.Span.Start, last)
		last = r.Span.Start
		whole := string(text[r.Span.Start:r.Span.End])
		if strings.HasSuffix(whole, ")") { // a link of Markdown, whose target is decoded
			require.NotEqual(t, markdown.Wikilink, r.Form)
			at(r.Span, r.Line, r.Scope)
			continue
		}
		require.NotEqual(t, markdown.MarkdownLink, r.Form)
		require.Contains(t, strings.ToValidUTF8(whole, "\ufffd"), r.Target)
		require.True(t, strings.HasPrefix(whole, "[[") && strings.HasSuffix(whole, "]]"), "%q", whole)
		if r.Place == markdown.InBody {
			at(r.Span, r.Line, r.Scope)
		}
		if r.Place == markdown.InFrontmatter {
			require.Equal(t, lineAt(r.Span.Start), r.Line)
		}
	}
	for _, l := range d.Links {
		whole := at(l.Span, l.Line, l.Scope)
		require.True(t, strings.HasSuffix(whole, ")"), "%q", whole)
		require.NotContains(t, l.Key("d"), "\n")
	}
	for _, h := range d.Headings {
		if e := h.Declaration; e != nil {
			require.Equal(t, lineAt(e.Span.Start), e.Line)
			require.True(t, bytes.HasPrefix(text[e.Span.Start:e.Span.End], []byte("::"+e.Type)))
			for _, a := range e.Fields {
				require.Equal(t, lineAt(a.Span.Start), a.Line)
				require.True(t, bytes.HasPrefix(text[a.Span.Start:a.Span.End], []byte(a.Key)))
				require.LessOrEqual(t, a.Text.End, a.Span.End)
			}
		}
	}
}

// scopeAt is the last heading that begins in the line or before it.
func scopeAt(d *markdown.Doc, line int) int {
	scope := -1
	for i, h := range d.Headings {
		if h.Line <= line && !h.Title {
			scope = i
		}
	}
	return scope
}

func checkEntries(t *testing.T, d *markdown.Doc, text []byte) {
	if d.Frontmatter == nil {
		return
	}
	require.LessOrEqual(t, d.Frontmatter.Inner.End, d.Body)
	for _, e := range d.Frontmatter.Entries {
		require.LessOrEqual(t, e.Lines.Start, e.Lines.End)
		require.LessOrEqual(t, e.Text.Start, e.Text.End)
		require.LessOrEqual(t, e.Text.End, d.Frontmatter.Inner.End)
		require.LessOrEqual(t, e.Lines.End, d.Frontmatter.Inner.End)
		require.Positive(t, e.Line)
	}
}

func FuzzSetFields(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []string{"a", "b", "c", "new"}[i%4], []string{"x", "- y", "12", "p\nq"}[i%4], i%3)
	}
	f.Fuzz(func(t *testing.T, text []byte, key, value string, items int) {
		var v any = value
		if items%4 > 0 {
			v = []any{value, true, nil}[:items%4]
		}
		out, err := markdown.SetFields(text, []markdown.Field{{Key: key, Value: v}})
		if err != nil {
			code := fault.Of(err).Code
			require.Contains(t, []fault.Code{fault.InvalidField, fault.InvalidValue}, code)
			return
		}
		before, after := markdown.Parse(text), markdown.Parse(out)
		require.Nil(t, after.Problem)
		require.Equal(t, string(text[before.Body:]), string(out[after.Body:]))
		_, ok := after.Frontmatter.Get(key)
		require.True(t, ok)
		again, err := markdown.SetFields(out, []markdown.Field{{Key: key, Value: v}})
		require.NoError(t, err)
		require.Equal(t, string(out), string(again), "a value that is there is not written again")
		gone, err := markdown.UnsetFields(out, []string{key})
		if err == nil {
			_, ok = markdown.Parse(gone).Frontmatter.Get(key)
			require.False(t, ok)
		}
	})
}

func FuzzAppend(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "- x\n  y", "t")
		f.Add([]byte(s), "a\r\nb", "")
	}
	f.Fuzz(func(t *testing.T, text []byte, block, slug string) {
		out, line, err := markdown.Append(text, block)
		if err == nil {
			checkAdded(t, text, out, block, line)
		}
		out, line, err = markdown.AppendToSection(text, slug, block)
		if err == nil {
			checkAdded(t, text, out, block, line)
		}
	})
}

// checkAdded requires that out is the text with something added in one place, and that the block
// begins in the line that is answered.
func checkAdded(t *testing.T, text, out []byte, block string, line int) {
	n := 0
	for n < len(text) && n < len(out) && text[n] == out[n] {
		n++
	}
	require.Greater(t, len(out), len(text))
	require.True(t, bytes.HasSuffix(out, text[n:]), "the rest follows what was added")
	lines := strings.Split(string(out), "\n")
	require.LessOrEqual(t, line, len(lines))
	begin, _, _ := strings.Cut(strings.TrimRight(block, "\r\n"), "\n")
	got, first := strings.TrimRight(lines[line-1], "\r"), strings.TrimRight(begin, "\r")
	require.True(t, strings.HasSuffix(got, first), "%q begins with %q", got, first)
}

func FuzzTraitEdit(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), i, "a", []string{"x", "", "[[y]]", "`", "z, \"w\""}[i%5])
	}
	f.Fuzz(func(t *testing.T, text []byte, i int, name, value string) {
		d := markdown.Parse(text)
		if len(d.Traits) == 0 || len(text) > 10_000 {
			return
		}
		tr := d.Traits[max(0, i%len(d.Traits))]
		before, after := string(text[:tr.Span.Start]), string(text[tr.Span.End:])
		out, err := markdown.SetTrait(text, tr, pairs(tr.Name, value))
		if err == nil {
			require.True(t, strings.HasPrefix(string(out), before+"@"+tr.Name))
			require.True(t, strings.HasSuffix(string(out), after))
			require.Len(t, markdown.Parse(out).Traits, len(d.Traits))
		}
		out, err = markdown.SetTrait(text, tr, pairs("new", value))
		if err == nil && len(out) > len(text) && len(markdown.Parse(out).Traits) > len(d.Traits) {
			require.True(t, strings.HasPrefix(string(out), before+string(text[tr.Span.Start:tr.Span.End])+" @new"))
			require.True(t, strings.HasSuffix(string(out), after))
		}
		out, err = markdown.RemoveTrait(text, tr)
		if err == nil {
			require.Len(t, markdown.Parse(out).Traits, len(d.Traits)-1)
			require.Equal(t, len(d.Headings), len(markdown.Parse(out).Headings))
		}
		if line, err := addTrait(text, name, value); err == nil {
			require.Contains(t, line, "- @"+name)
		}
	})
}

// addTrait adds a trait to the note's own text, and returns its line.
func addTrait(text []byte, name, value string) (string, error) {
	out, line, err := markdown.AppendTrait(text, "", markdown.NewTrait{Name: name, Value: value, Content: value})
	if err != nil {
		return "", err
	}
	return strings.Split(string(out), "\n")[line-1], nil
}

func FuzzArguments(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), i, "a", []string{"x", "", "[[y]]", "`", "z, \"w\""}[i%5])
	}
	f.Fuzz(func(t *testing.T, text []byte, i int, key, value string) {
		d := markdown.Parse(text)
		if len(d.Headings) == 0 || len(text) > 10_000 {
			return
		}
		slug := d.Headings[max(0, i%len(d.Headings))].Slug
		h, _ := d.Section(slug)
		out, err := markdown.SetArguments(text, slug, pairs(key, value))
		if err != nil {
			return
		}
		require.Equal(t, string(text[:h.Content]), string(out[:h.Content]))
		d = markdown.Parse(out)
		again, err := markdown.UnsetArguments(out, slug, []string{key})
		if err == nil && key != "id" {
			require.Len(t, markdown.Parse(again).Headings, len(d.Headings))
		}
	})
}

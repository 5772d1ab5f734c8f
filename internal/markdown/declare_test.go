package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestSetArguments(t *testing.T) {
	cases := []struct {
		name, old string
		key       string
		value     any
		want      string
	}{
		{"change", "::t( a = 1 , b=2)", "a", 3.5, "::t( a = 3.5 , b=2)"},
		{"same", "::t( a = 1.0 )", "a", 1, "::t( a = 1.0 )"},
		{"add in order", "::t(a=1, c=2)", "b", true, "::t(a=1, b=true, c=2)"},
		{"add at the end", "::t(a=1)", "b", false, "::t(a=1, b=false)"},
		{"add to keys out of order", "::t(c=1, a=2)", "b", "x", "::t(c=1, a=2, b=x)"},
		{"add to the name", "::t", "b", "x", "::t(b=x)"},
		{"add to nothing", "::t( )", "b", "x", "::t(b=x)"},
		{"from empty", "::t(a=)", "a", "x", "::t(a=x)"},
		{"to null", "::t(a=x)", "a", nil, "::t(a=)"},
		{"text with comma", "::t(a=1)", "a", "x, y", `::t(a="x, y")`},
		{"text with quotes", "::t(a=1)", "a", `x "y" \`, `::t(a=x "y" \)`},
		{"text in quotes", "::t(a=1)", "a", `"y" \`, `::t(a="\"y\" \\")`},
		{"text like a number", "::t(a=x)", "a", "12", `::t(a="12")`},
		{"text like a word", "::t(a=x)", "a", "true", `::t(a="true")`},
		{"text with blanks", "::t(a=x)", "a", " x", `::t(a=" x")`},
		{"text with parentheses", "::t(a=x)", "a", "f (x)", "::t(a=f (x))"},
		{"text that does not close", "::t(a=x)", "a", "f)", `::t(a="f)")`},
		{"empty text", "::t(a=x)", "a", "", `::t(a="")`},
		{"date", "::t(a=x)", "a", "2026-03-02", "::t(a=2026-03-02)"},
		{"reference", "::t(a=x)", "a", ref("p/q"), "::t(a=[[p/q]])"},
		{"reference as text", "::t(a=x)", "a", "[[p|Q]]", "::t(a=[[p|Q]])"},
		{"list", "::t(a=x)", "a", []any{"x", "y, z", 1, ref("p")}, `::t(a=[x, "y, z", 1, [[p]]])`},
		{"references", "::t(a=x)", "a", []any{ref("p"), ref("q")}, "::t(a=[[[p]], [[q]]])"},
		{"id", "::t(a=x)", "id", "s", "::t(a=x, id=s)"},

		{"line", "::t\na: x\nb:  y  ", "b", "z", "::t\na: x\nb:  z  "},
		{"line with commas", "::t\na: x", "a", "x, y (", "::t\na: x, y ("},
		{"line of references", "::t\na: x", "a", []any{ref("p"), ref("q")}, "::t\na: [[p]], [[q]]"},
		{"line of one reference in a list", "::t\na: x", "a", []any{ref("p")}, "::t\na: [[[p]]]"},
		{"line, from empty", "::t\na:\nb: 1", "a", "x", "::t\na: x\nb: 1"},
		{"line, to null", "::t\na: x\nb: 1", "a", nil, "::t\na:\nb: 1"},
		{"new line in order", "::t\na: x\n  c: 1", "b", "y", "::t\na: x\n  b: y\n  c: 1"},
		{"new line at the end", "::t\n  a: x", "b", nil, "::t\n  a: x\n  b:"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before, after := "# T\n\n## A\n\n", "\n\n- @x text [[y]]\n\n## B\n"
			d := markdown.Parse([]byte(before + c.old + after))
			out, err := markdown.SetArguments([]byte(before+c.old+after), d.Headings[1].Slug, pairs(c.key, c.value))
			require.NoError(t, err)
			require.Equal(t, before+c.want+after, string(out))
		})
	}
}

// TestArgumentsAreSorted is the row E19 of reference/raven.md §3.
func TestArgumentsAreSorted(t *testing.T) {
	out, err := markdown.SetArguments([]byte("## A\n::t\n"), "a", pairs("c", 1, "id", "x", "a", 2))
	require.NoError(t, err)
	require.Equal(t, "## A\n::t(a=2, c=1, id=x)\n", string(out))
}

func TestSetArgumentsOfSection(t *testing.T) {
	cases := []struct{ name, old, want string }{
		{"blank line", "## A\n\ntext\n", "## A\n::section(k=v)\n\ntext\n"},
		{"text", "## A\ntext\n", "## A\n::section(k=v)\n\ntext\n"},
		{"heading", "## A\n## B\n", "## A\n::section(k=v)\n\n## B\n"},
		{"end", "## A", "## A\n::section(k=v)\n"},
		{"underlined", "A\n---\n", "A\n---\n::section(k=v)\n"},
		{"CRLF", "## A\r\n", "## A\r\n::section(k=v)\r\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := markdown.SetArguments([]byte(c.old), "a", pairs("k", "v"))
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
		})
	}
	text := []byte("## A\n\ntext\n")
	out, err := markdown.SetArguments(text, "a", pairs("k", "v"))
	require.NoError(t, err)
	out, err = markdown.UnsetArguments(out, "a", []string{"k"})
	require.NoError(t, err)
	require.Equal(t, string(text), string(out))
}

func TestUnsetArguments(t *testing.T) {
	cases := []struct{ name, old, key, want string }{
		{"first", "::t( a = 1 , b=2)", "a", "::t( b=2)"},
		{"middle", "::t(a=1, b=[2, 3], c=4)", "b", "::t(a=1, c=4)"},
		{"last", "::t(a=1, b=2 )", "b", "::t(a=1 )"},
		{"only", "::t(a=1)", "a", "::t"},
		{"absent", "::t(a=1)", "b", "::t(a=1)"},
		{"line", "::t\na: 1\nb: 2\nc: 3", "b", "::t\na: 1\nc: 3"},
		{"last line", "::t\na: 1\nb: 2", "b", "::t\na: 1"},
		{"only line", "::t\na: 1", "a", "::t"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := markdown.UnsetArguments([]byte("## A\n"+c.old+"\n\ntext @x\n"), "a", []string{c.key})
			require.NoError(t, err)
			require.Equal(t, "## A\n"+c.want+"\n\ntext @x\n", string(out))
		})
	}
	for _, old := range []string{"::section(a=1)", "::section\na: 1"} {
		out, err := markdown.UnsetArguments([]byte("## A\n"+old+"\n\ntext\n"), "a", []string{"a"})
		require.NoError(t, err)
		require.Equal(t, "## A\n\ntext\n", string(out))
	}
	out, err := markdown.UnsetArguments([]byte("## A\r\n::t\r\na: 1\r\nb: 2\r\n"), "a", []string{"a"})
	require.NoError(t, err)
	require.Equal(t, "## A\r\n::t\r\nb: 2\r\n", string(out))
}

func TestArgumentErrors(t *testing.T) {
	set := func(text, key string, value any) error {
		_, err := markdown.SetArguments([]byte(text), "a", pairs(key, value))
		return err
	}
	require.True(t, fault.Is(set("## B\n", "k", "v"), fault.NotFound))
	require.True(t, fault.Is(set("## A\n::t\n", "a b", "v"), fault.InvalidField))
	require.True(t, fault.Is(set("## A\n::t\n", "", "v"), fault.InvalidField))
	require.True(t, fault.Is(set("## A\n::t\n", "k", "v\nw"), fault.InvalidValue))
	require.True(t, fault.Is(set("## A\n::t\n", "k", []any{"v\rw"}), fault.InvalidValue))
	require.True(t, fault.Is(set("## A\n::t\n", "k", []any{nil}), fault.InvalidValue))
	require.True(t, fault.Is(set("## A\n::t\n", "k", struct{}{}), fault.InvalidValue))
	require.True(t, fault.Is(set("> ## A\n> text\n", "k", "v"), fault.InvalidValue), "a quote would end")
	require.True(t, fault.Is(set("# A\n", "k", "v"), fault.InvalidValue), "the title is the note")
	_, err := markdown.UnsetArguments([]byte("## B\n"), "a", []string{"k"})
	require.True(t, fault.Is(err, fault.NotFound))
}

// TestArgumentsTouchNothingElse sets a field of a declaration, requires that the value reads back and
// that everything outside the declaration and every other field keeps its bytes, and removes it.
func TestArgumentsTouchNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SampledFrom([]string{"", "# T\n", "---\na: 1\n---\ntext @t(1)\n\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", "\n", "\n- @x `c` [[y]]\n", "\n## C\n\n::u(a=1)\n"}).Draw(t, "after")
		d := rapid.SampledFrom([]string{"::t\n", "::t()\n", "::t(a=1, c=[x, \"y\"])\n", "::t( c = \"q, \\\"\" )\n",
			"::t\na: x\n", "  ::t\n  c: [[p]], [[q]]\na: y  \n", "::t(b=)\n"}).Draw(t, "declaration")
		text := before + "## B\n" + d + after
		key := rapid.SampledFrom([]string{"a", "b", "c", "k"}).Draw(t, "key")
		value := drawLineValue(t)
		out, err := markdown.SetArguments([]byte(text), "b", []markdown.Field{{Key: key, Value: value}})
		require.NoError(t, err)
		require.Equal(t, before+"## B\n", string(out[:len(before)+5]))
		require.Equal(t, after, string(out[len(out)-len(after):]))
		old, now := object(t, text), object(t, string(out))
		got, ok := now.Get(key)
		require.True(t, ok)
		require.Equal(t, value, got.Value)
		for _, a := range old.Fields {
			if b, _ := now.Get(a.Key); a.Key != key {
				require.Equal(t, text[a.Span.Start:a.Span.End], string(out[b.Span.Start:b.Span.End]))
			}
		}
		gone, err := markdown.UnsetArguments(out, "b", []string{key})
		require.NoError(t, err)
		_, ok = object(t, string(gone)).Get(key)
		require.False(t, ok)
		if _, was := old.Get(key); !was && len(old.Fields) > 0 {
			require.Equal(t, text, string(gone))
		}
	})
}

func object(t require.TestingT, text string) *markdown.Declaration {
	h, ok := markdown.Parse([]byte(text)).Section("b")
	require.True(t, ok)
	require.NotNil(t, h.Declaration)
	return h.Declaration
}

// drawLineValue draws a value that a line can hold.
func drawLineValue(t *rapid.T) any {
	scalar := func() any {
		return rapid.OneOf(
			rapid.Just[any](true), rapid.SampledFrom([]any{1.5, -3.0, 0.0, 1e300}),
			rapid.Map(rapid.StringMatching(`[a-z"\\ ,()\[\]:=#*1.é@|-]{0,6}`), func(s string) any { return s }),
			rapid.SampledFrom([]any{"true", "12", "[x", "x]", "[x]", "\"", "\"x\"", "\\\"", "::", "[[", "a, b", " x "}),
			rapid.Map(rapid.StringMatching(`[a-z/.#"(,]{0,3}[a-z]`), func(s string) any { return markdown.Ref(s) }),
		).Draw(t, "scalar")
	}
	if rapid.IntRange(0, 2).Draw(t, "list") > 0 {
		return scalar()
	}
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		list = append(list, scalar())
	}
	return list
}

package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// first is the first trait of a note.
func first(t require.TestingT, text string) markdown.Trait {
	traits := markdown.Parse([]byte(text)).Traits
	require.NotEmpty(t, traits)
	return traits[0]
}

func TestSetTrait(t *testing.T) {
	cases := []struct {
		name, old string
		fields    []markdown.Field
		want      string
	}{
		{"value", "- *x* @due(2026-01-01) y  \n  z", pairs("due", "2026-01-02"), "- *x* @due(2026-01-02) y  \n  z"},
		{"same", "@due( x ) y", pairs("due", "x"), "@due( x ) y"},
		{"bare", "@done y", pairs("done", nil), "@done y"},
		{"to a value", "@p y", pairs("p", "high"), "@p(high) y"},
		{"to bare", "@p (x) y", pairs("p", nil), "@p y"},
		{"to bare before a parenthesis", "@p(x) (y)", pairs("p", true), "@p() (y)"},
		{"false", "@p y", pairs("p", false), "@p(false) y"},
		{"number", "@p(1)", pairs("p", 2.5), "@p(2.5)"},
		{"reference", "@p(1)", pairs("p", ref("a/b")), "@p([[a/b]])"},
		{"what is shown", "@p([[a|b]])", pairs("p", "[[a|c]]"), "@p([[a|c]])"},
		{"list", "@p(1)", pairs("p", []any{"a", "b, c", ref("d")}), `@p([a, "b, c", [[d]]])`},
		{"references", "@p(1)", pairs("p", []any{ref("c"), ref("d")}), `@p([[[c]], [[d]]])`},
		{"text with commas", "@p(1)", pairs("p", "a, b"), "@p(a, b)"},
		{"text like a list", "@p(1)", pairs("p", "[a]"), `@p("[a]")`},
		{"text like a number", "@p(x)", pairs("p", "1"), "@p(1)"},
		{"blanks", "@p(x)", pairs("p", " a"), `@p(" a")`},
		{"empty", "@p(x)", pairs("p", ""), `@p("")`},
		{"sibling", "- @due(x) text @status(todo)", pairs("status", "done"), "- @due(x) text @status(done)"},
		{"new sibling", "- @due(x) text @p", pairs("status", "done"), "- @due(x) @status(done) text @p"},
		{"new siblings", "- @due(x), y", pairs("b", true, "a", "1"), "- @due(x) @b @a(1), y"},
		{"both", "- [ ] @due(x) text", pairs("due", "y", "p", nil), "- [ ] @due(y) @p text"},
		{"sibling before a parenthesis", "@due(x) (y)", pairs("p", nil), "@due(x) @p() (y)"},
		{"no sibling of another line", "@due(x)\n@p(1)", pairs("p", "2"), "@due(x) @p(2)\n@p(1)"},
		{"heading in a list", "- # A @due(x)\n\n## B\n", pairs("due", "y"), "- # A @due(y)\n\n## B\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before, after := "---\na: 1\n---\n## A\n\n", "\n\n## B\n\n@z `x` [[y]]\n"
			text := []byte(before + c.old + after)
			out, err := markdown.SetTrait(text, first(t, string(text)), c.fields)
			require.NoError(t, err)
			require.Equal(t, before+c.want+after, string(out))
		})
	}
}

func TestTraitErrors(t *testing.T) {
	text := "text @due(x) --> y\n"
	set := func(key string, value any) error {
		_, err := markdown.SetTrait([]byte(text), first(t, text), pairs(key, value))
		return err
	}
	require.True(t, fault.Is(set("due", "a)b"), fault.InvalidValue))
	require.True(t, fault.Is(set("due", "a\nb"), fault.InvalidValue))
	require.True(t, fault.Is(set("due", "<!--"), fault.InvalidValue), "the value would be a comment")
	require.True(t, fault.Is(set("p", "<!--"), fault.InvalidValue))
	require.True(t, fault.Is(set("due", struct{}{}), fault.InvalidValue))
	for _, name := range []string{"", "a b", "é", "id", "a.b"} {
		require.True(t, fault.Is(set(name, "x"), fault.InvalidTrait), "%q", name)
	}
	gone := first(t, "@due(x)")
	_, err := markdown.SetTrait([]byte(text), gone, pairs("due", "x"))
	require.True(t, fault.Is(err, fault.NotFound))
	_, err = markdown.RemoveTrait([]byte(text), gone)
	require.True(t, fault.Is(err, fault.NotFound))
	text = "- # @due(x)\n"
	_, err = markdown.RemoveTrait([]byte(text), first(t, text))
	require.True(t, fault.Is(err, fault.InvalidValue), "the heading would go")
}

func TestRemoveTrait(t *testing.T) {
	cases := []struct{ name, old, want string }{
		{"front", "- @due(x) text", "- text"},
		{"middle", "a @due(x)  b", "a b"},
		{"end", "a  @due(x)", "a"},
		{"end with a hard break", "a @due(x)  \nb", "a  \nb"},
		{"parentheses", "(@due(x)) b", "() b"},
		{"before a parenthesis", "a @due(x) (y) z", "a (y) z"},
		{"punctuation", "a @due.", "a ."},
		{"markup", "a **@due(x)** b", "a **** b"},
		{"sibling stays", "- @due(x) @p(1)", "- @p(1)"},
		{"check box and text", "- [ ] @due(x) text", "- [ ] text"},
		{"the first takes the id with it", "- @due(x) @id(y) @p text", "- @p text"},
		{"the id before it", "- @id(y) @due(x) text", "- text"},
		{"line", "a\n@due(x)\nb", "a\nb"},
		{"item", "- a\n- @due(x)\n- b", "- a\n- b"},
		{"item with a check box", "- a\n- [x] @due(x) @id(y)\n- b", "- a\n- b"},
		{"item with more", "- a\n- @due(x)\n  - b", "- a\n-\n  - b"},
		{"item with more text", "- a\n- @due(x)\n  b", "- a\n-\n  b"},
		{"quote", "> a\n> @due(x)", "> a"},
		{"link", "a\n[@due](b.c)", "a\n[](b.c)"},
		{"heading in a list", "- # A @due(x)", "- # A"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before, after := "---\na: 1\n---\n## A\n\n", "\n\n## B\n\n@z `x` [[y]]\n"
			text := []byte(before + c.old + after)
			out, err := markdown.RemoveTrait(text, first(t, string(text)))
			require.NoError(t, err)
			require.Equal(t, before+c.want+after, string(out))
		})
	}
	out, err := markdown.RemoveTrait([]byte("- a\r\n- @b\r\n- c\r\n"), first(t, "- a\r\n- @b\r\n- c\r\n"))
	require.NoError(t, err)
	require.Equal(t, "- a\r\n- c\r\n", string(out))
	text := "@a @due(x) (y)\n"
	out, err = markdown.RemoveTrait([]byte(text), markdown.Parse([]byte(text)).Traits[1])
	require.NoError(t, err)
	require.Equal(t, "@a() (y)\n", string(out), "(y) does not become the value of @a")
	text = "- @a x @id(y) @b\n"
	out, err = markdown.RemoveTrait([]byte(text), markdown.Parse([]byte(text)).Traits[1])
	require.NoError(t, err)
	require.Equal(t, "- @a x @id(y)\n", string(out), "the first keeps its id")
}

func TestAppendTrait(t *testing.T) {
	others := pairs("status", "todo", "p", true)
	cases := []struct {
		name, old, slug string
		trait           markdown.NewTrait
		want            string
		line            int
	}{
		{"after text", "# T\n\nx\n\n## A\n", "", markdown.NewTrait{Name: "due", Value: "2026-03-03", Content: "Review the plan"},
			"# T\n\nx\n\n- @due(2026-03-03) Review the plan\n\n## A\n", 5},
		{"after an item", "## A\n- x\n\n## B\n", "a", markdown.NewTrait{Name: "due", Value: "x", Content: " y "},
			"## A\n- x\n- @due(x) y\n\n## B\n", 3},
		{"after a declaration", "## A\n::t\n", "a", markdown.NewTrait{Name: "due", Value: "x"}, "## A\n::t\n\n- @due(x)\n", 4},
		{"others", "", "", markdown.NewTrait{Name: "due", Value: ref("a"), Others: others, Content: "(y) [[z]]"},
			"- @due([[a]]) @p @status(todo) (y) [[z]]\n", 1},
		{"bare", "", "", markdown.NewTrait{Name: "done", Content: "(y)"}, "- @done() (y)\n", 1},
		{"CRLF", "x\r\n", "", markdown.NewTrait{Name: "done", Value: true, Content: "y"}, "x\r\n\r\n- @done y\r\n", 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, line, err := markdown.AppendTrait([]byte(c.old), c.slug, c.trait)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.line, line)
		})
	}
	refused := func(text, slug string, n markdown.NewTrait) fault.Code {
		_, _, err := markdown.AppendTrait([]byte(text), slug, n)
		require.Error(t, err)
		return fault.Of(err).Code
	}
	require.Equal(t, fault.NotFound, refused("", "a", markdown.NewTrait{Name: "due"}))
	require.Equal(t, fault.InvalidTrait, refused("", "", markdown.NewTrait{Name: "é"}))
	require.Equal(t, fault.InvalidTrait, refused("", "", markdown.NewTrait{Name: "a", Others: pairs("b c", nil)}))
	require.Equal(t, fault.InvalidValue, refused("", "", markdown.NewTrait{Name: "a", Value: "(b)"}))
	require.Equal(t, fault.InvalidValue, refused("", "", markdown.NewTrait{Name: "a", Content: "b\nc"}))
	require.Equal(t, fault.InvalidValue, refused("```\n", "", markdown.NewTrait{Name: "a", Content: "b"}),
		"it would be code")
}

// TestTraitEditsTouchNothingElse sets, extends and removes a trait of a line of odd parts.
func TestTraitEditsTouchNothingElse(t *testing.T) {
	parts := rapid.SampledFrom([]string{"text", "**b**", "`c`", "[[d|e]]", "[f](g)", "@h", "@i(j)", "(k)", "@id(l)", "[ ]", "é", "_m_", "<b>"})
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(parts, 0, 4).Draw(t, "words")
		at := rapid.IntRange(0, len(words)).Draw(t, "at")
		marker := rapid.SampledFrom([]string{"", "- ", "> ", "1. [ ] "}).Draw(t, "marker")
		before := "# T\n\n" + marker + strings.Join(append(words[:at:at], ""), " ")
		after := strings.Join(append([]string{""}, words[at:]...), " ") + "\n\n- @z\n"
		text := before + "@due(x)" + after
		traits := markdown.Parse([]byte(text)).Traits
		var due markdown.Trait
		for _, tr := range traits {
			if tr.Name == "due" {
				due = tr
			}
		}
		value := drawLineValue(t)
		out, err := markdown.SetTrait([]byte(text), due, pairs("due", value))
		if err != nil {
			require.True(t, fault.Is(err, fault.InvalidValue))
			return
		}
		require.True(t, strings.HasPrefix(string(out), before+"@due") && strings.HasSuffix(string(out), after))
		require.Len(t, markdown.Parse(out).Traits, len(traits))

		out, err = markdown.SetTrait([]byte(text), due, pairs("new", value))
		if err == nil {
			require.True(t, strings.HasPrefix(string(out), before+"@due(x) @new") && strings.HasSuffix(string(out), after))
		}
		out, err = markdown.RemoveTrait([]byte(text), due)
		require.NoError(t, err)
		require.Len(t, markdown.Parse(out).Traits, len(traits)-1)
		if left := strings.Join(words, ""); strings.Trim(strings.ReplaceAll(left, "@id(l)", ""), "[ ]") != "" {
			require.Equal(t, squeezed(before+after), squeezed(string(out)))
		}
	})
}

// squeezed is a text without the id and the blanks, which may go with a trait, and without the empty
// parentheses that may come.
func squeezed(text string) string {
	return strings.NewReplacer("@id(l)", "", " ", "", "\n", "", "()", "").Replace(text)
}

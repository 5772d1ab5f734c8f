package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// found renders what stands in a note besides its fields and headings, an item each, in the notation
// of reference/raven.md §3: traits `@name=value «content» >scope`, references `[[target|display]]
// >scope`, links `(key)`, tags `#tag`. A scope that is the note itself is left out, and so is null.
func found(d *markdown.Doc) string {
	var items []string
	for _, t := range d.Traits {
		s := "@" + t.Name
		if t.Kind != markdown.KindNone {
			s += "=" + value(t.Value)
		}
		items = append(items, s+" «"+t.ContentText+"»"+scope(d, t.Scope))
	}
	for _, r := range d.References {
		s := r.Target
		if r.Display != "" {
			s += "|" + r.Display
		}
		items = append(items, "[["+s+"]]"+scope(d, r.Scope))
	}
	for _, l := range d.Links {
		items = append(items, "("+l.Key("dir")+")"+scope(d, l.Scope))
	}
	for _, t := range d.Tags {
		items = append(items, "#"+t.Name+scope(d, t.Scope))
	}
	return strings.Join(items, " ")
}

func scope(d *markdown.Doc, i int) string {
	if i < 0 {
		return ""
	}
	return " >" + d.Headings[i].Slug
}

func value(v any) string {
	switch v := v.(type) {
	case markdown.Ref:
		return "[[" + string(v) + "]]"
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = value(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// A row is a case of reference/raven.md §3. What is wanted is C's column but where §6.2 says
// otherwise; s, m and c say how that Raven differs from it, where it does.
type row struct {
	id, text, want string
	s, m, c        string
}

func checkRows(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			d := markdown.Parse([]byte(r.text))
			require.Equal(t, r.want, found(d))
			checkDoc(t, d, []byte(r.text))
		})
	}
}

// TestFrontmatterReferenceRows are the rows of the table F about what is not a field.
func TestFrontmatterReferenceRows(t *testing.T) {
	checkRows(t, []row{
		{id: "F1", text: "# T\n\nhello @due(2025-02-01) [[people/a]]",
			want: `@due="2025-02-01" «hello [[people/a]]» [[people/a]]`, c: "both >t", m: "both >t"},
		{id: "F7", text: "---\nr: \"[[people/a]]\"\nr2: \"[[people/a|Alice]]\"\n---\n",
			want: "[[people/a]] [[people/a|Alice]]", s: "none"},
		{id: "F8", text: "---\nr3: [[people/a]]\n---\n", want: "[[people/a]]", s: "none"},
		{id: "F9", text: "---\nc: \"[[]]\"\nd: \"[[  ]]\"\n---\n", want: ""},
		{id: "F10", text: "---\nf: [\"[[p/q]]\", plain, \"[[r/s|R]]\"]\n---\n",
			want: "[[p/q]] [[r/s|R]]", s: "none"},
		{id: "F11", text: "---\ng: \"pre [[m/n]] post\"\n---\n", want: "[[m/n]]", s: "none"},
		{id: "F12", text: "---\ndesc: see [[a/b]] and `[[c/d]]`\n---\n", want: "[[a/b]]", s: "none"},
		{id: "F13", text: "---\ntitle: \"@due(2025-01-01) x\"\n---\n", want: ""},
		{id: "F14", text: "---\ntags: [a, b]\n---\n", want: "#a #b", m: "none", c: "none"},
		{id: "F17", text: "---\ntype: person\n# H\n@due(2025-01-01)", want: `@due="2025-01-01" «» >h`},
		{id: "F21", text: "---\na: [1 # [[x]]\n---\n[[y]] @a", want: "@a «[[y]]» [[y]]", c: "a file error"},
		{id: "F23", text: "", want: ""},
		{id: "F24", text: "---\r\ntype: x\r\nname: y\r\n---\r\n\r\n# Head One\r\n\r\n" +
			"- @due(2025-02-01) do it [[p/q]]\r\n\r\n## Two\r\n",
			want: `@due="2025-02-01" «do it [[p/q]]» [[p/q]]`, s: "«- do it [[p/q]]»", c: ">head-one"},
		{id: "F25", text: "# H\n\n---\ntype: x\n---\nafter @a", want: "@a «after» >type-x"},
		{id: "list of one", text: "---\na: [[[x]]]\nb: [[[x]], [[y]]]\n---\n", want: "[[x]] [[x]] [[y]]"},
		{id: "comment", text: "---\na: 1 # [[x]]\n---\n", want: "[[x]]"},
		{id: "code that spans", text: "---\na: x ` y [[p]] ` [[q` r]] `\n---\n", want: ""},
		{id: "code over lines", text: "---\na: x ` y\nb: \"[[p]]\" ` z\n---\n", want: ""},
		{id: "lone backtick", text: "---\na: x ` y\nb: \"[[p]]\"\nc: z ` y\n---\n", want: "[[p]]"},
	})
}

// TestHeadingTraitRows are the rows of the table H about traits.
func TestHeadingTraitRows(t *testing.T) {
	checkRows(t, []row{
		{id: "H11", text: "text\n@todo\n\n# First\n", want: "@todo «»"},
		{id: "H14", text: "#NoSpace\n\n####### Seven", want: "#NoSpace", m: "none", c: "none"},
		{id: "H16", text: "## Hello **bold** `code` [[people/a]] [link](http://x.y) end",
			want: "[[people/a]] >hello-bold-code-peoplea-link-end (http://x.y) >hello-bold-code-peoplea-link-end", c: "no reference"},
		{id: "H17", text: "## @due(2025-01-01) Heading trait", want: "", s: "a trait"},
		{id: "H18", text: "- # Heading in list @a\n  text @b\n> ## Heading in quote\n> @c",
			want: "@a «Heading in list» >heading-in-list-a @b «text» >heading-in-list-a " +
				"@c «» >heading-in-quote", s: "@a and @b of the file"},
	})
}

// TestCodeRows are the table C.
func TestCodeRows(t *testing.T) {
	checkRows(t, []row{
		{id: "C1", text: "```\n@a(1) [[x]] #t\n# not heading\n```", want: "", s: "trait and reference"},
		{id: "C2", text: "~~~~md\n@x\n~~~\nstill @y\n~~~~", want: "", s: "@x @y"},
		{id: "C3", text: "````\n```\n@n1\n````\n@after [[x/y]]",
			want: "@after «[[x/y]]» [[x/y]]", s: "@n1 too"},
		{id: "C4", text: "> ```\n> @q1 [[a/q1]]\n> ```\n> @q2", want: "@q2 «»", s: "all"},
		{id: "C5", text: "* item\n  ~~~\n  @l1\n  ~~~\n  @l2", want: "@l2 «»", s: "all"},
		{id: "C5 +", text: "+ item\n  ```\n  @l1\n  ```\n  @l2", want: "@l2 «»", s: "all"},
		{id: "C6", text: "    @a [[b]]", want: "", s: "both"},
		{id: "C7", text: "```\n@a\n# H\n[[b]]", want: "", s: "both"},
		{id: "C8", text: "`@due(..)` and ``[[a`b]]`` and @real(1)",
			want: "@real=\"1\" «`@due(..)` and ``[[a`b]]`` and»", s: "a reference to a`b too"},
		{id: "C9", text: "- `[[e/f]]` then [[g/h]]", want: "[[g/h]]", s: "both"},
		{id: "C10", text: "``@two`` and `` `@three` `` @four", want: "@four «`@two` and ```@three```»",
			s: "the content as it is written"},
		{id: "C11", text: "| @t(1) | [[a/b]] |", want: `@t="1" «| | [[a/b]] |» [[a/b]]`},
		{id: "C12", text: "<div>@h [[c/d]]</div>\n\n<!-- @c [[e/f]] -->", want: "", s: "@c and the references"},
		{id: "C13", text: "para <b>@i</b> [[g/h]]", want: "@i «para [[g/h]]» [[g/h]]", s: "no trait"},
		{id: "C14", text: "[text @lk](http://x) ![img @im](i.png)",
			want: "@lk «text img» @im «text img» [[i.png|img @im]] (http://x) (dir/i.png)", m: "no links", s: "no links"},
		{id: "C15", text: "Term @t2\\\nhardbreak @t3", want: "@t2 «Term» @t3 «hardbreak»", s: "«Term\\»"},
		{id: "code over lines", text: "a `b\n@c` @d", want: "@d «@c`»"},
		{id: "comment in text", text: "a <!-- @b [[c]] --> @d", want: "@d «a»"},
		{id: "attribute", text: "a <i title=\"@b [[c]] `\" x='y'> @d `", want: "@d «a `»"},
		{id: "address", text: "a <https://b.c/@d> @e", want: "@e «a https://b.c/@d»"},
		{id: "escaped backtick", text: "\\`@a `@x` @b", want: "@b «\\`@a `@x`»"},
	})
}

// TestTraitRows are the table T.
func TestTraitRows(t *testing.T) {
	checkRows(t, []row{
		{id: "T1", text: "@a\n@a()\n@a( )", want: "@a «» @a «» @a «»"},
		{id: "T2", text: "@a(x)\n@a (x)\n@a  (x y)", want: `@a="x" «» @a="x" «» @a="x y" «»`},
		{id: "T3", text: "@a(x)(y)\n@a(x (y) z)", want: `@a="x" «(y)» @a="x (y" «z)»`},
		{id: "T4", text: "@a(\"quoted, v\")\n@e(\"\")", want: `@a="quoted, v" «» @e="" «»`,
			s: "with quotes", m: "with quotes"},
		{id: "T5", text: "@a([x, y])\n@arr([\"a,b\", c])\n@arr([])",
			want: `@a=["x", "y"] «» @arr=["a,b", "c"] «» @arr=[] «»`, s: "texts", m: "texts"},
		{id: "T6", text: "@a([[p/q]])\n@a([[p/q|Disp]])",
			want: `@a=[[p/q]] «» @a=[[p/q]] «» [[p/q]] [[p/q|Disp]]`, s: "value p/q|Disp"},
		{id: "T7", text: "@a([[[p/q]], [[r/s]]])", want: `@a=[[[p/q]], [[r/s]]] «» [[p/q]] [[r/s]]`,
			s: "a text", m: "only the last reference", c: "only the last reference"},
		{id: "T9", text: "@at(2025-02-01T09:30) @at(2025-02-01T10:00:00Z)",
			want: `@at="2025-02-01T09:30" «» @at="2025-02-01T10:00:00Z" «»`},
		{id: "T10", text: "@a(true) @b(3.5) @n(-3) @p(50%)",
			want: `@a="true" «» @b="3.5" «» @n="-3" «» @p="50%" «»`},
		{id: "T11", text: "@a-b_c(1) @1x @é", want: `@a-b_c="1" «@é» @1x «@é»`, s: "@a «-b_c(1) @é»"},
		{id: "T12", text: `foo@bar.com (@in) [@sq] {@cu} >@gt "@q" '@s' *@st -@da :@co /@sl ,@cm .@dt`,
			want: strings.ReplaceAll("@in «» @sq «» @cu «» @gt «» @st «» @da «»", "«»",
				`«foo@bar.com () [] {} > "@q" '@s' * - :@co /@sl ,@cm .@dt»`), s: "only @st and @da"},
		{id: "T13", text: `@@dbl \@esc @end.`, want: `@end «@@dbl \@esc .»`, s: `«@@dbl \@esc.»`},
		{id: "T14", text: "@a(unclosed", want: "@a «(unclosed»"},
		{id: "T15", text: "Must @due(2025-02-01) complete this\na @x @y b\n@priority(high) @due(..)\nTrailing @z.",
			want: `@due="2025-02-01" «Must complete this» @x «a b» @y «a b» ` +
				`@priority="high" «» @due=".." «» @z «Trailing .»`, s: "«Trailing.»"},
		{id: "T16", text: "(@due(2025-02-01)) Do", want: `@due="2025-02-01" «() Do»`, s: "no trait"},
		{id: "T17", text: "- [ ] @due(2025-02-01) Send **bold** [[people/a|Al]] @priority(high)",
			want: `@due="2025-02-01" «[ ] Send bold [[people/a|Al]]» ` +
				`@priority="high" «[ ] Send bold [[people/a|Al]]» [[people/a|Al]]`,
			s: "«- [ ] Send **bold** …»"},
		{id: "T18", text: "- Review @due(..)\n  continued line @todo",
			want: `@due=".." «Review» @todo «continued line»`, s: "«- Review»"},
		{id: "T19", text: "1. ordered @x\n   - nested @y [[n/m]]\n> quote @z [[q/w]]\n> - qitem @w",
			want: "@x «ordered» @y «nested [[n/m]]» @z «quote [[q/w]]» @w «qitem» [[n/m]] [[q/w]]",
			s:    "with the markers"},
		{id: "T20", text: "- @todo\n  [[a/b]] next line", want: "@todo «» [[a/b]]", s: "«-»"},
		{id: "T22", text: "# H\n\n# I\nlast @line", want: "@line «last» >i"},
		{id: "T23", text: "-\tone @a\n\t-\ttwo @b", want: "@a «one» @b «two»"},
		{id: "value over lines", text: "@a(x\ny)", want: "@a «(x»"},
		{id: "value with markup", text: "@a(*x*) **@b(y)** _z_", want: `@a="*x*" «z» @b="y" «z»`},
		{id: "value with a link", text: "@a([x](http://y.z/q)) w", want: `@a="[x](http://y.z/q)" «w» (http://y.z/q)`},
		{id: "markup is no boundary", text: "a<b>@b</b> _@c_", want: "@c «a@b»"},
		{id: "in a wikilink", text: "[[@a]] [[b|@c]]", want: "[[@a]] [[b|@c]]"},
		{id: "list of one", text: "@a([[[p]]])", want: "@a=[[[p]]] «» [[p]]"},
		{id: "bracket that does not close", text: "@a([x, (y])", want: `@a="[x, (y]" «»`},
		{id: "@id alone", text: "@id(x) text", want: ""},
	})
}

// TestTraitKinds are the rows T8 to T10.
func TestTraitKinds(t *testing.T) {
	cases := []struct {
		value string
		want  markdown.Kind
	}{
		{"2025-02-01", markdown.KindDate}, {"2025-02-30", markdown.KindString}, // S has no kinds
		{"2025-13-45", markdown.KindString}, {"invalidTstring", markdown.KindString},
		{"2025-02-01T09:30", markdown.KindDateTime}, {"2025-02-01T10:00:00Z", markdown.KindDateTime},
		{"2025-02-01T10:00:00+02:00", markdown.KindDateTime}, {"2025-02-01T09:30:15", markdown.KindDateTime},
		{"2025-02-01T25:30", markdown.KindString}, {"\"2025-02-01\"", markdown.KindString},
		{"", markdown.KindNone}, {"[[x]]", markdown.KindRef}, {"[x]", markdown.KindList},
		{"true", markdown.KindString}, {"3.5", markdown.KindString},
	}
	for _, c := range cases {
		d := markdown.Parse([]byte("@a(" + c.value + ")"))
		require.Len(t, d.Traits, 1)
		require.Equal(t, c.want, d.Traits[0].Kind, "%q", c.value)
		require.Equal(t, c.value, d.Traits[0].Raw)
	}
}

// TestTraitPlaces requires the true lines, spans, contents and pins. (T21: C's span begins with the
// byte before the @, ours with the @.)
func TestTraitPlaces(t *testing.T) {
	text := "---\na: 1\n---\n# T\n\n> 1. [ ] *x* @due( 2025-02-01 ) y @id(important) [@p (high)](u)  \r\n> z @q\n"
	d := markdown.Parse([]byte(text))
	var got []string
	for _, tr := range d.Traits {
		got = append(got, fmt.Sprintf("L%d %q %q %q %q", tr.Line, text[tr.Span.Start:tr.Span.End],
			text[tr.Text.Start:tr.Text.End], tr.Pin, tr.Content))
	}
	content := `"[ ] *x* @due( 2025-02-01 ) y @id(important) [@p (high)](u)"`
	require.Equal(t, []string{
		`L6 "@due( 2025-02-01 )" " 2025-02-01 " "important" ` + content,
		`L6 "@p (high)" "high" "important" ` + content,
		`L7 "@q" "" "" "z @q"`,
	}, got)
	require.Equal(t, "[ ] x y", d.Traits[0].ContentText)
}

// TestReferenceRows are the table R.
func TestReferenceRows(t *testing.T) {
	checkRows(t, []row{
		{id: "R1", text: "[[a]] [[a/b]] [[ a/b ]] [[a/b|Disp text]]",
			want: "[[a]] [[a/b]] [[a/b]] [[a/b|Disp text]]"},
		{id: "R2", text: "[[a/b|]] [[]] [[|x]]", want: ""},
		{id: "R3", text: "[[ ]]", want: "", s: "an empty reference"},
		{id: "R4", text: "[[a#s]] [[#s]] [[2025-02-01]] [[a/b.md]]",
			want: "[[a#s]] [[#s]] [[2025-02-01]] [[a/b.md]]"},
		{id: "R5", text: "[[a/b][c]] [[a]b]] [[multi\nline]] [[[x/y]]]", want: ""},
		{id: "R6", text: "[[[x/y]], [[z/w]]]", want: "[[x/y]] [[z/w]]",
			s: "only the last", m: "only the last", c: "only the last"},
		{id: "R7", text: "[[a|b|c]]", want: "[[a|b|c]]"}, // target a, display b|c
		{id: "R8", text: "![[embed/x]] \\[[esc/x]] **[[bold/x]]** *[[it/x]]* ~~[[st/x]]~~ [[http://x.y]] [[A B C]]",
			want: "[[embed/x]] [[esc/x]] [[bold/x]] [[it/x]] [[st/x]] [[http://x.y]] [[A B C]]"},
		{id: "R9", text: "[[x_y/_z_]] [[a*b*c]]", want: "[[x_y/_z_]] [[a*b*c]]",
			m: "x_y/z, abc", c: "x_y/z, abc"},
		{id: "R10", text: "[[back`tick`]]", want: "[[back`tick`]]", m: "back"},
		{id: "code that begins inside", text: "[[a`b]] c`", want: ""},
		{id: "a link", text: "[[1]](http://x.y) [[2]] (z)", want: "[[2]] (http://x.y)"},
		{id: "in a label", text: "[see [[a]]](http://x.y)", want: "[[a]] (http://x.y)"},
		{id: "in a label with a definition", text: "[a [[b]]][c] @t\n\n[c]: /u", want: "@t «a [[b]]» [[b]]"},
		{id: "in HTML", text: "x <i title=\"[[a]]\">[[b]]</i>", want: "[[b]]"},
		{id: "too long", text: "[[" + strings.Repeat("a", 5000) + "]]", want: ""},
	})
	d := markdown.Parse([]byte("[[a|b|c]]"))
	require.Equal(t, "a", d.References[0].Target)
	require.Equal(t, "b|c", d.References[0].Display)
}

// TestReferencePlaces requires the true lines and spans, F7 to F11, and the line of the heading for
// those of a declaration, E8.
func TestReferencePlaces(t *testing.T) {
	text := "\ufeff---\na: 1\nr: \"[[p|P]]\"\nl:\n  - x\n  - see [[q]]\n---\n## H\n\n::t(x=1, y=[[[a]], [[ b ]]])\n\n" +
		"> text\n> - [[c]]\n"
	var got []string
	for _, r := range markdown.Parse([]byte(text)).References {
		got = append(got, fmt.Sprintf("L%d %d %q %s", r.Line, r.Place, r.Field, text[r.Span.Start:r.Span.End]))
	}
	require.Equal(t, []string{
		`L3 1 "r" [[p|P]]`, `L6 1 "l" [[q]]`, `L8 2 "y" [[a]]`, `L8 2 "y" [[ b ]]`, `L13 0 "" [[c]]`,
	}, got)
	d := markdown.Parse([]byte("---\n{a: \"[[b]]\"}\n---\n"))
	require.Equal(t, "b", d.References[0].Target)
	require.Empty(t, d.References[0].Field, "a mapping in braces says no places")
}

// TestLinkRows are the table L: target, display, image, scheme, extension, key for a note in dir. M
// and S have no links.
func TestLinkRows(t *testing.T) {
	cases := []struct{ row, text, want string }{
		{"L1", "[p](../files/a.pdf)", "../files/a.pdf p false file pdf files/a.pdf"},
		{"L2", "![i](b.PNG \"t\")", "b.PNG i true file png dir/b.PNG"}, // M: reference b.PNG
		{"L3", "[u](https://Ex.com:443/A?q=1#f)",
			"https://Ex.com:443/A?q=1#f u false url  https://ex.com/A?q=1#f"},
		{"L4", "[m](mailto:a@b.c)", "mailto:a@b.c m false other c mailto:a@b.c"},
		{"L4", "[e](<a b.pdf>)", "a b.pdf e false file pdf dir/a b.pdf"}, // M: reference a b.pdf
		{"L4", "[n2](other)", "other n2 false file  dir/other"},
		{"L5", "[n](note.md) [r][ref] <http://auto.x>\n\n[ref]: /u", ""},
		{"title over lines", "[a](b.c\n 'd\ne')", "b.c a false file c dir/b.c"},
		{"image in a link", "[![x](i.png) y](u.v)",
			"u.v x y false file v dir/u.v|i.png x true file png dir/i.png"},
		{"link in a link", "[a [b](c.d) e](f.g)", "c.d b false file d dir/c.d"},
		{"label with markup", "[*a* `b` [[c]]](d.e)", "d.e a `b` [[c]] false file e dir/d.e"},
		{"escapes and percent", "[a](b\\_c%20d.e#f)", "b\\_c%20d.e#f a false file e dir/b_c d.e"},
		{"from the root", "[a](/b/../c.d)", "/b/../c.d a false file d c.d"},
		{"parentheses", "[a](b(c)d.e)", "b(c)d.e a false file e dir/b(c)d.e"},
		{"in code", "`[a](b.c)` [d]`(e.f)`", ""},
		{"escaped", "\\[a](b.c) [d\\](e.f)", ""},
		{"not closed", "[a](b.c [d](e 'f)", ""},
		{"empty, and here", "[a]() [b](#c)", ""},
		{"in a heading", "# x [a](b.c)", "b.c a false file c dir/b.c"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			var got []string
			for _, l := range markdown.Parse([]byte(c.text)).Links {
				got = append(got, fmt.Sprint(l.Target, " ", l.Display, " ", l.Image, " ", l.Scheme, " ",
					l.Ext, " ", l.Key("dir")))
			}
			require.Equal(t, c.want, strings.Join(got, "|"))
		})
	}
}

// TestFormsOfReferences says what of a note is a reference, and where it leads as it is written (issue
// "Real vaults", §1 Forms).
func TestFormsOfReferences(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"in a table", "| a |\n|---|\n| [[b\\|c]] |", "0 b|c :3"},
		{"in a heading", "# T\n\n## See [[a|b]] and [c](d.md)", "0 a|b :3, 2 d.md|c :3"},
		{"with a text behind", "[[x]](1958)", "0 x| :1"},
		{"a URL behind it makes a link", "[[1]](https://a.b)", ""},
		{"embed", "![[a#b]] x", "1 a#b| :1"},
		{"Markdown link", "[t](Note.md#part) ![p](../a%20b.md)", "2 Note.md#part|t :1, 1 ../a b.md|p :1"},
		{"in angle brackets", "[t](<my note.md#A%20B>)", "2 my note.md#A B|t :1"},
		{"files", "[[x.png]] [t](a/b%20c.pdf) ![](y.svg)", "0 x.png| :1, 2 a/b c.pdf|t :1, 1 y.svg| :1"},
		{"neither note nor file", "[t](other) [u](https://a.b/c.md) [v](#x) [m](mailto:a@b.md)", ""},
		{"escaped control characters stay", "[t](a%00b.md)", "2 a%00b.md|t :1"},
		{"in order", "[a](a.md) [[b]] [c](c.md)\n[[d]]", "2 a.md|a :1, 0 b| :1, 2 c.md|c :1, 0 d| :2"},
		{"in code", "`[[a]]` `[b](c.md)`", ""},
		{"in footnotes of one word", "x[^1]\n\n[^1]: [[a]]\n[^2]: [b](b.md)\n\n> [^n]: ![[c|d]]",
			"0 a| :3, 2 b.md|b :4, 1 c|d :6"},
		{"in footnotes behind definitions", "[r]: /u\n[^1]: [[a]]\n[s]: [[b]]\n\n[see [[c]]][r]", "0 a| :2, 0 b| :3, 0 c| :5"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range markdown.Parse([]byte(c.text)).References {
				got = append(got, fmt.Sprintf("%d %s|%s :%d", r.Form, r.Target, r.Display, r.Line))
			}
			require.Equal(t, c.want, strings.Join(got, ", "))
		})
	}
}

// TestBlockIDs says which lines have the id of a block.
func TestBlockIDs(t *testing.T) {
	text := "a ^one\n\n- b ^two-2\n- c\n\n^three\n\n`d ^no`\ne^no\nf ^no no\n\n```\ng ^no\n```\nh ^\n> i ^four  \n"
	want := []markdown.Block{{"one", 1}, {"two-2", 3}, {"three", 6}, {"four", 16}}
	require.Equal(t, want, markdown.Parse([]byte(text)).Blocks)
}

// TestTagRows are the row G1, where ours is S's, and F14. M and C know no tags.
func TestTagRows(t *testing.T) {
	checkRows(t, []row{
		{id: "G1", text: "---\ntags: [x, \"#y\"]\n---\n#alpha #beta-1 #123 (#paren) `#code` a#b\n\n## Head #htag\n\n- #item\n",
			want: "#x #y #alpha #beta-1 #paren #htag >head-htag #item >head-htag",
			m:    "none", c: "none"},
		{id: "case", text: "#Tag #tag #_x #a_B", want: "#Tag #tag #_x #a_B"},
		{id: "any script", text: "#größe #日本語 #नोट #заметка/один #2026-q1 #a/b/ #1984 #- #/ #a、b #x!y",
			want: "#größe #日本語 #नोट #заметка/один #2026-q1 #a/b #a #x"},
		{id: "text", text: "---\ntags: \"a, #b c\"\n---\n", want: "#a #b #c"},
		{id: "list", text: "---\ntags:\n  - a\n  - 2024\n  -\n  - [b]\n---\n", want: "#a #2024"},
		{id: "null", text: "---\ntags:\n---\n", want: ""},
		{id: "in a footnote", text: "[^1]: #a\n\n[^2]: @due(2025-01-01)", want: `@due="2025-01-01" «[^2]:» #a`},
		{id: "not text", text: "[[a#b]] [[#c]] <!-- #d --> [x](#e) \\#f ##g *#h*", want: "[[a#b]] [[#c]] #h"},
	})
	var lines []int
	for _, tag := range markdown.Parse([]byte("---\na: 1\ntags:\n  - x\n\n  - y\n---\n\n#z\n")).Tags {
		lines = append(lines, tag.Line)
	}
	require.Equal(t, []int{4, 6, 9}, lines)
}

package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// objects renders the headings of a note, an item each: `#slug type{fields}` for an object, `#slug`
// for a section.
func objects(d *markdown.Doc) string {
	var items []string
	for _, h := range d.Headings {
		s := "#" + h.Slug
		if h.Parent >= 0 {
			s += "<" + d.Headings[h.Parent].Slug
		}
		if h.Declaration != nil {
			var fields []string
			for _, a := range h.Declaration.Fields {
				fields = append(fields, a.Key+"="+value(a.Value))
			}
			s += " " + h.Declaration.Type + "{" + strings.Join(fields, ", ") + "}"
		}
		items = append(items, s)
	}
	return strings.Join(items, " ")
}

// TestEmbeddedRows are the table E: ours is M's column, and the document's bare block. In C all of
// them are sections.
func TestEmbeddedRows(t *testing.T) {
	cases := []struct{ row, text, want, found string }{
		{"E1", "## One\n::meeting(id=standup, time=09:00)", `#standup meeting{id="standup", time="09:00"}`, ""},
		{"E2", "## Two\n::meeting", "#two meeting{}", ""}, // S: a section
		{"E2", "## Two\n::meeting()", "#two meeting{}", ""},
		{"E3", "## Three\n  ::task  ", "#three task{}", ""},                                         // S: a section
		{"E4", "## Four\n::section()", "#four section{}", ""},                                       // S: with fields
		{"E5", "## Five\n::team-sync(id=weekly)", `#weekly team-sync{id="weekly"}`, ""},             // S: a section
		{"E6", "## A\n::task(note=fix (urgent, today))", `#a task{note="fix (urgent, today)"}`, ""}, // S: a section
		{"E7", "## A\n::task(note=\"fix)", "#a", ""},
		{"E7", "## A\n::task(a=[b)", "#a", ""},
		{"E7", "## A\n::task(a=(b])", "#a", ""},
		{"E8", "## A\n::task(a=\"x, y\", b=[1, \"two\", [[r/s]]], c=true, d=3.5, e=2025-02-01, f=2025-02-01T09:30)",
			`#a task{a="x, y", b=[1, "two", [[r/s]]], c=true, d=3.5, e="2025-02-01", f="2025-02-01T09:30"}`,
			"[[r/s]] >a"}, // S: a section
		{"E9", "## A\n::t(attendees=[[[people/a]], [[people/b]]])", // S: only the second reference
			"#a t{attendees=[[[people/a]], [[people/b]]]}", "[[people/a]] >a [[people/b]] >a"},
		{"E10", "## A\n\n::task(id=x)\n\ntext @b", `#x task{id="x"}`, "@b «text» >x"}, // S: a section
		{"E11", "## A\n::meeting(id=tr) trailing", "#a", ""},
		{"E12", "## Multi\n::meeting(id=mm)\nmore text @todo", "#multi", "@todo «more text» >multi"}, // S: #mm
		{"E13", "A\n---\n::task(id=setext)", `#setext task{id="setext"}`, ""},                        // S: a section
		{"E14", "## A\n- ::task", "#a", ""},
		{"E14", "## A\n```\n::task\n```", "#a", ""},
		{"E14", "## A\ntext\n\n::task", "#a", ""},
		{"E15", "## A\n::t(id=x)\n## B\n::t(id=x)", `#x t{id="x"} #x t{id="x"}`, ""},
		{"E16", "## A\n::t(id=x)\n### B", `#x t{id="x"} #b<x`, ""},
		{"E17", "## A\n::meeting\nattendees: [[a]], [[b]]", // S, M: a section, two references
			"#a meeting{attendees=[[[a]], [[b]]]}", "[[a]] >a [[b]] >a"},
		{"E18", "::task(id=x)\n\n## A", "#a", ""},

		{"block", "## A\n\n::m\nid: s\ntime: 09:00\nn: 3\nl: [a, \"b, c\"]\nt: x, y (z\nq: \"a: b\"\nr: [[p|P]]\ne:\n\nx",
			`#s m{id="s", time="09:00", n=3, l=["a", "b, c"], t="x, y (z", q="a: b", r=[[p]], e=<nil>}`, "[[p|P]] >s"},
		{"block with a line that is no field", "## A\n::m\na: b\nnot a field", "#a", ""},
		{"block with a link", "## A\n::m\nhttp://x.y", "#a", ""},
		{"block after arguments", "## A\n::m()\na: b", "#a", ""},
		{"CRLF", "## A\r\n::m\r\na: b\r\n", `#a m{a="b"}`, ""},
		{"quote", "> ## A\n> ::m(a=1)\n> @x", "#a", "@x «» >a"},
		{"quote, alone", "> ## A\n> ::m(a=1)\n>\n> @x", `#a m{a=1}`, "@x «» >a"},
		{"ids and slugs", "## A\n::t(id=b)\n## B\n## A\n::t\n## A", `#b t{id="b"} #b #a t{} #a-2`, ""},
		{"no letters", "## !!!\n::task\n## !!!\n## Task", "#task task{} #section #task-2", ""},
		{"no type", "## A\n::\n## B\n::(a=1)", "#a #b", ""},
		{"title", "# A\n::t\n## B", "#a t{} #b<a", ""},
		{"same key", "## A\n::t(a=1, b=2, a=3)", "#a t{b=2, a=3}", ""},
		{"empty", "## A\n::t(a=, , b=\"\",)", `#a t{a=<nil>, b=""}`, ""},
		{"no value", "## A\n::t(a)", "#a", ""},
		{"key", "## A\n::t(größe=1)\n## B\n::t(a b=1)", "#a t{größe=1} #b", ""},
		{"quotes", `## A` + "\n" + `::t(a="say \"x\" \\ \y", b=[[p|a, (b]])`,
			`#a t{a="say \"x\" \\ \\y", b=[[p]]}`, "[[p|a, (b]] >a"},
		{"numbers", "## A\n::t(a=-1, b=1e3, c=0x10, d=1.5.2, e=9007199254740993, id=7)",
			`#7 t{a=-1, b=1000, c="0x10", d="1.5.2", e="9007199254740993", id=7}`, ""},
		{"traits and tags in it", "## A\n::t(a=@x, b=(#y))", `#a t{a="@x", b="(#y)"}`, ""},
		{"empty heading", "##\n::task @x", "", "@x «::task»"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			d := markdown.Parse([]byte(c.text))
			require.Equal(t, c.want, objects(d))
			require.Equal(t, c.found, found(d))
		})
	}
}

func TestEmbeddedPlaces(t *testing.T) {
	text := "# T\n\n## A\n\n::m( a = 1 , b=[x, y])\n\n## B\n::n\nc: d\n  e:  [[f]]  \n"
	d := markdown.Parse([]byte(text))
	var got []string
	for _, h := range d.Headings[1:] {
		e := h.Declaration
		got = append(got, fmt.Sprintf("L%d %q", e.Line, text[e.Span.Start:e.Span.End]))
		for _, a := range e.Fields {
			got = append(got, fmt.Sprintf("L%d %q %q", a.Line, text[a.Span.Start:a.Span.End], text[a.Text.Start:a.Text.End]))
		}
	}
	require.Equal(t, []string{
		`L5 "::m( a = 1 , b=[x, y])"`, `L5 "a = 1" "1"`, `L5 "b=[x, y]" "[x, y]"`,
		`L8 "::n\nc: d\n  e:  [[f]]"`, `L9 "c: d" "d"`, `L10 "e:  [[f]]" "[[f]]"`,
	}, got)
	_, ok := d.Headings[1].Declaration.Get("b")
	require.True(t, ok)
	_, ok = d.Headings[0].Declaration.Get("b")
	require.False(t, ok)
}

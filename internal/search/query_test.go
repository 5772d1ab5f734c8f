package search_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/search"
)

func TestParseQuery(t *testing.T) {
	word := func(s string) search.Clause { return search.Clause{Text: s} }
	for _, c := range []struct {
		text string
		want []search.Clause
	}{
		{"", nil},
		{"boat", []search.Clause{word("boat")}},
		{"  two \t words\n", []search.Clause{word("two"), word("words")}},
		{"O'Brien", []search.Clause{word("O'Brien")}},
		{"c++", []search.Clause{word("c")}},
		{"@todo #tag", []search.Clause{word("todo"), word("tag")}},
		{"foo:bar x {y}", []search.Clause{word("foo:bar"), word("x"), word("y")}},
		{"* - -- ! 🚀 \x00 ''", nil},
		{"boat AND", []search.Clause{word("boat"), word("AND")}},
		{"(boat", []search.Clause{word("boat")}},
		{"well-known", []search.Clause{word("well-known")}},
		{"-boat", []search.Clause{{Not: true, Text: "boat"}}},
		{"--boat -(boat", []search.Clause{word("boat"), word("boat")}},
		{"boat*", []search.Clause{{Kind: search.Prefix, Text: "boat"}}},
		{"-boat*", []search.Clause{{Kind: search.Prefix, Not: true, Text: "boat"}}},
		{"**boat** *boat* boat**", []search.Clause{word("boat"), word("boat"), word("boat")}},
		{"b*t", []search.Clause{word("b*t")}},
		{`"two  words"`, []search.Clause{{Kind: search.Phrase, Text: "two words"}}},
		{`“two words”`, []search.Clause{{Kind: search.Phrase, Text: "two words"}}},
		{`-"two words" x`, []search.Clause{
			{Kind: search.Phrase, Not: true, Text: "two words"}, word("x"),
		}},
		{`"" "!" "*"`, nil},
		{`"two words`, []search.Clause{word("two"), word("words")}},
		{`5" pipe 6" bolt`, []search.Clause{word("5"), word("pipe"), word("6"), word("bolt")}},
		{`"a"b`, []search.Clause{{Kind: search.Phrase, Text: "a"}, word("b")}},
		{"nul\x00byte\x1b[0m", []search.Clause{word("nul"), word("byte"), word("0m")}},
		{"in\xffvalid", []search.Clause{word("in"), word("valid")}},
		{"灯台 नदी", []search.Clause{word("灯台"), word("नदी")}},
	} {
		q := search.ParseQuery(c.text)
		require.Equal(t, c.want, q.Clauses, "%q", c.text)
		require.Equal(t, q, search.ParseQuery(q.String()), "%q", c.text)
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{
		`O'Brien c++ @todo * "un`, `-a -"b c" d* -e*`, "“x” \u0301y", `"a"b -"`, "a\u00a0b", "\xff-\"",
		strings.Repeat("a\" ", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := search.ParseQuery(text)
		require.Equal(t, q, search.ParseQuery(q.String()), "%q", q.String())
		for _, c := range q.Clauses {
			require.NotEmpty(t, c.Text)
		}
	})
}

package query_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
)

// texts are queries with the form in which they are printed, where that is another.
var texts = [][2]string{
	{"type:person", ""},
	{"TYPE : person", "type:person"},
	{"type:date", "type:daily"},
	{"type:*", ""},
	{"trait:due", ""},
	{"Section", "section"},
	{"link", ""},
	{"section (.a==1 | .b==2) .c==3", ""},
	{"type:a in(section (.a==1 | .b==2))", "type:a in(section .a==1 | .b==2)"},
	{"type:project .status==active .rating>=3", ""},
	{"type:project .status == active\n.rating >= 3", "type:project .status==active .rating>=3"},
	{"type:a .x==1 | .y==2", ""},
	{"type:a .x==1 | .y==2 | type:b", ""},
	{"type:a | type:b | section", ""},
	{"type:a (.x==1 | .y==2) .z!=3", ""},
	{"type:a ((.x==1))", "type:a .x==1"},
	{"type:a (.x==1 .y==2) .z==3", ""},
	{"type:a .x==1 (.y==2 .z==3)", ""},
	{"type:a !.x==1 !(.y==2 | .z==3)", ""},
	{"type:a !(!.x==1)", ""},
	{"type:a .x<1 .x<=1 .x>1 .x>=1 .x!=1", ""},
	{`type:a .x==3.5`, `type:a .x=="3.5"`},
	{`type:a .x==-2`, ""},
	{`type:a .x==2026-03-02`, ""},
	{`type:a .x=="2026-03-02T10:30"`, ""},
	{`type:a .x=="3 days ago"`, ""},
	{`type:a .x=="a \"b\" \\ \n"`, `type:a .x=="a \"b\" \\ \\n"`},
	{`type:a .x==r"raw \ text"`, `type:a .x=="raw \\ text"`},
	{`type:a .x==""`, ""},
	{`type:a .x=="_"`, ""},
	{`type:a .x=="word"`, "type:a .x==word"},
	{"type:a .x==[[people/freya|Freya]]", "type:a .x==[[people/freya]]"},
	{`type:a .x=="[[people/freya]]"`, "type:a .x==[[people/freya]]"},
	{"type:a exists(.x) EXISTS(.y)", "type:a exists(.x) exists(.y)"},
	{"type:a oneof(.x,[a,b, \"c d\"])", `type:a oneof(.x, [a, b, "c d"])`},
	{"type:a oneof(.x, [a])", ""},
	{"type:a oneof(.x, [[[a]], [[b]]])", ""},
	{`type:a includes(.x, "t", TRUE) startswith(.x, "t", false) endswith(.x, "t")`,
		`type:a includes(.x, "t", true) startswith(.x, "t") endswith(.x, "t")`},
	{`type:a matches(.x, /a\/b\d+/, true)`, `type:a matches(.x, "a/b\\d+", true)`},
	{`type:a matches(.x, "^a$")`, ""},
	{"type:a any(.x, _==1 | _==2) all(.y, !_<3) none(.z, (_==1 | _==2) _!=3)", ""},
	{`type:a any(.x, includes(_, "t", true) matches(_, "u"))`, ""},
	{"type:a has(trait:due) contains(section | type:b)", ""},
	{"section in(type:b .x==1) within([[people/freya]])", "section in(type:b .x==1) within(people/freya)"},
	{"type:a refs([[section]]) refs(people/freya#top) refd(section .level==2)", ""},
	{"type:a refs([[type:x]])", ""},
	{"trait:due at(trait:priority .value==high | trait:status)", ""},
	{"type:a links() links(.scheme==url | .ext==pdf)", ""},
	{`type:a content("two words")`, ""},
	{"type:a sort:-.due,.name limit:10 count", ""},
	{"type:a count limit:10 sort:.x", "type:a sort:.x limit:10 count"},
	{"type:a .x==sort limit:3", ""},
	{"type:日本 .größe==überall .名前==東京", ""},
	{"type:a refs(type:person | type:company)", ""},
	{"trait:due .value==past | trait:remind .value==today | .value==tomorrow", ""},
	{"type:{{args.t}} .x=={{args.v}} refs({{args.o}}) .y==\"a {{args.v}} b\"", ""},
	{"type:a .x==count", ""},
	{"type:project contains(trait:due .value<today at(trait:status .value==todo)) refs([[people/freya]])",
		"type:project contains(trait:due .value<today at(trait:status .value==todo)) refs(people/freya)"},
}

func TestTexts(t *testing.T) {
	for _, row := range texts {
		q, err := query.Parse(row[0])
		require.NoError(t, err, row[0])
		want := row[1]
		if want == "" {
			want = row[0]
		}
		require.Equal(t, want, q.String())
		again, err := query.Parse(q.String())
		require.NoError(t, err, q.String())
		require.True(t, q.Equal(again), q.String())
		asFilter, err := query.FromJSON(q.JSON())
		require.NoError(t, err, "%s", q.JSON())
		asFilter.Sort, asFilter.Limit, asFilter.Count = q.Sort, q.Limit, q.Count
		require.True(t, q.Equal(asFilter), "%s\n%s\n%s", q, q.JSON(), asFilter)
	}
}

// refusals are texts that cannot be read, with the column and a part of the message or of a fix.
var refusals = []struct {
	text   string
	column int
	says   string
}{
	{"", 1, "begins with"},
	{"person", 1, "begins with"},
	{"object:person", 1, "write type:"},
	{"type:", 6, "name of a type"},
	{"type:section", 6, "write section"},
	{"trait:*", 7, "name of a trait"},
	{"type:a .x", 10, "operator"},
	{"type:a .x:1", 10, "write .x==value"},
	{"type:a .x=1", 10, "write .x==value"},
	{"type:a .x==", 12, "value"},
	{"type:a .x==*", 12, "exists(.x)"},
	{"type:a .x==2026-03-02T10:30", 25, "quoted"},
	{"type:a (.x==1", 14, `")"`},
	{"type:a .x==1)", 13, "predicate"},
	{"type:a .x==\"open", 12, "not closed"},
	{"type:a .x==[[open", 12, "not closed"},
	{"type:a .x==[[]]", 12, "not a reference"},
	{"type:a matches(.x, /open)", 20, "not closed"},
	{"type:a . ", 8, "a dot and a name"},
	{"type:a ;", 8, "unexpected character"},
	{"type:a {{x}}", 8, "{{args.name}}"},
	{"type:a has:{trait:due}", 8, "has(trait:…)"},
	{"type:a value:x", 8, ".value==…"},
	{"type:a has({trait:due})", 12, "parentheses"},
	{"type:a refs({trait:due})", 13, "parentheses"},
	{"type:a refs:[[x]]", 8, "refs([[target]])"},
	{"{type:a}", 1, "parentheses"},
	{"type:a notnull(.x)", 8, "write exists"},
	{"type:a isnull(.x)", 8, "write !exists"},
	{"type:a include(.x, \"a\")", 8, "did you mean includes"},
	{"type:a |> sort(.x)", 8, "sort:.field"},
	{"type:a _==1", 8, "any(.field"},
	{"type:a exists(_)", 15, "any(.field"},
	{"type:a | head", 10, "shell"},
	{"type:a | jq .x", 10, "shell"},
	{"type:a type:b", 8, "one root"},
	{"type:a oneof(.x, [])", 19, "value"},
	{"type:a includes(.x, word)", 21, "text in quotes"},
	{"type:a includes(.x, \"a\", maybe)", 26, "whether case matters"},
	{"type:a any(.x, .y==1)", 16, "condition on the element"},
	{"type:a sort:.x sort:.y", 16, "twice"},
	{"type:a sort:x", 13, "needs fields"},
	{"type:a limit:0", 14, "at least 1"},
	{"type:a limit:many", 14, "at least 1"},
	{"type:a has(trait:b limit:3)", 20, "whole query"},
	{"type:a refs()", 13, "a query, an id or a name"},
	{"type:a at(people/freya)", 11, "begins with"},
	{"type:größe größer", 12, "predicate"},
	{"type:a !!.x==1", 9, "predicate"},
}

func TestRefusals(t *testing.T) {
	for _, row := range refusals {
		_, err := query.Parse(row.text)
		require.True(t, fault.Is(err, fault.InvalidQuery), "%s: %v", row.text, err)
		f := fault.Of(err)
		require.Equal(t, row.column, f.Details["column"], "%s: %s", row.text, f.Message)
		require.Equal(t, "syntax", f.Details["reason"], row.text)
		require.Contains(t, f.Details, "near", row.text)
		require.Contains(t, f.Message+strings.Join(f.Fixes, " "), row.says, row.text)
	}
}

// TestNear covers that a refusal says at what it is: a sign or a word of the language, else the kind of what is there,
// and never a value.
func TestNear(t *testing.T) {
	for text, near := range map[string]string{
		"": "the end", "person": "a word", "type:a .x==": "the end", "type:a .x==1)": ")", "type:a type:b": "type",
		"type:a .x .y": "a field", `type:a .x "axolotl"`: "a text in quotes", "type:a .x==1 [[axolotl]]": "a reference",
		"type:a 3.5": "a number", "type:a ;": "an unexpected character", "type:a has(sort:.x)": "sort", "type:a .x==1 axolotl": "a word",
	} {
		_, err := query.Parse(text)
		f := fault.Of(err)
		require.Equal(t, near, f.Details["near"], text)
		require.NotContains(t, fmt.Sprint(f.Message, f.Details, f.Fixes), "axolotl")
	}
}

func TestBounds(t *testing.T) {
	rows := []struct{ text, reason string }{
		{"type:a .x==" + strings.Repeat("a", query.MaxText), "length"},
		{"type:a " + strings.Repeat("(", 40) + ".x==1" + strings.Repeat(")", 40), "depth"},
		{strings.Repeat("type:a has(", 33), "depth"},
		{"type:a " + strings.Repeat(".x==1 ", 257), "size"},
		{"type:a oneof(.x, [" + strings.Repeat("a,", 1000) + "a])", "size"},
		{`type:a matches(.x, "` + strings.Repeat("a", 1001) + `")`, "size"},
	}
	for _, row := range rows {
		_, err := query.Parse(row.text)
		require.True(t, fault.Is(err, fault.InvalidQuery))
		require.Equal(t, row.reason, fault.Of(err).Details["reason"], row.text[:20])
	}
	_, err := query.Parse("type:a " + strings.Repeat(".x==1 ", 256))
	require.NoError(t, err)
	_, err = query.Parse("type:a .x==\xff")
	require.True(t, fault.Is(err, fault.InvalidQuery))
}

func TestFilters(t *testing.T) {
	rows := [][2]string{
		{`{"type":"project","where":{"fields":{"status":"active","rating":{">=":3}},"contains":{"trait":"due","where":{"fields":{"value":"past"}}}}}`,
			"type:project .rating>=3 .status==active contains(trait:due .value==past)"},
		{`[{"type":"a"},{"trait":"b"},{"section":true},{"link":true}]`, "type:a | trait:b | section | link"},
		{`{"type":"a","where":{"any":[{"fields":{"x":1}},{"not":{"fields":{"y":true}}}]}}`, "type:a .x==1 | !.y==true"},
		{`{"type":"a","where":{"fields":{"x":{"exists":false},"y":{">":1,"<":3}}}}`, "type:a !exists(.x) .y<3 .y>1"},
		{`{"type":"a","where":{"fields":{"x":{"any":{"includes":"T","case":true}},"y":{"all":{"any":[1,{"not":2}]}}}}}`,
			`type:a any(.x, includes(_, "T", true)) all(.y, _==1 | !_==2)`},
		{`{"type":"a","where":{"links":true}}`, "type:a links()"},
		{`{"type":"a","where":{"refs":"[[people/freya]]","within":{"section":true}}}`,
			"type:a within(section) refs(people/freya)"},
		{`{"type":"date","where":{"content":"x"}}`, `type:daily content("x")`},
	}
	for _, row := range rows {
		q, err := query.FromJSON([]byte(row[0]))
		require.NoError(t, err, row[0])
		require.Equal(t, row[1], q.String())
		require.True(t, json.Valid(q.JSON()))
	}
}

func TestFilterRefusals(t *testing.T) {
	rows := [][3]string{
		{`{`, "", "not JSON"},
		{`{} {}`, "", "not JSON"},
		{`3`, "", "object"},
		{`[]`, "", "at least one"},
		{`{}`, "", "one of type"},
		{`{"type":"a","trait":"b"}`, "", "one of type"},
		{`{"type":3}`, "/type", "name of a type"},
		{`{"type":"a b"}`, "/type", "cannot be the name"},
		{`{"type":"section"}`, "/type", "own root"},
		{`{"section":1}`, "/section", "expected true"},
		{`{"typ":"a"}`, "/typ", "there is no such key"},
		{`{"type":"a","where":{}}`, "/where", "at least one key"},
		{`{"type":"a","where":{"all":[]}}`, "/where/all", "at least one"},
		{`{"type":"a","where":{"fields":{"a/b":{"=":1}}}}`, "/where/fields/a~1b/=", "there is no such key"},
		{`{"type":"a","where":{"fields":{"a b":1}}}`, "/where/fields/a b", "name of a field"},
		{`{"type":"a","where":{"fields":{"x":{"==":[1]}}}}`, "/where/fields/x/==", "expected a string"},
		{`{"type":"a","where":{"fields":{"x":{"case":true}}}}`, "/where/fields/x/case", "can only be used"},
		{`{"type":"a","where":{"fields":{"x":{"oneof":[]}}}}`, "/where/fields/x/oneof", "at least one"},
		{`{"type":"a","where":{"has":"x"}}`, "/where/has", "expected a filter"},
		{`{"type":"a","where":{"refs":3}}`, "/where/refs", "object"},
		{`{"type":"a","where":{"has":[{"type":"b"},{"trait":3}]}}`, "/where/has/1/trait", "name of a trait"},
		{`{"type":"a","where":{"content":3}}`, "/where/content", "expected a string"},
	}
	for _, row := range rows {
		_, err := query.FromJSON([]byte(row[0]))
		require.True(t, fault.Is(err, fault.InvalidQuery), row[0])
		f := fault.Of(err)
		require.Equal(t, row[1], f.Details["pointer"], "%s: %s", row[0], f.Message)
		require.Contains(t, f.Message, row[2])
	}
	deep := strings.Repeat(`{"type":"a","where":{"has":`, 40)
	_, err := query.FromJSON([]byte(deep + `{"trait":"b"}` + strings.Repeat("}}", 40)))
	require.Equal(t, "depth", fault.Of(err).Details["reason"])
}

func TestBind(t *testing.T) {
	q, err := query.Parse(`type:{{args.t}} .x=={{args.v}} | .y=="a {{args.v}}" refs([[{{args.o}}]])`)
	require.NoError(t, err)
	require.Equal(t, []string{"t", "v", "o"}, q.Args())
	bound, err := q.Bind(map[string]string{"t": "date", "v": `" | type:other`, "o": "[[people/freya]]"})
	require.NoError(t, err)
	require.Equal(t, `type:daily .x=="\" | type:other" | .y=="a \" | type:other" refs(people/freya)`, bound.String())
	require.Equal(t, []string{"t", "v", "o"}, q.Args(), "the query itself stays")
	_, err = q.Bind(map[string]string{"t": "a"})
	require.True(t, fault.Is(err, fault.MissingRequired))
	require.Equal(t, []string{"v", "o"}, fault.Of(err).Details["missing"])
	_, err = q.Bind(map[string]string{"t": "a", "v": "b", "o": "c", "p": "d"})
	require.True(t, fault.Is(err, fault.InvalidValue))
}

func FuzzParse(f *testing.F) {
	for _, row := range texts {
		f.Add(row[0])
	}
	for _, row := range refusals {
		f.Add(row.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.Parse(text)
		if err != nil {
			require.True(t, fault.Is(err, fault.InvalidQuery))
			return
		}
		again, err := query.Parse(q.String())
		require.NoError(t, err, q.String())
		require.True(t, q.Equal(again), "%s\n%s", q, again)
		filter, err := query.FromJSON(q.JSON())
		if fault.Is(err, fault.InvalidQuery) && fault.Of(err).Details["reason"] != "syntax" {
			return // the filter of a query may be beyond a bound that its text is not
		}
		require.NoError(t, err, "%s", q.JSON())
		filter.Sort, filter.Limit, filter.Count = q.Sort, q.Limit, q.Count
		require.True(t, q.Equal(filter), "%s\n%s", q, q.JSON())
	})
}

func FuzzFilter(f *testing.F) {
	for _, row := range texts {
		if q, err := query.Parse(row[0]); err == nil {
			f.Add(q.JSON())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := query.FromJSON(data)
		if err != nil {
			require.True(t, fault.Is(err, fault.InvalidQuery))
			return
		}
		again, err := query.FromJSON(q.JSON())
		if err != nil {
			require.NotEqual(t, "syntax", fault.Of(err).Details["reason"], "%s", q.JSON())
			return
		}
		require.True(t, q.Equal(again), "%s\n%s", q.JSON(), again.JSON())
	})
}

package tree_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// house is the tree P of reference/tree.md, B8, as a vault.
var house = map[string]string{
	"property.md": "---\nSquareFeet: 20000\n---\n\n# Property\n\n" +
		"## House\n::section(SquareFeet=2500)\n\n### Kitchen\n::section(SquareFeet=600)\n\n### Bathroom\n::section(SquareFeet=300)\n\n" +
		"## Shed\n::section(SquareFeet=240)\n\n## Basement\n::section(SquareFeet=1500)\n\n### Bedroom\n::section(SquareFeet=400)\n",
}

// held are the names of the nodes below a node of which a query holds.
func held(t testing.TB, files map[string]string, x *tree.Expr) string {
	t.Helper()
	tr := tree.New(indexOf(files))
	e := tree.NewEvaluator(tr, vault.Clock{Now: noon})
	var names []string
	for n := range tr.Walk(tr.Root(), nil) {
		if n != tr.Root() && e.Holds(x, n) == tree.Yes {
			names = append(names, tr.Name(n))
		}
	}
	return strings.Join(names, " ")
}

// TestSelections covers B8 29 to 32, with the answers of upstream beside ours.
func TestSelections(t *testing.T) {
	for _, c := range []struct{ query, upstream, ours string }{
		{`Name contains "Kitchen"`, "Kitchen", "Kitchen"},
		{`SquareFeet > 450`, "Property House Kitchen Basement", "Property House Kitchen Basement"},
		{`Name contains Kitchen AND SquareFeet > 100`, "Kitchen", "Kitchen"},
		{`Name contains 'Kitchen' OR Name contains 'Shed'`, "", "Kitchen Shed"},
		{`under "House" AND SquareFeet < 500`, "", "Bathroom"},
		{`childof property AND NOT SquareFeet between 1000 AND 3000`, "", "Shed"},
		{`ancestor.SquareFeet >= 2500 and SquareFeet<=300`, "", "Bathroom Shed"},
		{`SquareFeet in (240, "300") `, "", "Bathroom Shed"},
		{`kind = section BUT-NOT-IF (name startswith b or squarefeet = 600)`, "", "House Shed"},
		{`payload.squareFeet missing`, "", ""},
		{`level exists AND SquareFeet != 600 AND depth > 3`, "", ""},
		{`level = 3 AND SquareFeet != 600`, "", "Bathroom Bedroom"},
		{`under property#house`, "", "Kitchen Bathroom"},
	} {
		x, err := tree.Parse(c.query)
		require.NoError(t, err, c.query)
		require.Equal(t, c.ours, held(t, house, x), c.query)
	}
}

// TestSyntaxErrors covers that each says where and what would be right.
func TestSyntaxErrors(t *testing.T) {
	for query, want := range map[string]tree.SyntaxError{
		"":                   {Position: 0, Expected: "the name of a property"},
		"Name ~~ x":          {Position: 5, Expected: "an operator: = != > >= < <= contains startswith between in exists missing"},
		"a = ":               {Position: 4, Expected: "a value"},
		"(a = 1":             {Position: 6, Expected: `AND, OR, BUT-NOT-IF or ")"`},
		"a = 'x":             {Position: 4, Expected: "a closing quote"},
		"a between 1":        {Position: 11, Expected: "AND and the upper value"},
		"a = \"1\" b":        {Position: 8, Expected: "AND, OR, BUT-NOT-IF or the end"},
		"a in (1 2":          {Position: 9, Expected: `"," or ")"`},
		"and = 1":            {Position: 0, Expected: "the name of a property"},
		"ancestor.a missing": {Position: 11, Expected: "an operator: = != > >= < <= contains startswith"},
	} {
		_, err := tree.Parse(query)
		var syntax *tree.SyntaxError
		require.True(t, errors.As(err, &syntax), query)
		require.Equal(t, want, *syntax, query)
	}
	_, err := tree.Parse(strings.Repeat("(", 40) + "a=1")
	require.ErrorContains(t, err, "groups")
	_, err = tree.Parse(strings.Repeat("a = 1 AND ", 64) + "a = 1")
	require.ErrorContains(t, err, "64 terms")
	_, err = tree.Parse("a = " + strings.Repeat("x", tree.MaxQuery))
	require.ErrorContains(t, err, "4096 bytes")
}

// drawExpr draws an Expr as Parse returns them.
func drawExpr(t *rapid.T, depth int) *tree.Expr {
	text := rapid.SampledFrom([]string{"", "x", "a b", "AND", "or", ")", "it's", `"`, `\`, "é", "under", "ancestor", "1", "2025-01-01", "a.b", "[[x]]"})
	name := rapid.SampledFrom([]string{"status", "a-b", "and", "under", "ancestor", "exists", "due date", `q"`, "É"})
	if depth > 0 && rapid.Bool().Draw(t, "group") {
		switch op := rapid.SampledFrom([]tree.Op{tree.OpAnd, tree.OpOr, tree.OpNot}).Draw(t, "op"); op {
		case tree.OpNot:
			return &tree.Expr{Op: op, Subs: []*tree.Expr{drawExpr(t, depth-1)}}
		default:
			x := &tree.Expr{Op: op}
			for range rapid.IntRange(2, 3).Draw(t, "subs") {
				x.Subs = append(x.Subs, drawExpr(t, depth-1))
			}
			return x
		}
	}
	path := rapid.SliceOfN(name, 1, 3).Draw(t, "path")
	op := rapid.SampledFrom([]tree.Op{
		tree.OpEqual, tree.OpNotEqual, tree.OpGreater, tree.OpAtLeast, tree.OpLess, tree.OpAtMost, tree.OpContains, tree.OpStartsWith,
		tree.OpBetween, tree.OpIn, tree.OpExists, tree.OpMissing, tree.OpUnder, tree.OpChildOf, tree.OpAncestor,
	}).Draw(t, "op")
	x := &tree.Expr{Op: op, Path: path}
	switch op {
	case tree.OpExists, tree.OpMissing:
	case tree.OpUnder, tree.OpChildOf:
		x.Path, x.Values = nil, []string{text.Draw(t, "value")}
	case tree.OpBetween:
		x.Values = []string{text.Draw(t, "value"), text.Draw(t, "value")}
	case tree.OpIn:
		x.Values = rapid.SliceOfN(text, 1, 3).Draw(t, "values")
	case tree.OpAncestor:
		x.Path, x.Subs = nil, []*tree.Expr{{Op: tree.OpEqual, Path: path, Values: []string{text.Draw(t, "value")}}}
	default:
		x.Values = []string{text.Draw(t, "value")}
	}
	return x
}

// TestQueriesAreReadAsWritten covers that Parse(x.String()) is x.
func TestQueriesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawExpr(rt, 3)
		if x.Terms() > tree.MaxTerms {
			return
		}
		read, err := tree.Parse(x.String())
		require.NoError(rt, err, x.String())
		require.Equal(rt, x, read, x.String())
	})
}

// FuzzParse covers that nothing breaks the parser, and that what it reads is written and read as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`Name contains Living Room AND NOT (a = 1 OR b in (x, 'y')) BUT-NOT-IF ancestor.type = project`,
		`under /projects/ and "due date" between 2025-01-01 AND 2025-12-31`, `a.b."c d" startswith 'it\'s'`, `a missing or childof x`, `é != ü`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := tree.Parse(text)
		if err != nil {
			return
		}
		written := x.String()
		if len(written) > tree.MaxQuery {
			return
		}
		again, err := tree.Parse(written)
		require.NoError(t, err, "%q of %q", written, text)
		require.Equal(t, x, again, "%q of %q", written, text)
	})
}

// TestPredicates covers B8 20 and 23 to 28, with the answers of upstream beside ours.
func TestPredicates(t *testing.T) {
	for _, c := range []struct{ predicates, upstream, ours string }{
		{`[{"path":"Name","op":"eq","value":"kitchen"}]`, "Kitchen", "Kitchen"},
		{`[{"path":"Name","op":"contains","value":"room"},{"path":"SquareFeet","op":"gt","value":300}]`, "Bedroom", "Bedroom"},
		{`{"op":"or","predicates":[{"path":"Name","op":"eq","value":"Shed"},{"path":"Name","op":"eq","value":"House"}]}`, "House Shed", "House Shed"},
		{`[{"path":"SquareFeet","op":"between","value":240,"value2":300}]`, "Bathroom Shed", "Bathroom Shed"},
		{`{"op":"but-not-if","predicates":[{"path":"SquareFeet","op":"gt","value":"100"},{"path":"Name","op":"contains","value":"Kitchen"}],"groups":[{"predicates":[{"path":"depth","op":"lt","value":3}]}]}`,
			"", "Bathroom Bedroom"},
		{`{"op":"and"}`, "all", "Property House Kitchen Bathroom Shed Basement Bedroom"},
		{`[]`, "all", "Property House Kitchen Bathroom Shed Basement Bedroom"},
		{`[{"path":"none","op":"between","value":0,"value2":1}]`, "all", ""},
		{`[{"path":"none","op":"exists","value":false},{"path":"level","op":"exists"}]`, "", "House Kitchen Bathroom Shed Basement Bedroom"},
		{`{"op":"not","predicates":[{"path":"level","op":"gte","value":2}]}`, "", "Property"},
		{`[{"path":"Name","op":"in","value":["shed","BEDROOM"]}]`, "", "Shed Bedroom"},
		{`[{"path":"Name","op":"ne","value":"shed"},{"path":"squarefeet","op":"lte","value":300}]`, "", "Bathroom"},
	} {
		x, err := tree.Predicates(json.RawMessage(c.predicates))
		require.NoError(t, err, c.predicates)
		require.Equal(t, c.ours, held(t, house, x), c.predicates)
	}
	for _, bad := range []string{
		`[{"path":"a","op":"foo","value":1}]`, `{"op":"xor","predicates":[{"path":"a","op":"eq","value":1}]}`, `[{"path":"","op":"eq","value":1}]`,
		`[{"path":"a","op":"eq"}]`, `[{"path":"a","op":"eq","value":null}]`, `[{"path":"a","op":"in","value":[]}]`, `[{"op":"eq","nope":1}]`,
		`[{"path":"a","op":"exists","value":1}]`, strings.Repeat(`{"groups":[`, 9) + `{"path":"a","op":"eq","value":1}` + strings.Repeat(`]}`, 9),
	} {
		_, err := tree.Predicates(json.RawMessage(bad))
		require.ErrorContains(t, err, "INVALID_PARAMETER", bad)
	}
	_, err := tree.Predicates(json.RawMessage(`[{"path":"a","op":"gt","value":1}]`), "eq", "contains")
	require.ErrorContains(t, err, "eq, contains")
}

// TestValuesAreTyped covers values that the schema types, lists, dates, and mappings.
func TestValuesAreTyped(t *testing.T) {
	files := map[string]string{
		"schema.yaml": "version: 2\ntypes:\n  task:\n    fields:\n      due: {type: date}\n      points: {type: number}\n",
		"a.md":        "---\ntype: task\ndue: 2025-01-05\npoints: 9\ntags: [Red, blue]\naddress: {City: Oslo, zip: 5}\n---\n",
		"b.md":        "---\ntype: task\ndue: 2025-02-05\npoints: 10\nkind: odd\n---\n",
		"c.md":        "---\nref: \"[[a]]\"\n---\n",
	}
	for query, want := range map[string]string{
		"due < 2025-02-01": "a", "due > x": "", "points < 10": "a", "points = ten": "", "tags = RED": "a", "tags contains lu": "a",
		"address.city = oslo": "a", "address.zip > 4": "a", "address.none exists": "", "payload.kind = odd": "b", "kind = note": "a b c",
		"ref = a": "c", "ref = [[a]]": "c", "type = task AND tags missing": "b", "createdAt > 2026-01-01 and points>=10": "b",
	} {
		x, err := tree.Parse(query)
		require.NoError(t, err)
		require.Equal(t, want, held(t, files, x), query)
	}
}

// TestFilters covers B8 10 to 13 on the properties of a node.
func TestFilters(t *testing.T) {
	all := []string{"nodeId", "payloadType", "name", "isExpanded", "childrenCount", "version", "children", "squareFeet", "address.City", "address.zip", "payload.kind", "kind", "body"}
	for _, c := range []struct {
		included, excluded string
		hidden             string
	}{
		{"", "", ""},
		{"Name", "", "squareFeet address.City address.zip payload.kind kind body"},
		{"", "SquareFeet", "squareFeet"},
		{"", "address.city,payload.kind", "address.City payload.kind"},
		{"Address", "", "name squareFeet payload.kind kind body"},
		{"Address.City", "", "name squareFeet address.zip payload.kind kind body"},
		{"name,SquareFeet", "squarefeet", "squareFeet address.City address.zip payload.kind kind body"},
		{"payload", "", "name kind body"},
		{"", "payload,version,nodeId,children", "version squareFeet address.City address.zip payload.kind"},
		{"kind", "", "name squareFeet address.City address.zip payload.kind body"},
		{"payload.squarefeet", "", "name address.City address.zip payload.kind kind body"},
	} {
		f := tree.Filter{Included: split(c.included), Excluded: split(c.excluded)}
		var hidden []string
		for _, path := range all {
			if !f.Shows(path) {
				hidden = append(hidden, path)
			}
		}
		require.Equal(t, c.hidden, strings.Join(hidden, " "), "%+v", f)
	}
	require.True(t, tree.Filter{Included: []string{"Content"}}.Wants("content"))
	require.False(t, tree.Filter{}.Wants("content"))
}

func split(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(s string) bool { return s == "" })
}

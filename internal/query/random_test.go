package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
)

// A writer writes random queries about the small vault. Most of them mean something.
type writer struct{ *rand.Rand }

func (w writer) one(of ...string) string { return of[w.IntN(len(of))] }

var (
	days    = []string{"today", "past", "future", "this-week", "2026-03-02", "2026-02-01", "tomorrow", `"2026-03-03T10:00"`, `"1 day ago"`}
	times   = []string{"today", "2026-02-20", `"2026-02-20T14:00"`, `"2026-02-20T17:00"`, "past"}
	compare = []string{"==", "!=", "<", "<=", ">", ">="}
	targets = []string{"people/freya", "thor", "[[projects/mill]]", "[[projects/mill#tasks]]", "2026-03-03", "[[The Bridge]]"}
)

func (w writer) union(depth int, kinds ...string) string {
	if w.IntN(5) == 0 {
		return w.branch(depth, kinds...) + " | " + w.branch(depth, kinds...)
	}
	return w.branch(depth, kinds...)
}

func (w writer) branch(depth int, kinds ...string) string {
	root := w.one(kinds...)
	switch root {
	case "type":
		root += ":" + w.one("person", "project", "meeting", "daily", "page", "*")
	case "trait":
		root += ":" + w.one("due", "priority", "status", "assignee", "note", "at", "highlight")
	}
	for range w.IntN(3) {
		root += " " + w.test(root, depth)
	}
	return root
}

func (w writer) test(root string, depth int) string {
	switch w.IntN(8) {
	case 0:
		return "!" + w.atom(root, depth)
	case 1:
		return "(" + w.test(root, depth-1) + " | " + w.test(root, depth-1) + ")"
	}
	return w.atom(root, depth)
}

func (w writer) atom(root string, depth int) string {
	if depth <= 0 || w.IntN(2) == 0 {
		return w.field(root)
	}
	things := []string{"type", "section"}
	isTrait, isLink := strings.HasPrefix(root, "trait"), strings.HasPrefix(root, "link")
	switch {
	case isLink:
		return "within(" + w.union(depth-1, things...) + ")"
	case isTrait && w.IntN(3) == 0:
		return "at(" + w.union(depth-1, "trait") + ")"
	case w.IntN(4) == 0:
		return w.one("in", "within", "refs") + "(" + w.one(targets...) + ")"
	case w.IntN(4) == 0:
		return w.one("in", "within", "refs") + "(" + w.union(depth-1, things...) + ")"
	case w.IntN(4) == 0:
		return w.one(`content("wheel")`, `content("the river")`, "links()", "links(.scheme==url)", "links(.ext==pdf | .is_image==true)")
	case isTrait:
		return "refs(" + w.union(depth-1, things...) + ")"
	}
	return w.one("has", "contains", "refd") + "(" + w.union(depth-1, "type", "section", "trait") + ")"
}

// field writes a test of a field that the things of a root have.
func (w writer) field(root string) string {
	switch {
	case strings.HasPrefix(root, "link"):
		return w.one(".scheme==file", ".ext==pdf", ".ext!=png", ".is_image==false", `startswith(.source_id, "people")`)
	case strings.HasPrefix(root, "section"):
		return w.one(".level==2", ".level>2", ".slug==tasks", `endswith(.slug, "s")`, ".tags==urgent", ".created<="+w.one(times...))
	case strings.HasPrefix(root, "trait"):
		return w.traitField(root)
	case strings.HasPrefix(root, "type:project"):
		return w.one(".status"+w.one(compare...)+w.one("planned", "active", "done"), ".rating"+w.one(compare...)+w.one("2", "5", "3.5"),
			".starts"+w.one("==", "!=")+w.one(days...), ".due"+w.one("==", "!=")+w.one(days...), ".review>"+w.one("today", "2026-03-02"),
			"any(.labels, _=="+w.one("steel", "water")+")", "all(.labels, !_==stone)", "none(.team, _==[[thor]])", ".labels!=water",
			".lead"+w.one("==", "!=")+w.one("freya", "[[thor]]"), "exists(.rating)", ".open==true", "oneof(.status, [active, done])", ".team==[[thor]]")
	case strings.HasPrefix(root, "type:person"):
		return w.one(`includes(.name, "`+w.one("re", "O", "x")+`")`, ".name"+w.one(compare...)+w.one("Loki", "freya"), ".rating>=3.5",
			".tags=="+w.one("norse", "team", "urgent"), "exists(.born)", `matches(.name, "^[ft]")`, ".boss==freya", ".email!=x")
	case strings.HasPrefix(root, "type:page"):
		return w.one(".color==red", ".size==7", ".list==a", "exists(.ref)", ".ref==[[loki]]", "any(.list, _==true)", ".color!=blue")
	}
	return w.one(".created"+w.one("==", "!=")+w.one(times...), ".modified>"+w.one("2026-02-19", `"2026-02-20T14:00"`), ".type==meeting", ".type!=person",
		`includes(.id, "`+w.one("a", "mill")+`")`, ".tags==urgent", `startswith(.file_path, "p")`)
}

func (w writer) traitField(root string) string {
	value := map[string]string{
		"due": w.one(days...), "priority": w.one("low", "medium", "high"), "status": w.one("todo", "done"),
		"assignee": w.one("thor", "[[freya]]"), "note": w.one("straße", `"paint it"`), "at": w.one(days...), "highlight": w.one("true", "false"),
	}[strings.Fields(strings.TrimPrefix(root, "trait:"))[0]]
	return w.one(".value"+w.one("==", "!=")+value, ".value=="+value, ".value<"+value, "exists(.value)", ".line_number>"+w.one("10", "20"),
		`includes(.content_text, "`+w.one("e", "Wheel")+`")`, ".created=="+w.one(times...), "oneof(.value, ["+value+"])")
}

// TestRandomQueries says that every query finds what the naive evaluator finds, in the same order.
func TestRandomQueries(t *testing.T) {
	v := smallVault(t)
	e := newNaive(v)
	answered, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := writer{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		for range 10 {
			text := w.union(3, "type", "trait", "section", "link")
			q, err := query.Parse(text)
			require.NoError(t, err, text)
			items, err := query.Select(q, v.state)
			if err != nil {
				code := fault.Of(err).Code
				require.Contains(t, []fault.Code{fault.InvalidQuery, fault.ValidationFailed}, code, "%s: %v", text, err)
				continue
			}
			want := labels(e.find(q.Branches))
			require.Equal(t, want, labels(items), text)
			answered++
			found += len(items)
		}
	})
	require.Greater(t, answered, 500)
	require.Greater(t, found, answered/4, fmt.Sprint("most queries find nothing: ", found))
}

// TestPages says that pages of any size have everything once and in order, and that a query reads the same
// from its text and its filter.
func TestPages(t *testing.T) {
	v := smallVault(t)
	for _, a := range knownAnswers(t) {
		q, err := query.Parse(a.text)
		if a.code != "" || err != nil {
			continue
		}
		for _, limit := range []int{1, 2, 3, 200} {
			var all []query.Item
			page := query.Page{Limit: limit}
			for {
				found, err := query.Find(q, v.state, page)
				require.NoError(t, err)
				require.LessOrEqual(t, len(found.Items), limit)
				all = append(all, found.Items...)
				if !found.More {
					require.Equal(t, len(all), found.Total, a.text)
					break
				}
				page.After = found.Mark(found.Items[len(found.Items)-1])
			}
			require.Equal(t, a.want, labels(all), "%s in pages of %d", a.text, limit)
		}
		filter, err := query.FromJSON(q.JSON())
		require.NoError(t, err)
		filter.Sort, filter.Limit = q.Sort, q.Limit
		items, err := query.Select(filter, v.state)
		require.NoError(t, err)
		require.Equal(t, a.want, labels(items), "%s", q.JSON())
	}
}

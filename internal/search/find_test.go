package search_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/search"
)

// find are the notes of a vault that a query finds.
func find(t *testing.T, v vault, language, query string) []string {
	t.Helper()
	r, err := v.index(language).Search(search.ParseQuery(query), search.Options{Text: v.text})
	require.NoError(t, err)
	require.Len(t, r.Items, r.Total)
	return paths(r)
}

func TestQueries(t *testing.T) {
	v := vault{
		"brien.md":  "Met O'Brien about the pump.",
		"cpp.md":    "The c++ build of the old pumps is slow.",
		"todo.md":   "- @todo call the garden centre",
		"github.md": "GitHub Actions run read_file and parseHTTPHeader on example.com.",
		"rape.md":   "The therapist called.",
		"hyphen.md": "A well-known garden, state of the art.",
		"漢.md":      "港口的灯塔很安静。",
		"thai.md":   "สวัสดีชาวโลกแม่น้ำ",
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"O'Brien", []string{"brien.md"}},
		{"obrien", []string{"brien.md"}},
		{"c++", []string{"cpp.md"}},
		{"@todo", []string{"todo.md"}},
		{"pump -c++", []string{"brien.md"}},
		{"pumps", []string{"brien.md", "cpp.md"}},
		{"pum*", []string{"brien.md", "cpp.md"}},
		{"pum", []string{}},
		{"gard* -well-known", []string{"todo.md"}},
		{"garden -cent*", []string{"hyphen.md"}},
		{"readFile", []string{"github.md"}},
		{"hTerapist", []string{"rape.md"}},
		{"read-file", []string{"github.md"}},
		{"readfile", []string{"github.md"}},
		{"header", []string{"github.md"}},
		{"parse_http*", []string{"github.md"}},
		{`"github actions"`, []string{"github.md"}},
		{`"GITHUB  Actions run"`, []string{"github.md"}},
		{`"git hub"`, []string{"github.md"}},
		{`"actions github"`, []string{}},
		{`"actions file"`, []string{}},
		{`"the therapist"`, []string{"rape.md"}},
		{`"the rapist"`, []string{}},
		{`"state of the art"`, []string{"hyphen.md"}},
		{`"the art of state"`, []string{}},
		{`"wellknown"`, []string{"hyphen.md"}},
		{`pump -"the pump"`, []string{"cpp.md"}},
		{"灯塔", []string{"漢.md"}},
		{"塔", []string{"漢.md"}},
		{"漢", []string{"漢.md"}},
		{`"的灯塔很"`, []string{"漢.md"}},
		{`"灯塔的"`, []string{}},
		{"ชาวโลก", []string{"thai.md"}},
		{"แม่น้ำ", []string{"thai.md"}},
		{"น", []string{"thai.md"}},
		{"-pump -garden -灯塔 -therapist", []string{"github.md", "thai.md"}},
		{"nosuchwordatall -pump", []string{}},
		{"terapist", []string{"rape.md"}},
		{"therapsit", []string{"rape.md"}},
		{"tpist", []string{}},
		{"-", []string{}},
		{"*", []string{}},
		{"🚀", []string{}},
		{"", []string{}},
	} {
		require.ElementsMatch(t, c.want, find(t, v, "english", c.query), "%q", c.query)
	}
}

func TestTitleAndSectionDecide(t *testing.T) {
	filler := strings.Repeat("Nothing much to say about this. ", 12)
	v := vault{
		"a.md":                "# Weather\n\n" + filler + "\n\nThe harbour once.\n",
		"b.md":                "# Harbour\n\n" + filler + "\n",
		"c.md":                "# Notes\n\n## Boats\n\n" + filler + "\n\n## Harbour\n\n" + filler + "\n",
		"d.md":                "# Notes\n\n## Boats\n\n" + filler + "\n\n## Rest\n\nharbour harbour " + filler,
		"projects/harbour.md": "# Plan\n\n" + filler,
	}
	x := v.index("english")
	r, err := x.Search(search.ParseQuery("harbour"), search.Options{Text: v.text})
	require.NoError(t, err)
	require.Equal(t, []string{"b.md", "projects/harbour.md", "c.md", "d.md", "a.md"}, paths(r))
	require.Equal(t, search.Passage{LineStart: 7, Heading: "Harbour"}, r.Items[2].Unit)
	require.Equal(t, search.Passage{LineStart: 7, Heading: "Rest"}, r.Items[3].Unit)
	require.Equal(t, search.Passage{LineStart: 1, Heading: "Weather"}, r.Items[4].Unit)
	require.Contains(t, r.Items[4].Snippet, "The harbour once.")
	r, err = x.Search(search.ParseQuery("harbour"), search.Options{Text: v.text, Exact: []string{"c.md"}})
	require.NoError(t, err)
	require.Equal(t, "c.md", r.Items[0].Doc, "its name is the query")
	for _, h := range r.Items {
		require.InDelta(t, math.Round(h.Score*1e4), h.Score*1e4, 1e-6)
	}
}

func TestBestUnitOfANoteWithFrontmatter(t *testing.T) {
	v := vault{"x/pelican.md": "---\ntype: bird\ncolour: white\n---\nIntro.\n\n# Big\n\nText.\n"}
	for query, line := range map[string]int{"pelican": 5, "white": 3, "text": 7} {
		r, err := v.index("en").Search(search.ParseQuery(query), search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, 1, query)
		require.Equal(t, line, r.Items[0].Unit.LineStart, query)
	}
}

func TestLongNotesAreFoundInEveryPart(t *testing.T) {
	text := "# Log\n\n" + strings.Repeat("Some plain words of text here.\n\n", 2000) +
		"A zeppelin landed.\n\n" + strings.Repeat("More of the same as before. ", 3000)
	v := vault{"log.md": text}
	x := v.index("english")
	require.Greater(t, x.Units(), 50)
	r, err := x.Search(search.ParseQuery("zeppelin"), search.Options{Text: v.text})
	require.NoError(t, err)
	require.Contains(t, r.Items[0].Snippet, "A zeppelin landed.")
	line := 1 + strings.Count(text[:strings.Index(text, "A zeppelin")], "\n")
	require.InDelta(t, line, r.Items[0].Unit.LineStart, 160)
}

func TestPagesAreWhole(t *testing.T) {
	v := generated(3, 200)
	x := v.index("english")
	for _, query := range []string{"freya", "quietly harbour", `"freya-holm"`, "-freya"} {
		q := search.ParseQuery(query)
		all, err := x.Search(q, search.Options{Limit: 1000, Text: v.text})
		require.NoError(t, err)
		require.Len(t, all.Items, all.Total)
		require.Greater(t, all.Total, 20, query)
		var items []search.Hit
		o := search.Options{Limit: 7, Text: v.text}
		for {
			page, err := x.Search(q, o)
			require.NoError(t, err)
			require.Equal(t, all.Total, page.Total)
			if len(page.Items) == 0 {
				break
			}
			items = append(items, page.Items...)
			o.After = page.Items[len(page.Items)-1].Cursor()
		}
		require.Equal(t, all.Items, items, query)
	}
}

func TestOrderIsScoreThenPath(t *testing.T) {
	v := vault{}
	for _, name := range []string{"c", "a", "b", "é", "B"} {
		v[name+".md"] = "the same words"
	}
	require.Equal(t, []string{"B.md", "a.md", "b.md", "c.md", "é.md"},
		find(t, v, "english", "same words"))
}

func TestFilter(t *testing.T) {
	v := generated(4, 200)
	x := v.index("english")
	only := func(doc string) bool { return strings.HasPrefix(doc, "daily/") }
	r, err := x.Search(search.ParseQuery("freya"), search.Options{Filter: only, Limit: 500})
	require.NoError(t, err)
	require.NotEmpty(t, r.Items)
	require.Len(t, r.Items, r.Total)
	for _, h := range r.Items {
		require.True(t, only(h.Doc))
		require.Empty(t, h.Snippet)
	}
}

func TestErrorOfTextEndsTheSearch(t *testing.T) {
	x := vault{"a.md": "two words"}.index("english")
	broken := errors.New("broken")
	for _, query := range []string{"two", `"two words"`} {
		_, err := x.Search(search.ParseQuery(query), search.Options{
			Text: func(string) ([]byte, error) { return nil, broken },
		})
		require.ErrorIs(t, err, broken)
	}
}

func TestPhrasesWithoutTextsAreWordsOfOneUnit(t *testing.T) {
	v := vault{"a.md": "words two", "b.md": "# two\n\n# words\n", "c.md": "only two"}
	r, err := v.index("english").Search(search.ParseQuery(`"two words"`), search.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, paths(r))
}

func TestManyNotesWithAPhraseArePartial(t *testing.T) {
	v := vault{}
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		for _, b := range "abcdefghijklmnopqrstuvwxyz" {
			v[string(a)+string(b)+"1.md"] = "two words"
			v[string(a)+string(b)+"2.md"] = "two words"
		}
	}
	r, err := v.index("english").Search(search.ParseQuery(`"two words"`),
		search.Options{Text: v.text})
	require.NoError(t, err)
	require.True(t, r.Partial)
	require.Equal(t, 1000, r.Total)
	require.Len(t, r.Items, search.DefaultLimit)
}

// TestSearchFromManyGoroutines: what queries leave to each other for reuse never shows in a result.
func TestSearchFromManyGoroutines(t *testing.T) {
	v := generated(5, 200)
	x := v.index("english")
	queries := []string{"lantern", "freya holm", "lan*", `"copper garden"`, "ferry -bridge", "-due",
		"lantren", "due priority status", "灯塔市场", "a* b*"}
	ask := func(q string) search.Results {
		r, err := x.Search(search.ParseQuery(q), search.Options{Text: v.text, Limit: 50})
		assert.NoError(t, err)
		return r
	}
	var want []search.Results
	for _, q := range queries {
		want = append(want, ask(q))
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 3 * len(queries) {
				n := (i*7 + g) % len(queries)
				assert.Equal(t, want[n], ask(queries[n]), queries[n])
			}
		})
	}
	all.Wait()
}

// TestNotesThatTheFilterExcludesAreNotScored counts the lists of passages that scores need: each note has
// more passages than the one before.
func TestNotesThatTheFilterExcludesAreNotScored(t *testing.T) {
	v := vault{}
	for i := range 60 {
		v[fmt.Sprintf("%02d.md", i)] = strings.Repeat("# Part\n\nA lantern.\n\n", i+1)
	}
	x, q := v.index("english"), search.ParseQuery("lantern")
	scored := func(admitted bool) float64 {
		return testing.AllocsPerRun(10, func() {
			_, err := x.Search(q, search.Options{Filter: func(string) bool { return admitted }})
			require.NoError(t, err)
		})
	}
	require.Less(t, scored(false)+50, scored(true))
}

// TestEqualPostingsAreDecodedOnce covers a word that all notes have in one form.
func TestEqualPostingsAreDecodedOnce(t *testing.T) {
	v := vault{"a.md": "A lantern", "b.md": "lantern", "c.md": "the harbour"}
	require.Equal(t, 2, v.index("english").Decoded("lantern"))
	require.Equal(t, 2, v.index("english").ListedFor("lantern"), "read once for both concepts")
	v["c.md"] = "lanterns"
	require.Equal(t, 3+2, v.index("english").Decoded("lantern"), "of the stem, and of the word as written")
}

// TestPhrasesDecodeNoPostings covers that the slots of a phrase are those in the lists of its concepts.
func TestPhrasesDecodeNoPostings(t *testing.T) {
	x := vault{"a.md": "A copper lantern by the harbour", "b.md": "lanterns of copper"}.index("english")
	require.Zero(t, x.LookedUpFor(`"copper lantern"`))
}

// TestPhrasesVisitFewNotes covers that a search for a phrase visits only notes that can contain it, and not
// all with one of its words.
func TestPhrasesVisitFewNotes(t *testing.T) {
	v := vault{"here.md": "a harbour lantern", "there.md": "the lantern of a harbour lantern"}
	for i := range 200 {
		v[fmt.Sprintf("n%d.md", i)] = "a lantern and a harbour"
	}
	x := v.index("english")
	require.Equal(t, 2, x.VisitedFor(`"harbour lantern"`))
	require.Equal(t, 1, x.VisitedFor(`"lantern of" "harbour lantern"`))
	require.Equal(t, 202, x.VisitedFor(`harbour lantern`))
	require.Equal(t, 202, x.VisitedFor(`-"harbour lantern" harbour`))
}

// TestFirstFrom covers the search in a list of occurrences.
func TestFirstFrom(t *testing.T) {
	list := []uint32{2, 3, 5, 8, 9, 14, 20}
	for n := range uint32(24) {
		for from := range len(list) + 1 {
			want, _ := slices.BinarySearch(list[from:], n)
			require.Equal(t, want, search.FirstFrom(list[from:], n), "%d from %d", n, from)
		}
	}
}

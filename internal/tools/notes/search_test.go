package notes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestSearchShapes covers the JSON of the document, with the order of its keys.
func TestSearchShapes(t *testing.T) {
	p := open(t, synthetic)
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"query": "rang", "keyword": true},
			`{"results":[{"path":"inbox/alpha.md","snippet":"The pager rang on Tuesday.","score":1,"project":null,"tags":["on-call","pager"]}],"query":"rang","mode":"keyword"}`},
		{args{"query": "rang", "keyword": true, "fields": "path"},
			`{"results":[{"path":"inbox/alpha.md","score":1,"project":null,"tags":["on-call","pager"]}],"query":"rang","mode":"keyword"}`},
		{args{"query": "Beta", "keyword": true, "fields": "full", "snippet_chars": 6},
			`{"results":[{"path":"inbox/beta.md","snippet":"Beta…","score":1,"project":"apollo","tags":[],"frontmatter":{"date":"2026-01-05","project":"Apollo","entity":["Acme Corp","Bob"]},"body":"Beta on the pager."}],"query":"Beta","mode":"keyword"}`},
		{args{"query": "pager", "keyword": true, "count_only": true}, `{"count":4,"query":"pager","mode":"keyword"}`},
		{args{"query": "pager", "count_only": true}, `{"count":4,"query":"pager","mode":"keyword"}`},
		{args{"query": "pager", "keyword": true, "limit": 0}, `{"results":[],"query":"pager","mode":"keyword"}`},
		{args{"query": "pager", "limit": 0}, `{"results":[],"query":"pager","mode":"keyword"}`},
		{args{"query": " "}, `{"results":[],"query":"","mode":"keyword"}`},
		{args{"query": "", "keyword": true, "count_only": true}, `{"count":0,"query":"","mode":"keyword"}`},
	} {
		require.Equal(t, c.want, p.bare(t, "notes_search", c.in), "%v", c.in)
	}
	var ranked struct {
		Results []struct {
			Path, Snippet string
			Score         float64
			Frontmatter   map[string]any
			Body          string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_search", args{"query": "queue", "fields": "full"})), &ranked))
	require.Len(t, ranked.Results, 2)
	require.Contains(t, ranked.Results[0].Snippet, "queue")
	require.Positive(t, ranked.Results[0].Score)
	require.NotEmpty(t, ranked.Results[0].Body)
	require.NotEmpty(t, ranked.Results[0].Frontmatter)
}

// pathsFound are the names of the notes that a search finds, in order.
func (p *place) pathsFound(t testing.TB, in args) string {
	t.Helper()
	var out struct{ Results []struct{ Path string } }
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_search", in)), &out))
	var names []string
	for _, n := range out.Results {
		names = append(names, strings.TrimSuffix(n.Path[strings.LastIndex(n.Path, "/")+1:], ".md"))
	}
	return strings.Join(names, " ")
}

// TestSearchRules covers A17 49 to 54 and the rows of A4 on searches.
func TestSearchRules(t *testing.T) {
	p := open(t, synthetic)
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"query": "pager tuesday", "keyword": true}, ""},
		{args{"query": "pager tuesday", "keyword": true, "match": "all-terms"}, "alpha"},
		{args{"query": "TUESDAY pag", "keyword": true, "match": "all_terms"}, "alpha"},
		{args{"query": "m-1", "keyword": true}, ""},
		{args{"query": "slack", "keyword": true}, "alpha"},
		{args{"query": "On Call", "keyword": true}, "undated alpha"},
		{args{"query": "call pager", "keyword": true}, "alpha"},
		{args{"query": "inbox/", "keyword": true}, "alpha beta gamma"},
		{args{"query": "acme", "keyword": true}, ""},
		{args{"query": "pager", "keyword": true}, "2026-03-01-x alpha beta decision-2"},
		{args{"query": "pager", "keyword": true, "limit": 2}, "2026-03-01-x alpha"},
		{args{"query": "pager", "keyword": true, "content_scope": "notes"}, "alpha beta decision-2"},
		{args{"query": "pager", "keyword": true, "order": "date"}, "2026-03-01-x decision-2 alpha beta"},
		{args{"query": "pager", "order": "date-asc"}, "beta alpha decision-2 2026-03-01-x"},
		{args{"query": "pager", "order": "date", "limit": 1}, "2026-03-01-x"},
		{args{"query": "pager", "project": "apollo", "order": "path"}, "beta decision-2"},
		{args{"query": "template", "keyword": true}, ""},
		{args{"query": "template"}, ""},
	} {
		require.Equal(t, c.want, p.pathsFound(t, c.in), "%v", c.in)
	}
	for _, c := range []struct {
		in   args
		code string
	}{
		{args{"query": "x", "limit": 101}, "INVALID_LIMIT"}, {args{"query": "x", "limit": -1}, "INVALID_LIMIT"},
		{args{"query": "x", "limit": "a"}, "INVALID_LIMIT"}, {args{}, "INVALID_PARAMETER"},
		{args{"query": "x", "fields": "bogus"}, "INVALID_PARAMETER"}, {args{"query": "x", "match": "any"}, "INVALID_PARAMETER"},
		{args{"query": "x", "snippet_chars": 0}, "INVALID_PARAMETER"}, {args{"query": "x", "folder": "../x"}, "INVALID_PATH"},
		{args{"query": "x", "order": "bogus"}, "INVALID_PARAMETER"},
	} {
		f, _ := p.refused(t, "notes_search", c.in)
		require.Equal(t, c.code, string(f.Code), "%v", c.in)
	}
}

// pieces are what random notes and queries are made of.
var pieces = []string{
	"pager", "Pager", "On Call", " ", "\n", "日本", "語", "readFile", "-", "_", "!", "é", "e\u0301", "ΟΔΟΣ", "ς", "İ", "1", "½", "x", "。", "か", "\u3099",
}

// TestKeywordIsAScan compares searches for a text with a scan of all that they look into.
func TestKeywordIsAScan(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "notes") {
			head := args{}
			for _, name := range []string{"title", "summary", "entity", "tags", "air_id"} {
				if rapid.IntRange(0, 2).Draw(rt, name) == 0 {
					head[name] = text.Draw(rt, "value")
				}
			}
			files[fmt.Sprintf("f%d/On Call.md", i)] = "---\n" + string(marshalled(t, head)) + "\n---\n" + text.Draw(rt, "body")
		}
		p := open(t, files)
		for range 6 {
			query, allTerms := trimmed(text.Draw(rt, "query")), rapid.Bool().Draw(rt, "all terms")
			in := args{"query": query, "keyword": true, "fields": "path", "limit": 100}
			terms := []string{query}
			if allTerms {
				in["match"] = "all-terms"
				terms = strings.FieldsFunc(query, markdown.IsSpace)
			}
			var want []string
			for path, text := range files {
				if query != "" && scanned(path, text, terms) {
					want = append(want, path)
				}
			}
			slices.Sort(want)
			var out struct{ Results []struct{ Path string } }
			require.NoError(rt, json.Unmarshal([]byte(p.bare(t, "notes_search", in)), &out))
			var got []string
			for _, n := range out.Results {
				got = append(got, n.Path)
			}
			require.Equal(rt, want, got, "%q", query)
		}
	})
}

func trimmed(s string) string { return strings.TrimFunc(s, markdown.IsSpace) }

// scanned reports whether a note contains all terms.
func scanned(path, text string, terms []string) bool {
	lower := func(s string) string {
		return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")), "ς", "σ")
	}
	head, at := markdown.StrictHead([]byte(text))
	haystack := []string{path, trimmed(text[at:])}
	for _, name := range []string{"title", "summary", "air_id"} {
		if v, _ := head.Get(name); v != nil {
			haystack = append(haystack, markdown.TextOf(v))
		}
	}
	tags, _ := head.Get("tags")
	haystack = append(haystack, strings.Join(markdown.TextsOf(tags), " "))
	for _, term := range terms {
		if !slices.ContainsFunc(haystack, func(part string) bool { return strings.Contains(lower(part), lower(term)) }) {
			return false
		}
	}
	return true
}

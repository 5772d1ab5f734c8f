package notes

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Values of the output mode and of the arguments match and fields.
const (
	modeKeyword = "keyword"
	allTerms    = "all-terms"
	withSnippet = "path+snippet"
)

// A searchIn is the input of notes_search.
//
// Match and Order have an effect on keyword searches: Match decides whether the query is one text
// or a list of words that must all occur. For a search by rank, Order replaces the ranking of the
// matches, and Match has no effect.
type searchIn struct {
	tool.Vault
	// words to look for; with keyword, a text that notes contain
	Query string `json:"query" size:"query" min:"0"`
	filterArgs
	// results at most
	Limit int `json:"limit,omitempty" default:"10" min:"0" max:"100" means:"limit" refused:"INVALID_LIMIT"`
	// newest first, oldest first, or by path
	Order string `json:"order,omitempty" rare:"true" enum:"date,date-asc,path" absent:"the best first; with keyword, by path"`

	// contents of a result
	Fields string `json:"fields,omitempty" enum:"path,path+snippet,full" default:"path+snippet" rare:"true"`
	// length of a snippet
	SnippetChars int `json:"snippet_chars,omitempty" rare:"true" default:"300" min:"1" max:"10000"`
	// only the number of matches
	CountOnly bool `json:"count_only,omitempty" rare:"true"`
	// match the exact text, ignoring case
	Keyword bool `json:"keyword,omitempty"`
	// explain why each note matched; not with keyword
	Explain bool `json:"explain,omitempty" rare:"true"`
	// with keyword: the query as it is, or each of its words
	Match string `json:"match,omitempty" rare:"true" enum:"phrase,all-terms,all_terms" default:"phrase"`
	tool.AsOf
}

// A searchOut is the answer of notes_search.
type searchOut struct {
	tool.Aside `json:"-"`
	// with count_only: matches
	Count   *int     `json:"count,omitempty"`
	Results []result `json:"results,omitzero"`
	Query   string   `json:"query"`
	// keyword; semantic where vectors took part
	Mode string `json:"mode"`
}

// A result is one note in the output of a search.
type result struct {
	Path string `json:"path"`
	// the matching passage; with keyword, the beginning of the body
	Snippet *string `json:"snippet,omitempty"`
	// higher is better, within one query
	Score float64 `json:"score"`
	// a slug
	Project *string `json:"project"`
	// slugs
	Tags []string `json:"tags"`
	*Whole

	// paths of other matching notes with identical text
	Duplicates  []string    `json:"duplicates,omitempty"`
	Explanation *search.Why `json:"explanation,omitempty"`
}

// search returns the tool that searches notes.
func (f tools) search() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_search", Short: "search", Family: Family, Title: "Search notes",
		Role: auth.Reader, Kind: tool.Read, List: "results",
		Route:    tool.Route{Method: "GET", Path: "/search"},
		Commands: []tool.Command{{Words: "search", Args: []string{"query..."}}},
		Columns:  []string{"path", "snippet"},
		Empty:    []tool.Empty{{Of: "notes that match {query}"}},
	}, f.searchNotes)
}

// A match is a note that a search found.
type match struct {
	*index.Note
	score   float64 // higher is better; 1 for exact matches
	snippet string
	why     *search.Why // nil without explain
	twins   []string    // paths of other notes with the same text
}

// A searcher runs one search at one version. A hit of the search index that the index of notes does
// not have is skipped.
//
// The view and the search index are of the same version. A seeker is used for one call, by one
// goroutine.
type searcher struct {
	state.View
	search *search.Index
	in     *searchIn
	holds  *filter // selects the notes to search
}

// searchNotes searches by rank or, with keyword, for the exact text. An empty query finds nothing
// and is not an error. The total is that of all matches, also of those that are not shown.
func (f tools) searchNotes(ctx context.Context, c auth.Caller, in searchIn) (searchOut, error) {
	in.Query = trim(in.Query)
	out := searchOut{Query: in.Query, Mode: modeKeyword}
	holds, err := in.filter()
	if err != nil {
		return out, err
	}
	v, s, err := f.Searchable(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	q := &searcher{viewOf(v, s), s.Search, &in, holds}
	out.Note("version", q.Version())
	seek := q.ranked
	switch {
	case in.Query == "":
		seek = func(context.Context, *searchOut) ([]match, int, error) { return nil, 0, nil }
	case in.Keyword:
		seek = q.keyword
	default:
		out.Warn("SEMANTIC_UNAVAILABLE", "this deployment has no vectors: the search is by words", nil)
	}
	all, total, err := seek(ctx, &out)
	if err != nil {
		return out, err
	}
	if total == 0 {
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	out.Note("total", total)
	if in.CountOnly {
		out.Count = &total
		return out, nil
	}
	return out, q.show(ctx, &out, all)
}

// viewOf returns the view of a searchable vault.
func viewOf(v *repo.Vault, s repo.Searchable) state.View { return state.View{Vault: v, Index: s.Index} }

// show fills the results, until the answer is full. Notes after that are left out without a token:
// a search has one page.
func (q *searcher) show(ctx context.Context, out *searchOut, all []match) error {
	out.Results = make([]result, 0, len(all))
	for _, n := range all {
		r := result{
			Path: n.Path, Score: n.score, Project: textOrNil(n.Project()), Tags: append([]string{}, n.Card().Tags...),
			Duplicates: n.twins, Explanation: n.why,
		}
		if q.in.Fields != pathOnly {
			r.Snippet = &n.snippet
		}
		if q.in.Fields == wholeNote {
			var err error
			if r.Whole, err = wholeOf(ctx, q.View, n.Note); err != nil {
				return err
			}
		}
		if !out.Fits(r) && len(out.Results) > 0 {
			break
		}
		out.Results = append(out.Results, r)
	}
	out.Note("count", len(out.Results))
	return nil
}

// ranked finds the notes that contain words of the query, best first, and counts them. With order,
// it finds all of them and sorts them by that order instead; snippets are then computed only for
// the notes that are shown. Of notes with the same text, only the best is shown, unless an order is
// given.
//
// With an order, the search returns every match, because the notes that come first in that order
// can be the last by rank.
func (q *searcher) ranked(ctx context.Context, out *searchOut) ([]match, int, error) {
	byRank := q.in.Order == "" && !q.in.CountOnly
	o := q.options(ctx)
	// A limit of 0 asks for the total only, but a search needs at least one.
	o.Limit = max(1, q.in.Limit)
	if !byRank {
		o.Limit, o.Snippet = max(1, q.Index.Totals().Notes), -1
	}
	r, err := q.search.Search(search.ParseQuery(q.in.Query), o)
	if err != nil || q.in.CountOnly {
		return nil, r.Total, err
	}
	if r.Partial {
		out.Note("partial", true)
	}
	all := q.found(r.Items)
	if byRank {
		return q.withoutTwins(all[:min(len(all), q.in.Limit)]), r.Total, nil
	}
	slices.SortFunc(all, func(a, b match) int { return comparePaths(a.Note, b.Note) })
	compare := inOrder(q.in.Order)
	slices.SortStableFunc(all, func(a, b match) int { return compare(a.Note, b.Note) })
	// Only the notes of the answer get snippets.
	all, err = q.addSnippets(ctx, all[:min(len(all), q.in.Limit)])
	return all, r.Total, err
}

// options returns the options of the search index for the call: which notes to search, how to read
// texts for snippets, and which notes have the query as a name.
func (q *searcher) options(ctx context.Context) search.Options {
	o := search.Options{
		Filter: func(path string) bool { n, ok := q.Index.Note(path); return ok && q.holds.has(n) },
		Text: func(path string) ([]byte, error) {
			n, ok := q.Index.Note(path)
			if !ok {
				return nil, errGone
			}
			return q.Vault.Text(ctx, n.Body)
		},
		Prefetch: func(paths []string) { q.Prefetch(ctx, slices.Values(paths)) },
		Canceled: ctx.Err, Snippet: q.in.SnippetChars, Exact: q.Index.Named(q.in.Query),
		Explain: q.in.Explain, Constrained: q.in.isNarrow(),
	}
	if q.in.Fields == pathOnly {
		o.Snippet = -1
	}
	return o
}

// found returns the notes of hits. Hits that are not in the index of the vault are skipped.
func (q *searcher) found(hits []search.Hit) []match {
	all := make([]match, 0, len(hits))
	for _, h := range hits {
		if n, ok := q.Index.Note(h.Doc); ok {
			all = append(all, match{Note: n, score: h.Score, snippet: h.Snippet, why: h.Why})
		}
	}
	return all
}

// withoutTwins returns the notes without duplicates: of notes with the same text it keeps the
// first, which lists the others. It overwrites all.
func (q *searcher) withoutTwins(all []match) []match {
	twins, kept := state.NewTwins(q.Index), all[:0]
	for _, n := range all {
		if i, isTwin := twins.Of(n.Path); isTwin {
			kept[i].twins = append(kept[i].twins, n.Path)
			continue
		}
		kept = append(kept, n)
	}
	return kept
}

// addSnippets sets the snippets of notes by a second search, restricted to these notes. The first search,
// over all notes, computes no snippets, because that reads the text of each note.
func (q *searcher) addSnippets(ctx context.Context, all []match) ([]match, error) {
	if q.in.Fields == pathOnly || len(all) == 0 {
		return all, nil
	}
	snippets := map[string]string{}
	for _, n := range all {
		snippets[n.Path] = ""
	}
	o := q.options(ctx)
	o.Limit, o.Filter = len(all), func(path string) bool { _, ok := snippets[path]; return ok }
	r, err := q.search.Search(search.ParseQuery(q.in.Query), o)
	for _, h := range r.Items {
		snippets[h.Doc] = h.Snippet
	}
	for i := range all {
		all[i].snippet = snippets[all[i].Path]
	}
	return all, err
}

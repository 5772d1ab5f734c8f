package notes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
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
	texts := q.Texts()
	o := search.Options{
		Filter: func(path string) bool { n, ok := q.Index.Note(path); return ok && q.holds.has(n) },
		Text: func(path string) ([]byte, error) {
			f, ok := texts.File(path)
			if !ok || f.Note == nil {
				return nil, errGone
			}
			return q.Vault.Text(ctx, f.Body)
		},
		Prefetch: func(paths []string) { texts.Prefetch(ctx, paths) },
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

// errGone reports that a note from the search index is not in the index of the vault.
var errGone = errors.New("a note that was found is not in the index")

// maxScanned is the maximum number of texts that one search reads if the index cannot restrict a
// term to some notes.
const maxScanned = 20_000

// readAhead is the number of texts that are prefetched together.
const readAhead = 64

// A searchTerm is a text that a note must contain, with the candidates from the search index.
type searchTerm struct {
	text  string          // in lower case
	sure  map[string]bool // paths of notes whose body contains it
	may   map[string]bool // paths of notes whose body can contain it
	known bool            // no other note contains it; false: any note may
}

// keyword finds the notes that contain the query, and counts them. The result is exact: the search
// index only reduces the number of texts to read.
//
// Each note is in one of three groups: it contains all terms for certain, it cannot contain them,
// or its text must be read. A query without letters and digits cannot be looked up; then the texts
// of all notes that the filter selects are read, up to maxScanned.
//
// The result is the same as if all texts were searched for the substring; the index only spares
// reads. What it cannot exclude must be read, so a query of punctuation costs as much as the vault
// is large, up to the limit.
func (q *searcher) keyword(ctx context.Context, out *searchOut) ([]match, int, error) {
	terms := q.terms()
	all, err := notesWith(ctx, q.Index, q.holds)
	if err != nil {
		return nil, 0, err
	}
	sure, maybe := q.divide(all, terms)
	// Reading that many texts would take longer than a call may.
	if n := len(maybe); n > maxScanned && slices.ContainsFunc(terms, func(w searchTerm) bool { return !w.known }) {
		return nil, 0, fault.New(fault.InvalidParameter,
			"the query has no letters or digits to narrow the search, and %d notes are too many to read", n).
			With("argument", "query").Fix("add a word, or search a folder or project")
	}
	read, err := q.verified(ctx, maybe, terms)
	if err != nil {
		return nil, 0, err
	}
	all = slices.Concat(sure, read)
	// Sorted by path first, so that notes with the same date are in that order.
	slices.SortFunc(all, comparePaths)
	slices.SortStableFunc(all, inOrder(q.in.Order))
	if q.in.CountOnly {
		return nil, len(all), nil
	}
	shown, err := q.begun(ctx, all[:min(len(all), q.in.Limit)])
	return shown, len(all), err
}

// comparePaths compares notes by path.
func comparePaths(a, b *index.Note) int { return strings.Compare(a.Path, b.Path) }

// terms returns the texts that a note must contain: the query or, with all-terms, each of its
// words. For each it asks the search index for the notes that contain it and those that can.
func (q *searcher) terms() []searchTerm {
	texts := []string{q.in.Query}
	if strings.ReplaceAll(q.in.Match, "_", "-") == allTerms {
		texts = strings.FieldsFunc(q.in.Query, markdown.IsSpace)
	}
	var all []searchTerm
	for _, text := range texts {
		w := searchTerm{text: lowered(text), may: map[string]bool{}, sure: map[string]bool{}}
		for path := range q.search.Proven(text) {
			w.sure[path] = true
		}
		paths, known := q.search.Containing(text)
		for path := range paths {
			if !known {
				break
			}
			w.may[path] = true
		}
		w.known = known
		all = append(all, w)
	}
	return all
}

// divide returns the notes that contain all terms according to the index, and those whose body must
// be read because it can contain the missing terms. Other notes cannot match. A term in the path or
// in a searched field of the frontmatter counts like one in the body.
//
// It reads no texts. A note is in at most one of the two lists.
func (q *searcher) divide(all []*index.Note, terms []searchTerm) (sure, maybe []*index.Note) {
	for _, n := range all {
		missing, possible := false, true
		for _, w := range terms {
			if !w.sure[n.Path] && !headHas(n, w.text) {
				missing = true
				possible = possible && (!w.known || w.may[n.Path])
			}
		}
		switch {
		case !missing:
			sure = append(sure, n)
		case possible:
			maybe = append(maybe, n)
		}
	}
	return sure, maybe
}

// headHas reports whether the path, the title, the tags or another searched field of a note
// contains a text.
func headHas(n *index.Note, text string) bool {
	c := n.Card()
	has := func(s string) bool { return contains(s, text) }
	if has(n.Path) || has(c.Title) || slices.ContainsFunc(c.Words, has) {
		return true
	}
	if !strings.Contains(text, " ") && c.TagsAreSlugs() {
		return slices.ContainsFunc(c.Tags, has)
	}
	return has(c.TagsAsWritten())
}

// contains reports whether s contains text, ignoring case. text must be in lower case; the empty
// text is in every s. It allocates no memory if s is ASCII.
func contains(s, text string) bool {
	if text == "" {
		return true
	}
	if len(s) < len(text) && isASCII(s) {
		return false
	}
	if !isASCII(s) {
		return strings.Contains(lowered(s), text)
	}
	for i := 0; i+len(text) <= len(s); i++ {
		if c := s[i]; c|' ' == text[0]|' ' && strings.EqualFold(s[i:i+len(text)], text) {
			return true
		}
	}
	return false
}

// isASCII reports whether a text contains only ASCII.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// verified returns the notes whose body contains the terms that their heads do not contain. It
// reads the texts in groups of readAhead, which are fetched together.
func (q *searcher) verified(ctx context.Context, all []*index.Note, terms []searchTerm) ([]*index.Note, error) {
	var kept []*index.Note
	going := state.KeepGoing(ctx)
	for some := range slices.Chunk(all, readAhead) {
		q.Prefetch(ctx, pathsOf(some))
		for _, n := range some {
			if !going() {
				return nil, ctx.Err()
			}
			text, err := q.Vault.Text(ctx, n.Body)
			if err != nil {
				return nil, err
			}
			body := lowered(bodyOf(text))
			if !slices.ContainsFunc(terms, func(w searchTerm) bool {
				return !w.sure[n.Path] && !strings.Contains(body, w.text) && !headHas(n, w.text)
			}) {
				kept = append(kept, n)
			}
		}
	}
	return kept, nil
}

// begun returns the found notes with the beginning of their bodies as snippets, as the
// specification has it for keyword searches. All have the score 1.
func (q *searcher) begun(ctx context.Context, all []*index.Note) ([]match, error) {
	list := make([]match, 0, len(all))
	for _, n := range all {
		f := match{Note: n, score: 1}
		if q.in.Fields != pathOnly {
			text, err := q.Vault.Text(ctx, n.Body)
			if err != nil {
				return nil, err
			}
			f.snippet = truncate(snippetSource(n, text), q.in.SnippetChars)
		}
		list = append(list, f)
	}
	return list, nil
}

// snippetSource returns the text from which the snippet of a note is taken: its body or, if that is
// empty, its searched fields.
func snippetSource(n *index.Note, text []byte) string {
	if body := trim(bodyOf(text)); body != "" {
		return body
	}
	c := n.Card()
	parts := append([]string{n.Path, c.Title}, c.Words...)
	parts = append(parts, c.TagsAsWritten())
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

// lowered returns a text in lower case, as JavaScript converts it. Different lower-case forms of
// one letter become the same form, so that a search does not depend on them.
//
// İ and the two forms of sigma are the letters for which the conversion of Go differs from that of
// JavaScript, or for which a letter has two lower-case forms.
func lowered(s string) string {
	if strings.Contains(s, "İ") {
		s = strings.ReplaceAll(s, "İ", "i\u0307") // strings.ToLower would drop the dot
	}
	return strings.ReplaceAll(strings.ToLower(s), "ς", "σ")
}

// truncate returns a text or, if it has more than units UTF-16 code units, its beginning followed
// by "…". It is cut at the last space, if that is in the second half. It never divides a character.
func truncate(s string, units int) string {
	end, space, n := len(s), -1, 0
	for i, r := range s {
		n += utf16.RuneLen(r)
		if n > units {
			end = i
			break
		}
		if r == ' ' && 2*(n-1) > units {
			space = i
		}
	}
	switch {
	case end == len(s):
		return s
	case space >= 0:
		end = space
	}
	return s[:end] + "…"
}

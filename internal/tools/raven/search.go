package raven

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A searchIn is the input of raven_search.
type searchIn struct {
	tool.Vault
	// words to look for; "exact words", lant* and -without mean what they do elsewhere, all else is
	// text
	Query string `json:"query" size:"query"`
	// only notes of this type
	Type string `json:"type,omitempty" complete:"type"`
	// explain why each note matched
	Explain bool `json:"explain,omitempty" rare:"true"`
	tool.AsOf
	tool.Page
}

// A searchOut is the output of raven_search. A note with the same text as an earlier hit on the
// page is listed in that hit's Duplicates.
type searchOut struct {
	tool.Aside `json:"-"`
	Query      string `json:"query"`
	Items      []hit  `json:"items"`
}

// A hit is a note that matches the query (raven.md §6.8).
type hit struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	FilePath string `json:"file_path"`
	// the matching passage of the best section in one line, or field: value
	Snippet string `json:"snippet"`
	// byte ranges of the snippet that match: start, end
	Matches [][2]int `json:"matches"`
	// higher is better; not comparable between queries
	Score float64 `json:"score"`
	// the first line of that section or field
	LineStart int `json:"line_start" title:"line"`

	// ids of other matching notes with identical text
	Duplicates  []string    `json:"duplicates,omitempty"`
	Explanation *search.Why `json:"explanation,omitempty"`
}

// search returns the tool raven_search, which runs a full-text search over notes.
func (f tools) search() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_search", Family: Family, Title: "Search notes",
		Role: auth.Reader, Kind: tool.Read,
		Route: tool.Route{Method: "GET", Path: "/object-search"},
		Commands: []tool.Command{
			{Words: "object search", Args: []string{"query..."}},
		},
		Columns: []string{"id", "title", "line_start", "snippet"},
		Marks:   map[string]string{"snippet": "matches"},
		Empty: []tool.Empty{
			{Of: "notes that match {query}"},
		},
	}, f.searchNotes)
}

// searchNotes runs raven_search.
//
// The search runs on the newest state that has a search index, which can be older than the head of
// the log; the version in the meta says which. A note whose name is exactly the query comes first.
func (f tools) searchNotes(ctx context.Context, c auth.Caller, in searchIn) (searchOut, error) {
	out := searchOut{Query: in.Query, Items: []hit{}}
	if strings.TrimSpace(in.Query) == "" {
		return out, fault.New(Family.Missing, "query must have at least one word").
			With("argument", "query")
	}
	after, err := placeAfter(in.Page)
	if err != nil {
		return out, err
	}
	v, s, err := f.Searchable(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	holds, err := ofType(s.Index, in.Type)
	if err != nil {
		return out, err
	}
	q := finder{
		view: view{View: state.View{Vault: v, Index: s.Index}}, search: s.Search, matches: holds,
		query: search.ParseQuery(in.Query), exact: s.Index.Named(in.Query), explain: in.Explain,
	}
	return out, q.page(ctx, &out, in.Limit, after)
}

// ofType returns a function that reports whether the note at a path has a type. For an empty name
// it returns the result of visible. A type that does not exist is INVALID_TYPE.
//
// The result is a filter for the search, or nil if every file can be a hit.
func ofType(idx *index.Index, name string) (func(path string) bool, error) {
	if name == "" {
		return visible(idx), nil
	}
	s, err := state.Schema(idx)
	if err != nil {
		return nil, err
	}
	t, ok := s.Type(name)
	if !ok {
		return nil, s.NoType(name)
	}
	return func(path string) bool {
		n, ok := idx.Note(path)
		return ok && n.Type == t.Name
	}, nil
}

// visible returns a function that reports whether the file at a path is a note. It returns nil if
// all files are notes, because the settings exclude none.
func visible(idx *index.Index) func(path string) bool {
	for range idx.HiddenPaths() {
		return func(path string) bool {
			_, ok := idx.Note(path)
			return ok
		}
	}
	return nil
}

// A finder runs a search on one version of a vault.
//
// It is for one call. search and Index are of the same version.
type finder struct {
	view
	search *search.Index
	query  search.Query
	// holds reports whether the note at a path can be a hit; nil: every note can.
	matches func(path string) bool

	exact   []string // the paths of the notes that have the query as a name
	explain bool
}

// page fills one page with the hits after a place.
//
// Notes with identical text are one item: those after the first are in its duplicates. They still
// count towards the limit, so a page can have fewer items than the limit and a next page.
func (q finder) page(ctx context.Context, out *searchOut, limit int, after place) error {
	texts := q.Texts()
	// One hit more than the limit shows whether another page follows.
	r, err := q.search.Search(q.query, search.Options{
		Limit: limit + 1, After: q.cursor(ctx, after), Filter: q.matches, Text: q.text(ctx, texts), Canceled: ctx.Err,
		Exact: q.exact, Explain: q.explain, Constrained: q.matches != nil,
		Prefetch: func(paths []string) { texts.Prefetch(ctx, paths) },
	})
	if err != nil {
		return err
	}
	more := len(r.Items) > limit
	last := place{version: q.Index.Version()}
	same := state.NewTwins(q.Index)
	for _, h := range r.Items[:min(limit, len(r.Items))] {
		last.Cursor = *h.Cursor()
		if i, isTwin := same.Of(h.Doc); isTwin {
			n, _ := q.Index.Note(h.Doc)
			out.Items[i].Duplicates = append(out.Items[i].Duplicates, n.ID)
			continue
		}
		out.Items = append(out.Items, q.hit(h))
	}
	out.Paged(len(out.Items), r.Total, more, last.key())
	out.Note("version", q.Version())
	if r.Partial {
		out.Note("partial", true)
	}
	if r.Total == 0 {
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return nil
}

// text returns a function that reads the text of the note at a path.
func (q finder) text(ctx context.Context, texts *state.Texts) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		f, ok := texts.File(path)
		if !ok {
			return nil, fmt.Errorf("a note that was found is not in the index")
		}
		return q.Vault.Text(ctx, f.Body)
	}
}

// hit returns a hit as the answer shows it.
func (q finder) hit(h search.Hit) hit {
	n, _ := q.Index.Note(h.Doc)
	return hit{
		ID: n.ID, Title: tool.Beginning(q.Index.NameOf(n.Object(-1)), maxListed), FilePath: n.Path, Snippet: h.Snippet,
		Matches: h.Ranges, Score: h.Score, LineStart: h.Unit.LineStart, Explanation: h.Why,
	}
}

// cursor returns the position of the page in the search index. A commit since the previous page may
// have changed all scores; the page then begins after the last note of that page, at its new
// position.
//
// If that note no longer matches, the old score is used, which is approximately where the page
// ended.
func (q finder) cursor(ctx context.Context, after place) *search.Cursor {
	if after.Doc == "" {
		return nil
	}
	if after.version == q.Index.Version() {
		return &after.Cursor
	}
	r, err := q.search.Search(q.query, search.Options{
		Limit: 1, Filter: func(path string) bool { return path == after.Doc }, Canceled: ctx.Err, Exact: q.exact,
	})
	if err != nil || len(r.Items) == 0 {
		return &after.Cursor
	}
	return r.Items[0].Cursor()
}

// A place is the end of the previous page, with the version to which its score belongs. Without a
// Doc it is the beginning.
type place struct {
	version uint64
	search.Cursor
}

// key returns the place in the form that page tokens contain.
//
// The form is VERSION:SCORE:PATH; the score is written with all its digits, because it is compared.
func (p place) key() string {
	return fmt.Sprintf("%d:%s:%s", p.version, strconv.FormatFloat(p.Score, 'g', -1, 64), p.Doc)
}

// placeAfter returns the place after which the requested page begins.
func placeAfter(in tool.Page) (place, error) {
	key, err := in.After(Family)
	if err != nil || key == "" {
		return place{}, err
	}
	parts := strings.SplitN(key, ":", 3)
	if len(parts) == 3 {
		version, err1 := strconv.ParseUint(parts[0], 10, 64)
		score, err2 := strconv.ParseFloat(parts[1], 64)
		if err1 == nil && err2 == nil {
			return place{version, search.Cursor{Score: score, Doc: parts[2]}}, nil
		}
	}
	return place{}, state.OtherList(Family)
}

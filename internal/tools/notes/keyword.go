package notes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

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

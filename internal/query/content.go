package query

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

// content returns the term of content(). It holds for items whose text has all words of a text. For
// traits, it holds if the content of the line contains the text as it is, ignoring case.
//
// Words can be in different passages of the text. The words of a phrase must be in one passage. The
// search index finds the passages of each word once, for the whole vault; an item passes if, for
// each word, one of the passages begins in its lines. Without a search index, no object or section
// passes.
func (e *evaluator) content(b Branch, t *Test) term {
	if b.Kind == Traits {
		part := folded(t.Text)
		return term{most: unknown, cost: expensive, holds: func(i Item) bool {
			return strings.Contains(folded(i.Trait.Content), part)
		}}
	}
	words := once(func() []wordUnits { return e.wordsIn(t.Text) })
	out := term{most: unknown, cost: nested}
	out.holds = func(i Item) bool {
		// The text of a note is all of it; that of a section is its subtree.
		from, to := 1, int(^uint(0)>>1)
		if s := i.Object.Section; s != nil {
			from, to = s.Line(), endOf(s)-1
		}
		for _, w := range words() {
			if w.within(i.note().Path, from, to) == w.not {
				return false
			}
		}
		return len(words()) > 0
	}
	if _, _, ok := e.searchIndex(); ok {
		e.narrowByWords(words(), &out)
	}
	return out
}

// wordUnits contains the first lines of the passages that have a word, by the path of their note.
//
// The first line identifies the section of a passage well enough, because passages never cross
// sections.
type wordUnits struct {
	not   bool // items must not have the word
	lines map[string][]int
}

// within reports whether a passage of a note with the word begins in a range of lines, both
// inclusive.
func (w wordUnits) within(path string, from, to int) bool {
	for _, line := range w.lines[path] {
		if line >= from && line <= to {
			return true
		}
	}
	return false
}

// searchIndex returns the search index of the state and its texts; false if there is none, or after
// a failure. It calls State.Search at most once.
func (e *evaluator) searchIndex() (*search.Index, func(string) ([]byte, error), bool) {
	if e.search == nil && e.Search != nil && e.failed == nil {
		e.search, e.textOn, e.failed = e.Search()
	}
	return e.search, e.textOn, e.search != nil && e.failed == nil
}

// wordsIn returns the passages with each word of a text. A passage counts as a visit.
//
// It returns nil on a failure, which e.failed contains.
func (e *evaluator) wordsIn(text string) []wordUnits {
	x, textOn, ok := e.searchIndex()
	if !ok {
		return nil
	}
	var all []wordUnits
	for _, p := range x.Parts(search.ParseQuery(text)) {
		units, err := x.UnitsWith(p, e.countReads(textOn))
		if err != nil && e.failed == nil {
			e.failed = err
		}
		w := wordUnits{p.Not, map[string][]int{}}
		for _, u := range units {
			// Passages count as visits, because a frequent word has many.
			if !e.visit(1) {
				return nil
			}
			w.lines[u.Doc] = append(w.lines[u.Doc], u.Line)
		}
		all = append(all, w)
	}
	return all
}

// countReads wraps a function that returns texts. It counts a visit for each text, and more for long
// ones, as for regular expressions.
func (e *evaluator) countReads(textOn func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if !e.visit(1) {
			return nil, e.failed
		}
		text, err := textOn(path)
		e.visit(len(text) / matchedBytes)
		return text, err
	}
}

// narrowByWords restricts a term to the notes with the word that is in the fewest notes. An item
// must have all words, so it is in one of these notes.
func (e *evaluator) narrowByWords(words []wordUnits, out *term) {
	var least *wordUnits
	for i, w := range words {
		// An excluded word does not limit the notes.
		if !w.not && (least == nil || len(w.lines) < len(least.lines)) {
			least = &words[i]
		}
	}
	if least == nil {
		return
	}
	out.most = len(least.lines)
	out.notes = func() []*index.Note {
		var notes []*index.Note
		for path := range least.lines {
			if n, ok := e.Index.Note(path); ok {
				notes = append(notes, n)
			}
		}
		return byPath(notes)
	}
}

package query

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

// content makes the term of the things in whose text all words of a text are. Of a trait it is the line,
// in which the text is as it is.
func (e *evaluator) content(b Branch, t *Test) term {
	if b.Kind == Traits {
		part := folded(t.Text)
		return term{most: unknown, price: dear, holds: func(i Item) bool {
			return strings.Contains(folded(i.Trait.Content), part)
		}}
	}
	words := once(func() []wordUnits { return e.wordsIn(t.Text) })
	out := term{most: unknown, price: nested}
	out.holds = func(i Item) bool {
		from, to := 1, int(^uint(0)>>1)
		if s := i.Object.Section; s != nil {
			from, to = s.Line, endOf(s)-1
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

// wordUnits are the lines of the units that have a word, by the paths of their notes.
type wordUnits struct {
	not   bool
	lines map[string][]int
}

// within reports whether the word is in a unit that begins in some lines of a note.
func (w wordUnits) within(path string, from, to int) bool {
	for _, line := range w.lines[path] {
		if line >= from && line <= to {
			return true
		}
	}
	return false
}

// searchIndex is the search index of the state, if it has one.
func (e *evaluator) searchIndex() (*search.Index, func(string) ([]byte, error), bool) {
	if e.search == nil && e.Search != nil && e.failed == nil {
		e.search, e.textOn, e.failed = e.Search()
	}
	return e.search, e.textOn, e.search != nil && e.failed == nil
}

// wordsIn finds the units with each of the words of a text.
func (e *evaluator) wordsIn(text string) []wordUnits {
	x, textOn, ok := e.searchIndex()
	if !ok {
		return nil
	}
	var all []wordUnits
	for _, p := range x.Parts(search.ParseQuery(text)) {
		units, err := x.UnitsWith(p, e.counted(textOn))
		if err != nil && e.failed == nil {
			e.failed = err
		}
		w := wordUnits{p.Not, map[string][]int{}}
		for _, u := range units {
			if !e.visit(1) {
				return nil
			}
			w.lines[u.Doc] = append(w.lines[u.Doc], u.Line)
		}
		all = append(all, w)
	}
	return all
}

// counted reads texts, and counts what is read as a regular expression would be.
func (e *evaluator) counted(textOn func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if !e.visit(1) {
			return nil, e.failed
		}
		text, err := textOn(path)
		e.visit(len(text) / matchedBytes)
		return text, err
	}
}

// narrowByWords gives a term the notes with the word that the fewest have.
func (e *evaluator) narrowByWords(words []wordUnits, out *term) {
	var least *wordUnits
	for i, w := range words {
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

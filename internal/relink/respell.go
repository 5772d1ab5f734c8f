package relink

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Wanted selects references of a note that are written in full.
type Wanted struct {
	ID   string // of the note
	Text []byte // of the note

	// Wants reports whether a reference is selected, by its line and its target as written.
	Wants func(line int, target string) bool
}

// WriteInFull rewrites the selected references of several notes in full, in double brackets: with
// the id of their object, their fragment and their display text. A reference that does not resolve
// stays as it is. The vault does not change, so the texts must be those of the notes in idx. The
// results are in the order of the notes, which are rewritten on as many goroutines as there are
// processors.
func WriteInFull(idx *index.Index, notes []Wanted) []Result {
	results := make([]Result, 0, len(notes))
	for _, res := range rewriteEach(New(idx, idx, nil), len(notes), slices.Values(notes), (*Relinker).writeInFull) {
		results = append(results, res)
	}
	return results
}

// writeInFull is WriteInFull for one note.
func (r *Relinker) writeInFull(n Wanted) Result {
	was, is, ok := r.note(n.ID)
	if !ok || is.Quarantine() != nil {
		return Result{Text: n.Text}
	}
	w := &rewriting{
		Relinker: r, from: was, note: is, text: n.Text, doc: markdown.Parse(n.Text), selects: n.Wants,
	}
	w.values()
	w.references()
	return w.result()
}

// rewrites reports whether a reference must be rewritten: one that no longer leads to the same
// object or, for WriteInFull, one that is wanted.
func (w *rewriting) rewrites(line int, target string, was index.Resolution) bool {
	if w.selects == nil {
		return !w.leadsSame(target, was)
	}
	return w.selects(line, target)
}

// bracketed returns a Markdown link as a reference in double brackets; "" if its display text does
// not allow that.
func (w *rewriting) bracketed(ref markdown.Reference, target string) string {
	link := string(w.text[ref.Span.Start:ref.Span.End])
	shown, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(link, "!"), "["), "](")
	if !ok || strings.ContainsAny(shown, "[]|\n") {
		return ""
	}
	bar := "|"
	begin := bytes.LastIndexByte(w.text[:ref.Span.Start], '\n') + 1
	if bytes.HasPrefix(bytes.TrimSpace(w.text[begin:ref.Span.Start]), []byte("|")) {
		bar = `\|` // in a table, the bar must be escaped
	}
	spelled := "[[" + target
	if shown = strings.TrimSpace(shown); shown != "" {
		spelled += bar + shown
	}
	if spelled += "]]"; strings.HasPrefix(link, "!") {
		spelled = "!" + spelled
	}
	return spelled
}

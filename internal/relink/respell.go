package relink

import (
	"bytes"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// WriteInFull rewrites some references of a note in full, in double brackets: with the id of their
// object, their fragment and their display text. wanted selects them by line and target as written.
// A reference that does not resolve stays as it is. The vault does not change, so both states are
// idx, and text must be the text of the note in it.
func WriteInFull(idx *index.Index, id string, text []byte, wanted func(line int, target string) bool) Result {
	r := New(idx, idx, nil)
	was, is, ok := r.note(id)
	if !ok || is.Quarantine != nil {
		return Result{Text: text}
	}
	w := &rewriting{Relinker: r, from: was, note: is, text: text, doc: markdown.Parse(text), selects: wanted}
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

package relink

import (
	"bytes"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// Respell writes some references of a note in full, in double brackets: by the id of what they lead to, with their
// part and what they show. wanted reports which, by the line and by how the reference is written. A reference that
// leads nowhere stays as it is.
func Respell(idx *index.Index, id string, text []byte, wanted func(line int, target string) bool) Result {
	r := New(idx, idx, nil)
	was, is, ok := r.note(id)
	if !ok || is.Quarantine != nil {
		return Result{Text: text}
	}
	w := &rewriting{Relinker: r, from: was, note: is, text: text, doc: markdown.Parse(text), wanted: wanted}
	w.values()
	w.references()
	return w.result()
}

// rewrites reports whether a reference is to be written otherwise: one that no longer leads to what it led to, or one
// that Respell is to write in full.
func (w *rewriting) rewrites(line int, target string, was index.Resolution) bool {
	if w.wanted == nil {
		return !w.leads(target, was)
	}
	return w.wanted(line, target)
}

// bracketed is a Markdown link as a reference in double brackets; empty: it cannot be one.
func (w *rewriting) bracketed(ref markdown.Reference, target string) string {
	link := string(w.text[ref.Span.Start:ref.Span.End])
	shown, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(link, "!"), "["), "](")
	if !ok || strings.ContainsAny(shown, "[]|\n") {
		return ""
	}
	bar := "|"
	begin := bytes.LastIndexByte(w.text[:ref.Span.Start], '\n') + 1
	if bytes.HasPrefix(bytes.TrimSpace(w.text[begin:ref.Span.Start]), []byte("|")) {
		bar = `\|` // in a table
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

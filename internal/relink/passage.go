package relink

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Passage are lines of a note that were in another note in the first state: a section that moved, or a copy. Or they
// are new: a section that is restored.
type Passage struct {
	Lines markdown.Span // of the text as it is; from the first, counted from 1, up to, not including, the last
	From  string        // the id of the note that they were in; empty: they are new, and their references stay

	// IDs are new ids by old ones, for references in these lines alone: in a copy, what leads to the original of
	// something that is copied too leads to its copy.
	IDs map[string]string
}

// Passages is Rewrite for a note with lines that come from other notes. What they refer to is what it was there.
func (r *Relinker) Passages(id string, text []byte, passages []Passage) Result {
	is, ok := r.after.ByID(id)
	if !ok || is.Quarantine != nil {
		return Result{Text: text}
	}
	was, _, had := r.note(id)
	w := &rewriting{
		Relinker: r, from: was, own: was, note: is, text: text, doc: markdown.Parse(text), passages: passages,
	}
	if !had {
		w.own = nil // what is in no passage is new: it leads where it leads
	}
	w.freeAnchors()
	w.values()
	w.references()
	w.anchors()
	w.files()
	return w.result()
}

// freeAnchors makes links to a place in the same note into links to the note that they were in, where the place is in
// another note now. References lead on from there.
func (w *rewriting) freeAnchors() {
	var edits []edit
	for _, link := range w.doc.Anchors {
		target := "#" + markdown.Unescape(strings.TrimPrefix(link.Target, "#"))
		if !w.enter(link.Line) {
			continue
		}
		was := w.was.From(w.from, target)
		if to, _, _ := strings.Cut(w.goal(was), "#"); was.ID == "" || was.FragmentMissing || to == w.note.ID {
			continue
		}
		_, slug, _ := strings.Cut(was.ID, "#")
		encode := encoder(w.text, link.Written)
		edits = append(edits, edit{at: link.Written, with: "/" + encode(w.from.Path) + "#" + encode(slug), line: link.Line})
	}
	if len(edits) == 0 {
		return
	}
	text := apply(w.text, edits)
	d := markdown.Parse(text)
	if len(d.Anchors) != len(w.doc.Anchors)-len(edits) || len(d.References) != len(w.doc.References)+len(edits) {
		for _, e := range edits {
			w.unwritable = append(w.unwritable, e.line)
		}
		return
	}
	w.text, w.doc = text, d
	w.freed = len(edits)
}

// enter goes to a line: what follows is about a reference in it. It reports whether there was a reference before.
func (w *rewriting) enter(line int) bool {
	if w.passages == nil {
		return true
	}
	w.from, w.copied = w.own, nil
	for _, p := range w.passages {
		if line < p.Lines.Start || line >= p.Lines.End {
			continue
		}
		if p.From == "" {
			w.from = nil
			return false
		}
		if n, ok := w.before.ByID(p.From); ok {
			w.from, w.copied = n, p.IDs
			return true
		}
	}
	return w.from != nil
}

// To returns the id that something has in the second state; see Relinker.To. In a copy it is that of the copy.
func (w *rewriting) To(id string) string {
	if to, ok := w.copied[id]; ok {
		return to
	}
	if note, fragment, inside := strings.Cut(id, "#"); inside {
		if to, ok := w.copied[note]; ok {
			return inNote(to, fragment)
		}
	}
	return w.Relinker.To(id)
}

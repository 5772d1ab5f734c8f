package relink

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Passage is a range of lines of a note that was in another note in the first state, because a
// section was moved or copied, or that is new, because a section was restored. A note can have
// several; they must not overlap.
type Passage struct {
	Lines markdown.Span // line numbers in the current text, from 1; Start is included, End is not
	From  string        // id of the note that contained them; empty if they are new, so their references stay

	// IDs maps old ids to new ones for references in these lines only. In a copy, a reference to
	// the original of something that is copied too must lead to the copy.
	IDs map[string]string
}

// Passages is Rewrite for a note with lines from other notes. Their references keep the targets
// that they had in these notes.
func (r *Relinker) Passages(id string, text []byte, passages []Passage) Result {
	is, ok := r.after.ByID(id)
	if !ok || is.Quarantine() != nil {
		return Result{Text: text}
	}
	was, _, had := r.note(id)
	w := &rewriting{
		Relinker: r, from: was, own: was, note: is, text: text, doc: markdown.Parse(text), passages: passages,
	}
	if !had {
		w.own = nil // lines outside passages are new: their references stay
	}
	w.freeAnchors()
	w.values()
	w.references()
	w.anchors()
	w.files()
	return w.result()
}

// freeAnchors rewrites links to a place in the same note, if the place is in another note now. They
// become links to the note from which they come; the methods that rewrite references then continue
// from there.
//
// It makes its edits at once, and parses the new text, because the other methods need the spans of
// the references in it. If the result does not have exactly these references, none of the edits is
// made, and their lines are reported.
func (w *rewriting) freeAnchors() {
	var edits []edit
	for _, link := range w.doc.Anchors {
		target := "#" + markdown.Unescape(strings.TrimPrefix(link.Target, "#"))
		if !w.enterPassage(link.Line) {
			continue
		}
		was := w.resolveBefore.From(w.from, target)
		if to, _, _ := strings.Cut(w.newTargetID(was), "#"); was.ID == "" || was.FragmentMissing || to == w.note.ID {
			continue
		}
		_, slug, _ := strings.Cut(was.ID, "#")
		encode := encoder(w.text, link.Written)
		edits = append(edits, edit{at: link.Written, with: "/" + encode(w.from.Path) + "#" + encode(slug),
			line: link.Line})
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

// enterPassage sets from and copied for the passage that contains a line. Callers use it before they
// resolve a reference in the line. It reports whether the line was in a note before.
func (w *rewriting) enterPassage(line int) bool {
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

// NewID returns the id in the second state for an id of the first; see Relinker.NewID. In a copy, it is
// the id of the copy.
func (w *rewriting) NewID(id string) string {
	if to, ok := w.copied[id]; ok {
		return to
	}
	if note, fragment, inside := strings.Cut(id, "#"); inside {
		if to, ok := w.copied[note]; ok {
			return inNote(to, fragment)
		}
	}
	return w.Relinker.NewID(id)
}

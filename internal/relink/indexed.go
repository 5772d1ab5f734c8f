package relink

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// fromIndex is Rewrite for a note in which no references change, or only some in double brackets in
// the body. The index has the places of these, so the text is not parsed before it is edited, which
// is about half of the work. It returns false for every other note, and if the new text would not
// have the intended references.
func (r *Relinker) fromIndex(was, is *index.Note, text []byte) (Result, bool) {
	w := &indexed{rewriting: &rewriting{Relinker: r, from: was, note: is, text: text}}
	if was.Path != is.Path || is.Unindexed > 0 || len(r.Blocks) > 0 || r.isChanged(is.ID) || w.hasBareTrait() {
		return Result{}, false
	}
	for i := range is.Refs {
		if ref := &is.Refs[i]; !ref.Bare {
			w.targets = append(w.targets, ref.Target)
		}
		if !is.Refs[i].IsFile() && !w.reference(&is.Refs[i]) {
			return Result{}, false
		}
	}
	res := Result{
		Text: text, Count: len(w.edits), Sources: sourcesOf(w.edits), Unwritable: w.unwritable, Gained: w.gained,
	}
	if len(w.edits) > 0 {
		res.Text = apply(text, w.edits)
		doc := markdown.Parse(res.Text)
		res.Parsed = index.NewParsed(is.Path, res.Text, doc)
		if res.Parsed == nil || doc.Problem != nil || !w.holds(res.Parsed.Note()) {
			return Result{}, false
		}
	}
	return res, true
}

// isChanged reports whether the note with an id moved, or contains a renamed section.
func (r *Relinker) isChanged(id string) bool {
	for changed := range r.changed() {
		if changed == id {
			return true
		}
	}
	return false
}

// An indexed is the rewriting of a note by its places in the index. Its doc is nil.
type indexed struct {
	*rewriting
	targets []string // intended targets of the references that are not bare, in order
}

// hasBareTrait reports whether a trait in the text has a reference without brackets as its value.
// Such references are not in the index.
func (w *indexed) hasBareTrait() bool {
	for _, a := range w.note.Annotations {
		def, ok := w.after.Schema().Trait(a.Type)
		if !ok || !def.IsRef() || a.Field {
			continue
		}
		list, isList := a.Value().([]any)
		if !isList {
			list = []any{a.Value()}
		}
		for _, v := range list {
			if _, bare := textOf(v); bare {
				return true
			}
		}
	}
	return false
}

// reference adds the edit of a reference, if it must change. It returns false if that is not
// possible without the parsed text.
func (w *indexed) reference(ref *index.Ref) bool {
	was := w.resolveBefore.From(w.from, ref.Target)
	gained := w.gained
	w.countGained(was, ref.Target)
	if ref.Bare {
		return w.gained == gained && (was.ID == "" || w.leadsSame(ref.Target, was))
	}
	at := markdown.Reference{Target: ref.Target, Span: markdown.Span{Start: ref.Position, End: len(w.text)}}
	if ref.Position >= len(w.text) {
		return false
	}
	if was.ID == "" || !w.rewrites(ref.Line, ref.Target, was) && !w.losesPath(at, was) {
		return true
	}
	rest := bytes.TrimPrefix(w.text[ref.Position:], []byte{'!'})
	inner, ok := bytes.CutPrefix(rest, []byte("[["))
	inner = bytes.TrimLeft(inner, " \t")
	if ref.InField || !ok || !bytes.HasPrefix(inner, []byte(ref.Target)) {
		return false
	}
	at.Written.Start = len(w.text) - len(inner)
	at.Written.End = at.Written.Start + len(ref.Target)
	spelled, target, ok := w.newSpelling(at, was)
	if !ok {
		w.unwritable = append(w.unwritable, ref.Line)
		return true
	}
	w.targets[len(w.targets)-1] = target
	w.edits = append(w.edits, edit{at: at.Written, with: spelled, line: ref.Line, source: w.note.Object(ref.Scope)})
	return true
}

// holds reports whether the note of the new text has the intended references, and the sections that
// it had.
func (w *indexed) holds(n *index.Note) bool {
	if len(n.Refs) != len(w.targets) || len(n.Sections) != len(w.note.Sections) || n.TitleSlug != w.note.TitleSlug {
		return false
	}
	for i, target := range w.targets {
		if n.Refs[i].Target != target {
			return false
		}
	}
	return true
}

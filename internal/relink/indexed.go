package relink

import (
	"bytes"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// fromIndex is Rewrite for a note in which no references change, or only some in double brackets in
// the body. The index has the places of these, so the text is not parsed before it is edited, and
// after it only if index.NewRespelled cannot tell what it has. It returns false for every other note,
// and if the new text would not have the intended references.
func (r *Relinker) fromIndex(was, is *index.Note, text []byte) (Result, bool) {
	w := &rewriting{Relinker: r, from: was, note: is, text: text}
	if was.Path != is.Path || is.Unindexed() > 0 || len(r.Blocks) > 0 || r.renamed[is.ID] || w.hasBareTrait() {
		return Result{}, false
	}
	var targets []string // intended targets of the references that are not bare, in order
	var changed []index.Respelling
	for i := range is.Refs {
		ref := &is.Refs[i]
		before := len(w.edits)
		target, ok := w.indexed(ref)
		if !ok {
			return Result{}, false
		}
		if !ref.Bare {
			targets = append(targets, target)
		}
		for _, e := range w.edits[before:] {
			changed = append(changed, index.Respelling{Ref: i, At: e.at, Target: e.with})
		}
	}
	res := Result{
		Text: text, Count: len(w.edits), Sources: sourcesOf(w.edits), Unwritable: w.unwritable, Gained: w.gained,
		Nodes: is.NodeIDs(),
	}
	if len(w.edits) > 0 {
		res.Text = apply(text, w.edits)
		if res.Parsed = index.NewRespelled(is, text, res.Text, changed); res.Parsed == nil {
			doc := markdown.Parse(res.Text)
			res.Parsed = index.NewParsed(is.Path, res.Text, doc, is)
			if doc.Problem != nil {
				return Result{}, false
			}
		}
		if res.Parsed == nil || !hasTargets(res.Parsed.Note(), is, targets) {
			return Result{}, false
		}
	}
	return res, true
}

// hasBareTrait reports whether a trait in the text has a reference without brackets as its value.
// Such references are not in the index.
func (w *rewriting) hasBareTrait() bool {
	for _, a := range w.note.EachAnnotation {
		def, ok := w.after.Schema().Trait(a.Type)
		if !ok || !def.IsRef() || a.Field {
			continue
		}
		list, _ := elements(a.Value())
		for _, v := range list {
			if _, bare := textOf(v); bare {
				return true
			}
		}
	}
	return false
}

// indexed adds the edit of a reference of the index, if it must change, and returns its target after
// that. It returns false if that is not possible without the parsed text.
func (w *rewriting) indexed(ref *index.Ref) (target string, ok bool) {
	if ref.IsFile() {
		return ref.Target, true
	}
	was := w.resolveBefore.From(w.from, ref.Target)
	gained := w.gained
	w.countGained(was, ref.Target)
	if ref.Bare {
		return "", w.gained == gained && (was.ID == "" || w.leadsSame(ref.Target, was))
	}
	if ref.Position() >= len(w.text) {
		return "", false
	}
	at := markdown.Reference{Target: ref.Target, Span: markdown.Span{Start: ref.Position(), End: len(w.text)}}
	if was.ID == "" || !w.rewrites(ref.Line(), ref.Target, was) && !w.losesPath(at, was) {
		return ref.Target, true
	}
	inner, isWiki := bytes.CutPrefix(bytes.TrimPrefix(w.text[ref.Position():], []byte{'!'}), []byte("[["))
	inner = bytes.TrimLeft(inner, " \t")
	if ref.InField || !isWiki || !bytes.HasPrefix(inner, []byte(ref.Target)) {
		return "", false
	}
	at.Written.Start = len(w.text) - len(inner)
	at.Written.End = at.Written.Start + len(ref.Target)
	spelled, target, ok := w.newSpelling(at, was)
	if !ok {
		w.unwritable = append(w.unwritable, ref.Line())
		return ref.Target, true
	}
	w.edits = append(w.edits, edit{at: at.Written, with: spelled, line: ref.Line(), source: w.note.Object(ref.Scope())})
	return target, true
}

// hasTargets reports whether the note of a new text has references with these targets, and the
// sections that it had.
func hasTargets(n, before *index.Note, targets []string) bool {
	return len(n.Sections) == len(before.Sections) && n.TitleSlug == before.TitleSlug &&
		slices.EqualFunc(n.Refs, targets, func(r index.Ref, target string) bool { return r.Target == target })
}

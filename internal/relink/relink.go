// Package relink rewrites references after notes, or sections in them, got other ids, so that each leads to
// what it led to before (reference/raven-rest.md §9 and §11). It is pure: it reads two states of a vault and
// the texts that it is given.
//
// A reference is rewritten only if, as it is written, it no longer leads there, or if it is a Markdown link by a
// relative path that is no longer the path of its target. What leads nowhere stays as it is.
package relink

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Relinker rewrites the references of one change of a vault. It is for one goroutine.
type Relinker struct {
	before, after *index.Index
	was, is       *index.Resolver
	ids           map[string]string // new ids by old ones, of notes and of sections
	old           map[string]string // old ids by new ones, of notes

	// Blocks are the ids of the notes that blocks moved to that references may lead to, by where they were.
	Blocks map[Line]string
}

// A Line is a line of a note in the first state.
type Line struct {
	Note string // its id
	Line int
}

// New returns a Relinker between two states of a vault. The second state has the texts of the first, each
// moved note at its new path. ids has the new ids of moved notes, and of renamed sections, by their old ids.
// What is in a moved note keeps its fragment, unless ids says otherwise.
func New(before, after *index.Index, ids map[string]string) *Relinker {
	r := &Relinker{
		before: before, after: after, was: before.Resolver(), is: after.Resolver(),
		ids: ids, old: map[string]string{},
	}
	for from, to := range ids {
		if !strings.Contains(from, "#") {
			r.old[to] = from
		}
	}
	return r
}

// To returns the id that something with an id of the first state has in the second.
func (r *Relinker) To(id string) string {
	if to, ok := r.ids[id]; ok {
		return to
	}
	note, fragment, inside := strings.Cut(id, "#")
	if to, ok := r.ids[note]; ok && inside {
		return inNote(to, fragment)
	}
	return id
}

// goal returns the id of what something in the first state is in the second.
func (w *rewriting) goal(was index.Resolution) string {
	if was.Line > 0 && was.Object.Note != nil {
		if to, ok := w.Blocks[Line{was.Object.Note.ID, was.Line}]; ok {
			return to
		}
	}
	return w.To(was.ID)
}

// inNote is the id of something in the note that an id is of, or is in.
func inNote(id, fragment string) string {
	note, _, _ := strings.Cut(id, "#")
	return note + "#" + fragment
}

// note returns a note of the second state, and the same one in the first. It returns false if one of them
// does not exist.
func (r *Relinker) note(id string) (was, is *index.Note, ok bool) {
	from, moved := r.old[id]
	if !moved {
		from = id
	}
	was, had := r.before.ByID(from)
	is, has := r.after.ByID(id)
	return was, is, had && has
}

// Sources returns the ids, in the second state, of all notes that may have a reference to rewrite, sorted. It
// looks only at notes with references that are written as one of the names, old or new, of what got another
// id.
func (r *Relinker) Sources() []string {
	ids := map[string]bool{}
	for id := range r.changed() {
		note, _, _ := strings.Cut(r.To(id), "#")
		ids[note] = true
	}
	for n := range r.before.Mentioning(r.buckets()) {
		ids[r.To(n.ID)] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// changed yields the old ids of the notes that moved, or have a renamed section.
func (r *Relinker) changed() iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range r.ids {
			note, _, _ := strings.Cut(id, "#")
			if !yield(note) {
				return
			}
		}
	}
}

// buckets returns the buckets of the changed notes in both states.
func (r *Relinker) buckets() []string {
	var all []string
	for id := range r.changed() {
		if n, ok := r.before.ByID(id); ok {
			all = append(all, n.Buckets()...)
		}
		if n, ok := r.after.ByID(r.To(id)); ok {
			all = append(all, n.Buckets()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A Source is an object with references that were rewritten.
type Source struct {
	ID     string   // in the second state
	File   string   // its path
	Fields []string // the fields with such references, sorted, each once
}

// A Result is what was done to one note.
type Result struct {
	Text    []byte // the text with the rewritten references; the given one if there are none
	Count   int    // of rewritten references
	Sources []Source

	// Unwritable are the lines of references that cannot be written so that they lead to what they led to.
	Unwritable []int
	// Gained is how many references led nowhere, or to several things, and now lead to what moved.
	Gained int
}

// Rewrite rewrites the references of the note with an id of the second state, in its text.
func (r *Relinker) Rewrite(id string, text []byte) Result {
	was, is, ok := r.note(id)
	if !ok || is.Quarantine != nil {
		return Result{Text: text}
	}
	w := &rewriting{Relinker: r, from: was, note: is, text: text, doc: markdown.Parse(text)}
	w.freeAnchors()
	w.values()
	w.references()
	w.anchors()
	w.files()
	return w.result()
}

// A rewriting is one note on its way.
type rewriting struct {
	*Relinker
	from, note *index.Note // as it was, as it is; from is that of the passage; see enter
	text       []byte
	doc        *markdown.Doc
	edits      []edit
	whole      []markdown.Span // values of which an edit replaces all
	gained     int
	unwritable []int

	passages []Passage
	freed    int               // anchors that are references by now
	own      *index.Note       // with passages, the note as it was; nil: it is new
	copied   map[string]string // of the passage

	// wanted reports whether a reference of Respell is to be written in full; nil: references are rewritten.
	wanted func(line int, target string) bool
}

// moved reports whether the note is in another folder than before.
func (w *rewriting) moved() bool {
	return vault.Path(w.from.Path).Dir() != vault.Path(w.note.Path).Dir()
}

// leads reports whether a reference in the note, as it is now, leads to what it led to before, and to the
// same kind of place in it.
func (w *rewriting) leads(target string, was index.Resolution) bool {
	now := w.is.From(w.note, target)
	return now.ID == w.goal(was) && now.FragmentMissing == was.FragmentMissing &&
		(now.Line > 0) == (was.Line > 0)
}

// countGained counts a reference that led nowhere and now leads somewhere.
func (w *rewriting) countGained(was index.Resolution, target string) {
	if was.ID == "" && w.is.From(w.note, target).ID != "" {
		w.gained++
	}
}

// references rewrites wikilinks and Markdown links to notes.
func (w *rewriting) references() {
	for i, ref := range w.doc.References {
		base, _, _ := strings.Cut(ref.Target, "#")
		if markdown.IsFileName(base) || w.isEdited(ref.Span) {
			continue
		}
		if !w.enter(ref.Line) {
			continue
		}
		was := w.was.From(w.from, ref.Target)
		w.countGained(was, ref.Target)
		if was.ID == "" || !w.rewrites(ref.Line, ref.Target, was) && !w.strays(ref, was) {
			continue
		}
		at := ref.Written
		spelled, target, ok := w.spell(ref, was)
		if w.wanted != nil && w.isMarkdown(ref) {
			at, spelled = ref.Span, w.bracketed(ref, target)
			ok = ok && spelled != ""
		}
		if !ok {
			w.unwritable = append(w.unwritable, ref.Line)
			continue
		}
		w.edits = append(w.edits, edit{
			at: at, with: spelled, line: ref.Line, source: w.scopeOf(ref), field: ref.Field,
			holds: func(d *markdown.Doc) bool {
				return len(d.References) == len(w.doc.References) && d.References[i].Target == target
			},
		})
	}
}

// isEdited reports whether a span is in a value that an edit replaces.
func (w *rewriting) isEdited(at markdown.Span) bool {
	return slices.ContainsFunc(w.whole, func(s markdown.Span) bool {
		return s.Start <= at.Start && at.End <= s.End
	})
}

// scopeOf returns the object that a reference stands in.
func (w *rewriting) scopeOf(ref markdown.Reference) index.Object {
	for i := range w.note.Refs {
		if r := &w.note.Refs[i]; !r.Bare && r.Line == ref.Line && r.Target == ref.Target {
			return w.note.Object(r.Scope)
		}
	}
	return w.note.Object(-1)
}

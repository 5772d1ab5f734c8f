// Package relink rewrites references after notes, or sections in them, got other ids, so that each
// reference leads to the same object as before (reference/raven-rest.md §9 and §11). It is pure: it
// reads two states of a vault and the texts that the caller passes.
//
// A reference is rewritten only if it would no longer lead to that object, or if it is a Markdown
// link with a relative path that is no longer the path of its target. A reference that did not
// resolve before stays as it is.
//
// The edits are made in the text of each note and checked by parsing the result: a reference is
// rewritten only if the new text contains the intended target. References that cannot be written
// this way are reported with their lines.
//
// # Steps
//
// A caller changes the vault first, with the references as they were, and creates a Relinker from
// the states before and after. Sources returns the notes that may need an edit; the caller passes
// the text of each to Rewrite, or to Passages if sections of other notes were moved into it, and
// commits the results with the change.
//
// Each kind of reference has a method of rewriting: values for references without brackets in
// fields and traits (value.go), references for wikilinks and Markdown links to notes (spell.go),
// anchors for links in the same note, and files for relative links to other files (link.go). A
// method resolves the reference in the old note and the old state, computes the id of the object in
// the new state, and tries spellings until one resolves to it from the new note. edit.go applies
// all edits of a note at once, and one by one if the result does not parse as intended. For most
// notes that is not necessary, because the index has the places of all that must change (indexed.go).
package relink

import (
	"bytes"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Relinker rewrites the references of one change of a vault. It must be used by one goroutine at
// a time.
type Relinker struct {
	before, after               *index.Index
	resolveBefore, resolveAfter *index.Resolver
	ids                         map[string]string // new ids of notes and sections, by old id
	old                         map[string]string // old ids of notes, by new id
	renamed                     map[string]bool   // old ids of the notes with renamed sections
	forks                       []*Relinker       // for the goroutines of rewriteEach; see fork

	// Blocks maps the old places of moved blocks that references may lead to, to the ids of the
	// notes that contain them now.
	Blocks map[Line]string
}

// A Line is the place of a line in the first state.
type Line struct {
	Note string // id of the note
	Line int
}

// New returns a Relinker between two states of a vault. The second state must have the texts of the
// first, with each moved note at its new path. ids maps the old ids of moved notes and of renamed
// sections to the new ones. Everything in a moved note keeps its fragment, unless ids says
// otherwise.
func New(before, after *index.Index, ids map[string]string) *Relinker {
	r := &Relinker{
		before: before, after: after, resolveBefore: before.Resolver(), resolveAfter: after.Resolver(),
		ids: ids, old: map[string]string{}, renamed: map[string]bool{},
	}
	for from, to := range ids {
		if note, _, inside := strings.Cut(from, "#"); inside {
			r.renamed[note] = true
		} else {
			r.old[to] = from
		}
	}
	return r
}

// NewID returns the id in the second state for an id of the first: that in ids; for something in a
// moved note, the new id of the note with the same fragment; and otherwise the same id.
func (r *Relinker) NewID(id string) string {
	if to, ok := r.ids[id]; ok {
		return to
	}
	note, fragment, inside := strings.Cut(id, "#")
	if to, ok := r.ids[note]; ok && inside {
		return inNote(to, fragment)
	}
	return id
}

// newTargetID returns the id in the second state of the object to which a reference resolved in the first.
func (w *rewriting) newTargetID(was index.Resolution) string {
	// The reference leads to a block, which can be in another note now.
	if was.Line > 0 && was.Object.Note != nil {
		if to, ok := w.Blocks[Line{was.Object.Note.ID, was.Line}]; ok {
			return to
		}
	}
	return w.NewID(was.ID)
}

// inNote returns the id with a fragment in the note of an id.
func inNote(id, fragment string) string {
	note, _, _ := strings.Cut(id, "#")
	return note + "#" + fragment
}

// note returns the note with an id of the second state, and the same note in the first. It returns
// false if one of them does not exist.
func (r *Relinker) note(id string) (was, is *index.Note, ok bool) {
	from, moved := r.old[id]
	if !moved {
		from = id
	}
	was, had := r.before.ByID(from)
	is, has := r.after.ByID(id)
	return was, is, had && has
}

// Sources returns the ids, in the second state, of all notes that may have references to rewrite,
// sorted. It reads only the notes with references that are written like an old or new name of an
// object whose id changed.
func (r *Relinker) Sources() []string {
	ids := map[string]bool{}
	for id := range r.changed() {
		note, _, _ := strings.Cut(r.NewID(id), "#")
		ids[note] = true
	}
	for n := range r.before.Mentioning(r.buckets()) {
		ids[r.NewID(n.ID)] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// changed yields the old ids of the notes that moved or contain a renamed section. An id can be
// yielded more than once.
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

// buckets returns the buckets of the changed notes in both states, sorted and distinct. The new
// names count too: a reference that was written before can lead to an object that has only now got
// the name, and must then be changed to lead to its old object.
func (r *Relinker) buckets() []string {
	var all []string
	for id := range r.changed() {
		if n, ok := r.before.ByID(id); ok {
			all = append(all, n.Buckets()...)
		}
		if n, ok := r.after.ByID(r.NewID(id)); ok {
			all = append(all, n.Buckets()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A Source is an object that contains rewritten references.
type Source struct {
	ID     string   // in the second state
	File   string   // path of its note
	Fields []string // fields with rewritten references, sorted and distinct
}

// A Result is the result of rewriting the references of one note.
type Result struct {
	Text    []byte // the new text; the given one if no reference was rewritten
	Count   int    // number of rewritten references
	Sources []Source

	Parsed *index.Parsed // the new text in parsed form; nil if it was not parsed
	Nodes  []index.UID   // of the nodes in the new text, which are those of the given one

	// Unwritable has the lines of references that cannot be rewritten to lead to the same object as
	// before.
	Unwritable []int
	// Gained is the number of references that did not resolve, or were ambiguous, and now resolve.
	Gained int
}

// Rewrite rewrites the references in text, the text of the note with an id of the second state. If
// there is no such note in both states, or if it is quarantined, it returns the text unchanged.
//
// The text must be that of the second state, which still has the references of the first.
func (r *Relinker) Rewrite(id string, text []byte) Result {
	was, is, ok := r.note(id)
	if !ok || is.Quarantine() != nil || hasNoReferences(is, text) {
		return Result{Text: text}
	}
	if res, ok := r.fromIndex(was, is, text); ok {
		return res
	}
	return r.fromText(was, is, text)
}

// fromText is Rewrite by parsing the text.
func (r *Relinker) fromText(was, is *index.Note, text []byte) Result {
	w := &rewriting{Relinker: r, from: was, note: is, text: text, doc: markdown.Parse(text)}
	w.freeAnchors()
	w.values()
	w.references()
	w.anchors()
	w.files()
	return w.result()
}

// hasNoReferences reports whether a note has no references, without parsing its text: those without
// brackets are in the index, or the values of traits.
func hasNoReferences(n *index.Note, text []byte) bool {
	return len(n.Refs)+len(n.Annotations) == 0 && !bytes.ContainsRune(text, '[')
}

// A NoteText is the text of a note, with the id of the note in the second state.
type NoteText struct {
	ID   string
	Text []byte
}

// RewriteAll rewrites the references of several notes on as many goroutines as there are processors,
// and yields each note with the result of Rewrite, in their order. It reads up to ahead notes, which
// must be above 0, before it yields the result of the first of them, and rewrites later notes while
// its caller uses a result. The caller must not use the Relinker meanwhile.
func (r *Relinker) RewriteAll(notes iter.Seq[NoteText], ahead int) iter.Seq2[NoteText, Result] {
	return rewriteEach(r, ahead, notes, func(r *Relinker, n NoteText) Result { return r.Rewrite(n.ID, n.Text) })
}

// rewriteEach is parallel.Ahead on as many goroutines as there are processors, each with a Relinker of
// its own.
func rewriteEach[T any](
	r *Relinker, ahead int, notes iter.Seq[T], one func(*Relinker, T) Result,
) iter.Seq2[T, Result] {
	for len(r.forks) < runtime.GOMAXPROCS(0) {
		r.forks = append(r.forks, r.fork())
	}
	return parallel.Ahead(len(r.forks), ahead, notes, func(worker int, n T) Result {
		return one(r.forks[worker], n)
	})
}

// fork returns a Relinker of the same change for another goroutine. The two share everything but
// the caches of resolved references.
func (r *Relinker) fork() *Relinker {
	own := *r
	own.resolveBefore, own.resolveAfter = r.before.Resolver(), r.after.Resolver()
	own.forks = nil
	return &own
}

// A rewriting is the state of rewriting one note. Its methods collect edits of text, and result
// applies them. The positions of all edits are in text, so it must not change after the first of
// them is added.
type rewriting struct {
	*Relinker
	// from is the note before and note the note after the change; in a passage, from is the note
	// that contained it; see enterPassage
	from, note *index.Note
	text       []byte
	doc        *markdown.Doc
	edits      []edit
	whole      []markdown.Span // spans of values that an edit replaces as a whole
	gained     int
	unwritable []int

	passages []Passage
	freed    int               // number of anchors that became references
	own      *index.Note       // with passages: the note before the change; nil if it is new
	copied   map[string]string // IDs of the current passage

	// selects reports whether WriteInFull must write a reference in full. If it is nil, references are
	// rewritten.
	selects func(line int, target string) bool
}

// moved reports whether the note is in another folder than before.
func (w *rewriting) moved() bool {
	return vault.Path(w.from.Path).Dir() != vault.Path(w.note.Path).Dir()
}

// leadsSame reports whether a reference, in the note after the change, leads to the same object as
// before, and likewise to a block, to a missing part, or to neither. It is the test that every new
// spelling must pass. A missing part of a note that is a section now cannot be named: the reference
// leads to the section.
func (w *rewriting) leadsSame(target string, was index.Resolution) bool {
	now, to := w.resolveAfter.From(w.note, target), w.newTargetID(was)
	missing := was.FragmentMissing && !strings.Contains(to, "#")
	return now.ID == to && now.FragmentMissing == missing && (now.Line > 0) == (was.Line > 0)
}

// countGained counts a reference that did not resolve before and does now.
func (w *rewriting) countGained(was index.Resolution, target string) {
	if was.ID == "" && w.resolveAfter.From(w.note, target).ID != "" {
		w.gained++
	}
}

// references rewrites wikilinks and Markdown links to notes.
func (w *rewriting) references() {
	for i, ref := range w.doc.References {
		base, _, _ := strings.Cut(ref.Target, "#")
		// Links to files are rewritten by files, and references in replaced values by values.
		if markdown.IsFileName(base) || w.isEdited(ref.Span) {
			continue
		}
		if !w.enterPassage(ref.Line) {
			continue
		}
		was := w.resolveBefore.From(w.from, ref.Target)
		w.countGained(was, ref.Target)
		if was.ID == "" || !w.rewrites(ref.Line, ref.Target, was) && !w.losesPath(ref, was) {
			continue
		}
		at := ref.Written
		spelled, target, ok := w.newSpelling(ref, was)
		// Respell turns a Markdown link into double brackets, so it replaces the whole link.
		if w.selects != nil && w.isMarkdown(ref) {
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

// scopeOf returns the object that contains a reference; the note, if the index does not have the
// reference. It is only for reports.
func (w *rewriting) scopeOf(ref markdown.Reference) index.Object {
	for i := range w.note.Refs {
		if r := &w.note.Refs[i]; !r.Bare && r.Line() == ref.Line && r.Target == ref.Target {
			return w.note.Object(r.Scope())
		}
	}
	return w.note.Object(-1)
}

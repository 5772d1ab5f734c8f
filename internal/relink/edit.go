package relink

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// An edit replaces the target of one reference in a text.
type edit struct {
	at     markdown.Span
	with   string
	line   int
	source index.Object // object that contains the reference
	field  string       // field that contains the reference; empty in the text

	// holds reports whether a parsed text has the intended target at the place of the edit.
	holds func(*markdown.Doc) bool
	// alternative makes the edit in another way, if the result of replacing the span does not parse as
	// intended; nil if there is none.
	alternative func(text []byte) ([]byte, error)
}

// apply returns the text with the edits. Their spans must not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.SortedFunc(slices.Values(edits), func(a, b edit) int {
		return cmp.Compare(a.at.Start, b.at.Start)
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.at.Start])
		out.WriteString(e.with)
		at = e.at.End
	}
	out.Write(text[at:])
	return out.Bytes()
}

// parsed returns a text with edits in parsed form; nil if it does not parse as all edits intend, with
// the same number of headings and as valid as before. An edit that changed anything else in the
// structure of the note is thus refused.
func (w *rewriting) parsed(text []byte, edits []edit) *markdown.Doc {
	d := w.doc.Reparse(text)
	if (d.Problem == nil) != (w.doc.Problem == nil) || len(d.Headings) != len(w.doc.Headings) {
		return nil
	}
	for _, e := range edits {
		if !e.holds(d) {
			return nil
		}
	}
	return d
}

// holds reports whether a text parses as all edits intend; see parsed.
func (w *rewriting) holds(text []byte, edits []edit) bool { return w.parsed(text, edits) != nil }

// maxTried is the largest number of edits of a note that are tried one by one if they cannot be
// made together.
const maxTried = 200

// result makes the edits. Those that would not parse as intended are not made, and their lines are
// reported in Unwritable.
func (w *rewriting) result() Result {
	done, text := w.edits, apply(w.text, w.edits)
	var parsed *index.Parsed
	if len(done) > 0 {
		if d := w.parsed(text, done); d != nil {
			parsed = index.NewParsed(w.note.Path, text, d, w.note)
		} else {
			done, text = w.oneByOne()
		}
	}
	slices.Sort(w.unwritable)
	return Result{
		Text: text, Parsed: parsed, Count: len(done) + w.freed, Sources: sourcesOf(done),
		Unwritable: w.unwritable, Gained: w.gained, Nodes: w.note.NodeIDs(),
	}
}

// oneByOne makes the edits that parse as intended, from the end of the text to its beginning. It
// returns these edits and the new text. It parses the text once for each edit, so it tries at most
// maxTried of them and reports the others as not writable.
func (w *rewriting) oneByOne() (done []edit, text []byte) {
	text = w.text
	all := slices.SortedFunc(slices.Values(w.edits), func(a, b edit) int {
		return cmp.Compare(b.at.Start, a.at.Start)
	})
	var later []edit
	// Edits at the end come first, so that the spans of the others stay valid.
	for i, e := range all {
		if i >= maxTried {
			w.unwritable = append(w.unwritable, e.line)
			continue
		}
		if one := apply(text, []edit{e}); w.holds(one, append(done, e)) {
			text, done = one, append(done, e)
		} else {
			later = append(later, e)
		}
	}
	// The other way of an edit can move text, so these come after all edits by span.
	for _, e := range later {
		text, done = w.applyAlternative(e, text, done)
	}
	return done, text
}

// applyAlternative makes an edit in its other way. If it has none, or that does not parse as intended, its
// line is reported.
func (w *rewriting) applyAlternative(e edit, text []byte, done []edit) ([]byte, []edit) {
	if e.alternative != nil {
		if one, err := e.alternative(text); err == nil && w.holds(one, append(done, e)) {
			return one, append(done, e)
		}
	}
	w.unwritable = append(w.unwritable, e.line)
	return text, done
}

// sourcesOf returns the objects that contain edits, in the order of their first edits. The fields
// of each are sorted and without duplicates.
func sourcesOf(edits []edit) []Source {
	var all []Source
	at := map[string]int{}
	for _, e := range edits {
		id := e.source.ID()
		i, ok := at[id]
		if !ok {
			i = len(all)
			at[id], all = i, append(all, Source{ID: id, File: e.source.Note.Path})
		}
		if e.field != "" && !slices.Contains(all[i].Fields, e.field) {
			all[i].Fields = append(all[i].Fields, e.field)
		}
	}
	for i := range all {
		slices.Sort(all[i].Fields)
	}
	return all
}

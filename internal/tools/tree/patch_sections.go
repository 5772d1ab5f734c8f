package tree

import (
	"bytes"
	"context"
	"slices"
	"sort"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A sectionPatch is a patch of one section of a note. It must not set the content of the section.
type sectionPatch struct {
	node   tree.Node
	retype string // the type that the section gets first; empty: unchanged
	patch  patch

	span   markdown.Span  // of the section without the sections below it, in the text of the note
	text   []byte         // the new text of the span
	faults []*fault.Fault // of the properties that cannot be set
}

// patchSections returns the text of a note with patches of its sections, in the order of the note.
// It patches each section in a text of its own, so the time is linear in the length of the note,
// whatever the number of patches. If the patches together would change other sections, it returns
// the first one that does in broken, and no text.
func patchSections(
	ctx context.Context, t *tree.Tree, text []byte, all []*sectionPatch,
) (out []byte, broken *sectionPatch, err error) {
	d := markdown.Parse(text)
	pieces := piecesOf(d, len(text))
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if n := s.node.Section; n >= len(pieces) || pieces[n].line == 0 {
			return nil, s, nil // the text is too large to be parsed completely
		}
		s.apply(t, text, pieces[s.node.Section])
	}
	out = spliced(text, all)
	if sameSections(d, markdown.Parse(out), all) {
		return out, nil, nil
	}
	first := sort.Search(len(all), func(i int) bool {
		some := all[:i+1]
		return ctx.Err() == nil && !sameSections(d, markdown.Parse(spliced(text, some)), some)
	})
	return nil, all[min(first, len(all)-1)], ctx.Err()
}

// A piece is the place of a section in the text of its note.
type piece struct {
	own  markdown.Span // the heading and the text of the section, without the sections below it
	next markdown.Span // the heading after it; empty at the end of the note
	line int           // of its heading
}

// piecesOf returns the places of the sections that are nodes, by their positions from 1. size is
// the length of the text.
func piecesOf(d *markdown.Doc, size int) []piece {
	all, last, position := make([]piece, len(d.Headings)+1), 0, 0
	for _, h := range d.Headings {
		if h.Title {
			continue
		}
		if position++; !tree.IsTop(h) {
			continue
		}
		start := max(h.Own.Start, d.Body) // a byte order mark stays
		if last > 0 {
			all[last].own.End = start
			all[last].next = markdown.Span{Start: start, End: min(h.Content, size)}
		}
		all[position], last = piece{own: markdown.Span{Start: start, End: size}, line: h.Line}, position
	}
	return all
}

// alone returns the section as the first one of a text. The paragraph before it keeps its heading
// from being a title; the heading after it shows whether a patch leaves a block open.
func (p piece) alone(text []byte) (before, section, after []byte) {
	eol := lineBreak(text)
	return []byte("x" + eol + eol), text[p.own.Start:p.own.End], text[p.next.Start:p.next.End]
}

// linesBefore is the number of lines of the first part of piece.alone.
const linesBefore = 2

// apply sets the properties in the section's own text, and sets span, text and faults. If the patch
// would change the lines around the section, the text stays as it is and that is a fault.
func (s *sectionPatch) apply(t *tree.Tree, text []byte, at piece) {
	before, section, after := at.alone(text)
	s.span, s.text = at.own, section
	whole := slices.Concat(before, section, after)
	now := whole
	if s.retype != "" {
		typed, err := setType(1, now, s.retype)
		if err != nil {
			s.faults = append(s.faults, at.placed(fault.Of(err)))
			return
		}
		now = typed
	}
	s.patch.alone = true
	done := s.patch.apply(t, s.node, now)
	for _, f := range done.failed {
		s.faults = append(s.faults, at.placed(f))
	}
	if now = done.text; bytes.HasPrefix(now, before) && bytes.HasSuffix(now[len(before):], after) {
		s.text = now[len(before) : len(now)-len(after)]
		return
	}
	s.faults = append(s.faults, invalidParameter("malformed_markdown", "the text would change the structure around it"))
}

// placed returns a fault with its line in the note.
func (p piece) placed(f *fault.Fault) *fault.Fault {
	if line, ok := f.Details["line"].(int); ok {
		return f.With("line", line-linesBefore-1+p.line)
	}
	return f
}

// spliced returns the text of a note with patched sections, in the order of the note.
func spliced(text []byte, all []*sectionPatch) []byte {
	out, at := make([]byte, 0, len(text)+len(text)/8), 0
	for _, s := range all {
		out = append(append(out, text[at:s.span.Start]...), s.text...)
		at = s.span.End
	}
	return append(out, text[at:]...)
}

// sameSections reports whether a note has the same sections as before. Patched ones can have
// another title and another declaration. The last section can have more headings that are not
// nodes. This is checked for the whole note in addition to each section, because patches together
// can have an effect that none of them has alone.
func sameSections(was, now *markdown.Doc, patched []*sectionPatch) bool {
	if len(now.Headings) < len(was.Headings) || was.Body != now.Body {
		return false
	}
	differs := map[int]bool{}
	for _, s := range patched {
		differs[s.node.Section] = true
	}
	position := 0
	for i, h := range was.Headings {
		o := now.Headings[i]
		if !h.Title {
			position++
		}
		if h.Level != o.Level || h.Title != o.Title || h.Top != o.Top {
			return false
		}
		if !differs[position] && (h.Text != o.Text || (h.Declaration == nil) != (o.Declaration == nil)) {
			return false
		}
	}
	return !slices.ContainsFunc(now.Headings[len(was.Headings):], tree.IsTop)
}

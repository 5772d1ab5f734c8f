package search

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A passage is the part of a note that a hit shows.
type passage struct {
	text []byte
	unit Passage
}

// passage returns the best unit of a note. Frontmatter is shown only where no unit of the body says as
// much about the query, and then only the field that does.
func (s *searcher) passage(m *marker, f scored, text []byte) passage {
	l := &s.x.layers[f.layer]
	fields, body := markdown.ReadHead(text)
	if int(l.slots[f.slot].start) >= body {
		return l.passage(f.slot, text)
	}
	head := text[:body]
	best, most := f.slot, m.worthOf(head)
	found := most > 0
	for slot := l.docs[f.doc].head + 1; slot < l.end(f.doc); slot++ {
		part := l.slots[slot].of(text)
		if int(l.slots[slot].start) < body || !s.holdsAsMuch(part, head) {
			continue
		}
		worth := m.worthOf(part)
		if worth > most || worth == most && best == f.slot {
			best, most, found = slot, worth, false
		}
	}
	if found && fields != nil {
		return m.field(text, fields)
	}
	return l.passage(best, text)
}

// passage returns a unit as it is.
func (l *liveSegment) passage(slot uint32, text []byte) passage {
	u := l.slots[slot].span
	return passage{u.of(text), Passage{int(u.line), l.heading(slot)}}
}

// holdsAsMuch reports whether a part of a text has the required phrases that the frontmatter has.
func (s *searcher) holdsAsMuch(part, head []byte) bool {
	scan := s.x.analyzer.scanner()
	for _, r := range s.must {
		if r.phrase != nil && scan.holds(head, r.phrase) && !scan.holds(part, r.phrase) {
			return false
		}
	}
	return true
}

// field returns the field of the frontmatter that says most about the query.
func (m *marker) field(text []byte, fields *markdown.Frontmatter) passage {
	best := fields.Inner
	most := 0.0
	for _, e := range fields.Entries {
		if worth := m.worthOf(text[e.Lines.Start:e.Lines.End]); worth > most {
			best, most = e.Lines, worth
		}
	}
	line := 1 + bytes.Count(text[:best.Start], []byte{'\n'})
	return passage{text[best.Start:best.End], Passage{LineStart: line}}
}

// worthOf returns how much a text says about the query: the worth of its best snippet.
func (m *marker) worthOf(text []byte) float64 {
	if m.empty {
		return 0
	}
	_, _, worth := m.window(m.marks(text))
	return worth
}

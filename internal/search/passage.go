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

// passage returns the best passage of a note. It returns a field of the frontmatter only if no
// passage of the body that matches as well is worth as much, and then the field that is worth
// most.
func (s *searcher) passage(m *marker, f scored, text []byte) passage {
	l := &s.x.layers[f.layer]
	fields, body := markdown.ReadHead(text)
	// The best passage is in the body already.
	if int(l.slots[f.slot].start) >= body {
		return l.passage(f.slot, text)
	}
	head := text[:body]
	best, most := f.slot, m.worthOf(head)
	found := most > 0
	for slot := l.docs[f.doc].head + 1; slot < l.end(f.doc); slot++ {
		part := l.slots[slot].of(text)
		if int(l.slots[slot].start) < body || !s.containsPhrasesOf(part, head) {
			continue
		}
		worth := m.worthOf(part)
		// A passage of the body with the same worth is preferred to the frontmatter.
		if worth > most || worth == most && best == f.slot {
			best, most, found = slot, worth, false
		}
	}
	if found && fields != nil {
		return m.field(text, fields)
	}
	return l.passage(best, text)
}

// passage returns the passage of a slot.
func (l *liveSegment) passage(slot uint32, text []byte) passage {
	u := l.slots[slot].span
	return passage{u.of(text), Passage{int(u.line), l.heading(slot)}}
}

// containsPhrasesOf reports whether part contains every required phrase that the frontmatter contains.
func (s *searcher) containsPhrasesOf(part, head []byte) bool {
	scan := s.x.analyzer.scanner()
	for _, r := range s.must {
		if r.phrase != nil && scan.contains(head, r.phrase) && !scan.contains(part, r.phrase) {
			return false
		}
	}
	return true
}

// field returns the field of the frontmatter that is worth most for the query.
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

// worthOf returns the worth of a text for the query, which is that of its best window; see
// window.
func (m *marker) worthOf(text []byte) float64 {
	if m.empty {
		return 0
	}
	_, _, worth := m.window(m.marks(text))
	return worth
}

package search

import "fmt"

// A Part is one of the things that a text must have which has all that a query says: a word in any of its
// forms, words that begin so, or a phrase. It belongs to one index.
type Part struct {
	Not bool // a text must not have it

	want *requirement
}

// A UnitAt is a unit of a note, by the line in which it begins.
type UnitAt struct {
	Doc  string
	Line int
}

// Parts returns what a text must have that has all of a query, each by itself. Words that are not in the
// index stay as they are: none is guessed.
func (x *Index) Parts(q Query) []Part {
	p := &planner{x: x, scan: x.analyzer.scanner(), seen: map[string]bool{}}
	var all []Part
	for _, c := range q.Clauses[:min(len(q.Clauses), mostWords)] {
		for _, r := range p.partsOf(c) {
			if len(r.parts) > 0 {
				all = append(all, Part{c.Not, r})
			}
		}
	}
	return all
}

// partsOf are the requirements of a clause: one, or of a plain text one for each of its words.
func (p *planner) partsOf(c Clause) []*requirement {
	if c.Kind == Phrase {
		return []*requirement{p.phrase(c.Text)}
	}
	if forms := p.prefixForms(c.Text); c.Kind == Prefix && forms != nil {
		return []*requirement{{parts: [][]form{forms}}}
	}
	var all []*requirement
	for run := range p.scan.runs([]byte(c.Text)) {
		r := &requirement{}
		r.add(run)
		r.phrase = nil
		for i := range r.parts {
			r.parts[i] = p.anyForm(r.parts[i])
		}
		all = append(all, r)
	}
	return all
}

// anyForm adds to a word as it is written the other forms that stand for it.
func (p *planner) anyForm(forms []form) []form {
	asIs := forms[0].term
	if len(asIs) == 0 || asIs[:1] != asWritten {
		return forms
	}
	word := asIs[len(asWritten):]
	if p.x.analyzer.stops[word] {
		return append(forms, p.x.analyzer.bareForms(word)...)
	}
	return append(forms, p.x.analyzer.wordForms(word)...)
}

// UnitsWith returns the units of the notes' texts that have a part. Names that are not in a text do not
// count. text reads the text of a note: a phrase must be in it word by word.
func (x *Index) UnitsWith(p Part, text func(doc string) ([]byte, error)) ([]UnitAt, error) {
	var all []UnitAt
	for i := range x.layers {
		l := &x.layers[i]
		r := reader{scan: x.analyzer.scanner(), liveSegment: l, textOf: text}
		last := -1
		for _, slot := range l.slotsWith(p.want.parts) {
			doc := int(l.docOf[slot])
			if l.slots[slot].isHead() {
				continue
			}
			if doc != last {
				last, r.read, r.text = doc, false, nil
			}
			if p.want.phrase != nil && !r.holds(&scored{path: l.path(doc)}, slot, p.want.phrase) {
				if r.err != nil {
					return nil, fmt.Errorf("read the text of a note found: %w", r.err)
				}
				continue
			}
			all = append(all, UnitAt{l.path(doc), int(l.slots[slot].line)})
		}
	}
	return all, nil
}

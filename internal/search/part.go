package search

import "fmt"

// A Part is one requirement of a query, which a text can meet on its own: a word in any of its
// forms, a prefix, or a phrase. It can be used only with the index that returned it.
type Part struct {
	Not bool // a matching text must not have it

	requirement *requirement
}

// A UnitPosition identifies a passage of a note by the line in which it begins, from 1.
type UnitPosition struct {
	Doc  string
	Line int
}

// Parts returns the requirements of a query. The spelling of words that are not in the index is
// not corrected. Clauses without searchable characters have no part.
//
// A caller can combine the passages of several parts, for example to find the notes that have all
// words of a query in one section.
func (x *Index) Parts(q Query) []Part {
	p := &planner{x: x, scan: x.analyzer.scanner(), seen: map[string]bool{}}
	var all []Part
	for _, c := range q.Clauses[:min(len(q.Clauses), maxWords)] {
		for _, r := range p.partsOf(c) {
			if len(r.parts) > 0 {
				all = append(all, Part{c.Not, r})
			}
		}
	}
	return all
}

// partsOf returns the requirements of a clause: one for each word of plain text, else one.
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
		// A run of plain text can match in any form, so its text is not verified.
		r.phrase = nil
		for i := range r.parts {
			r.parts[i] = p.anyForm(r.parts[i])
		}
		all = append(all, r)
	}
	return all
}

// anyForm appends to the forms of a word as written those of its other forms. It returns forms
// unchanged if the first one is not a word as written.
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

// UnitsWith returns the passages that have a part, ignoring Part.Not. Matches in the names of a
// note do not count. text returns the text of a note, which is read to verify a phrase. The only
// errors are those of text.
func (x *Index) UnitsWith(p Part, text func(doc string) ([]byte, error)) ([]UnitPosition, error) {
	var all []UnitPosition
	for i := range x.layers {
		l := &x.layers[i]
		r := reader{scan: x.analyzer.scanner(), liveSegment: l, textOf: text}
		last := -1
		for _, slot := range l.slotsWith(p.requirement.parts) {
			doc := int(l.docOf[slot])
			if l.slots[slot].isHead() {
				continue
			}
			if doc != last {
				// The reader keeps the text of one note.
				last, r.read, r.text = doc, false, nil
			}
			if p.requirement.phrase != nil && !r.contains(&scored{path: l.path(doc)}, slot, p.requirement.phrase) {
				if r.err != nil {
					return nil, fmt.Errorf("read the text of a note found: %w", r.err)
				}
				continue
			}
			all = append(all, UnitPosition{l.path(doc), int(l.slots[slot].line)})
		}
	}
	return all, nil
}

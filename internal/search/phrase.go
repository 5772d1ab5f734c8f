package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// A requirement is a condition of a query that a note must meet, or must not.
type requirement struct {
	parts  [][]form   // one form of each part must be in the same slot
	phrase []atom     // the text of that slot must contain it; nil: the parts suffice
	lists  [][]uint32 // by layer: the slots with all parts
	marks  []uint64   // of the phrase; see phraseFilter
}

// maxParts is the maximum number of terms of a phrase that are looked up. The text is checked
// for all of them.
const maxParts = 64

// phrase returns the requirement of a phrase.
func (p *planner) phrase(text string) *requirement {
	r := &requirement{}
	for run := range p.scan.runs([]byte(text)) {
		r.add(run)
	}
	if len(r.phrase) == 1 && len(r.parts) == 1 {
		r.phrase = nil // one posting is sufficient
	}
	r.parts = r.parts[:min(maxParts, len(r.parts))]
	r.marks = p.filter.phrase(r.phrase)
	return r
}

// appendSearchable appends a requirement to a list, unless it has no searchable characters. Its slots are
// looked up by lookUp.
func appendSearchable(list *[]*requirement, r *requirement) {
	if len(r.parts) > 0 {
		*list = append(*list, r)
	}
}

// lookUp looks up the slots of requirements. The postings of most words were read for their concepts
// already, and are not decoded again.
func (p *planner) lookUp(list []*requirement) {
	for _, r := range list {
		r.lists = make([][]uint32, len(p.x.layers))
		for i := range p.x.layers {
			l := &p.x.layers[i]
			r.lists[i] = slotsWith(r.parts, func(forms []form) []uint32 {
				if c := p.gathered(forms); c != nil {
					return slotsIn(c.lists[i])
				}
				return l.slotsOf(forms)
			})
		}
	}
}

// gathered returns the concept of the query that has the given forms, if they are a single term and
// its postings were read; else nil.
func (p *planner) gathered(forms []form) *concept {
	if len(forms) != 1 {
		return nil
	}
	for _, c := range p.concepts {
		if !c.late && len(c.forms) == 1 && c.forms[0].term == forms[0].term && c.forms[0].prefix == forms[0].prefix {
			return c
		}
	}
	return nil
}

// slotsIn returns the slots of a list.
func slotsIn(list []weighted) []uint32 {
	slots := make([]uint32, len(list))
	for i, w := range list {
		slots[i] = w.slot
	}
	return slots
}

// add appends the atoms of a run, and the terms of a slot that contains them.
func (r *requirement) add(run *run) {
	for i, a := range run.atoms {
		a.text = bytes.Clone(a.text)
		r.phrase = characters(r.phrase, a)
		switch {
		case a.spaceless:
			for _, term := range queryGrams(a.text) {
				r.parts = append(r.parts, []form{{term: term, weight: 1}})
			}
		case run.whole == nil:
			r.parts = append(r.parts, []form{writtenForm(a.text)})
		case i == 0: // one word of the phrase can be two in the text, and two can be one
			r.parts = append(r.parts, []form{writtenForm(a.text), writtenForm(run.whole)})
		}
	}
}

// writtenForm returns the form of a word as written.
func writtenForm(word []byte) form { return form{term: asWritten + shorten(string(word)), weight: 1} }

// exclude adds the exclusion of a clause. A single word excludes all its forms, like a word that
// is searched for; several words joined by punctuation exclude a phrase.
func (p *planner) exclude(c Clause) {
	r := p.phrase(c.Text)
	var forms []form
	switch {
	case c.Kind == Prefix:
		forms = p.prefixForms(c.Text)
	case len(r.parts) == 1 && r.phrase == nil:
		forms = p.excludedForms(r.parts[0][0], c.Kind)
	}
	if forms == nil {
		appendSearchable(&p.mustNot, r)
		return
	}
	p.excluded = append(p.excluded, forms...)
}

// excludedForms returns the forms that a word excludes, given its form as written. A stop word,
// or a word in quotes, excludes only that form.
func (p *planner) excludedForms(asIs form, k Kind) []form {
	word, ok := strings.CutPrefix(asIs.term, asWritten)
	if !ok || k == Phrase || p.x.analyzer.stops[word] {
		return []form{asIs}
	}
	return append(p.x.analyzer.wordForms(word), asIs)
}

// slotsWith returns the slots of a layer that have one form of each part, sorted. slotsOf returns a
// new list of those that have any of some forms.
func slotsWith(parts [][]form, slotsOf func([]form) []uint32) []uint32 {
	slots := slotsOf(parts[0])
	for _, forms := range parts[1:] {
		if len(slots) == 0 {
			return nil
		}
		slots = common(slots, slotsOf(forms))
	}
	return slots
}

// slotsOf returns the slots that have any of the forms, sorted, without those of deleted
// documents.
func (l *liveSegment) slotsOf(forms []form) []uint32 {
	var slots []uint32
	terms := 0
	for _, f := range forms {
		first, end := l.termsOf(f)
		for term := first; term < end; term++ {
			for r := l.list(term); l.read(&r); {
				slots = append(slots, r.slot)
			}
			terms++
		}
	}
	if terms > 1 {
		slices.Sort(slots)
		slots = slices.Compact(slots)
	}
	return slots
}

// common returns the slots that are in both lists, which must be sorted. It changes list.
func common(list, other []uint32) []uint32 {
	// Both lists are read once, from the start to the end.
	return slices.DeleteFunc(list, func(slot uint32) bool {
		for len(other) > 0 && other[0] < slot {
			other = other[1:]
		}
		return len(other) == 0 || other[0] != slot
	})
}

// narrow removes the slots that certainly do not contain the phrase. It returns an error of
// Options.Canceled.
func (r *requirement) narrow(s *searcher, scan *scanner) error {
	for i, list := range r.lists {
		kept := list[:0]
		for at, slot := range list {
			if err := s.canceled(at + 1); err != nil {
				return err
			}
			if r.mayBeIn(&s.x.layers[i], slot, scan) {
				kept = append(kept, slot)
			}
		}
		r.lists[i] = kept
	}
	return nil
}

// mayBeIn reports whether a slot of a layer can contain the phrase. It uses paths and signatures, and
// reads no text.
func (r *requirement) mayBeIn(l *liveSegment, slot uint32, scan *scanner) bool {
	if l.slots[slot].isHead() {
		return scan.contains([]byte(l.path(int(l.docOf[slot]))), r.phrase)
	}
	return mayContain(l.signature(slot), r.marks)
}

// within returns the slots from head up to end, of one document, that have all parts.
func (r *requirement) within(layer int, head, end uint32) []uint32 {
	// Slots of a note are adjacent.
	list := r.lists[layer]
	from, _ := slices.BinarySearch(list, head)
	to, _ := slices.BinarySearch(list, end)
	return list[from:to]
}

// containsBySplitting returns the same as holds. It splits the whole text into words.
func (s *scanner) containsBySplitting(text []byte, phrase []atom) bool {
	s.found, s.kept = s.found[:0], s.kept[:0]
	for r := range s.runs(text) {
		for _, a := range r.atoms {
			s.kept = append(s.kept, a.text...) // slices of a former array stay valid
			a.text = s.kept[len(s.kept)-len(a.text):]
			s.found = characters(s.found, a)
		}
	}
	for i := range s.found {
		if begins(s.found[i:], phrase) {
			return true
		}
	}
	return false
}

// characters appends an atom. A spaceless atom is divided into its characters, so that a phrase
// is found inside it.
func characters(list []atom, a atom) []atom {
	for a.spaceless {
		first := a
		_, n := utf8.DecodeRune(a.text)
		if n == len(a.text) {
			break
		}
		first.text, a.text = a.text[:n], a.text[n:]
		a.soft = false
		list = append(list, first)
	}
	return append(list, a)
}

// begins reports whether a text begins with a phrase. Neither must be empty.
func begins(text, phrase []atom) bool {
	t, p := text[0].text, phrase[0].text // what is left of the atoms that are compared
	text, phrase = text[1:], phrase[1:]
	for {
		// Compare the common length of the current atoms, and advance in both.
		n := min(len(t), len(p))
		if !bytes.Equal(t[:n], p[:n]) {
			return false
		}
		t, p = t[n:], p[n:]
		// The phrase must end where an atom of the text ends.
		if len(p) == 0 && len(phrase) == 0 {
			return len(t) == 0
		}
		// An atom ends on one side only. The next atom of that side must be soft, that is, a part
		// of the same identifier.
		if len(t) > 0 && !phrase[0].soft || len(p) > 0 && (len(text) == 0 || !text[0].soft) {
			return false
		}
		if len(p) == 0 {
			p, phrase = phrase[0].text, phrase[1:]
		}
		if len(t) == 0 {
			if len(text) == 0 {
				return false
			}
			t, text = text[0].text, text[1:]
		}
	}
}

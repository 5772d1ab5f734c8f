package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// A requirement is what a note must have, or must not.
type requirement struct {
	parts  [][]form // each in one of its forms, all in one slot
	phrase []atom   // what the text of that slot must hold; nil: the parts say all
	lists  [][]uint32
	marks  []uint64 // of the phrase
}

// mostParts is how many words of a phrase are looked up; the text says the rest.
const mostParts = 64

// phrase is the requirement of a phrase.
func (p *planner) phrase(text string) *requirement {
	r := &requirement{}
	for run := range p.scan.runs([]byte(text)) {
		r.add(run)
	}
	if len(r.phrase) == 1 && len(r.parts) == 1 {
		r.phrase = nil // one posting says it all
	}
	r.parts = r.parts[:min(mostParts, len(r.parts))]
	r.marks = p.signer.phrase(r.phrase)
	return r
}

// require adds a requirement to others, unless nothing can be searched of it.
func (p *planner) require(list *[]*requirement, r *requirement) {
	if len(r.parts) == 0 {
		return
	}
	r.lists = make([][]uint32, len(p.x.layers))
	for i := range p.x.layers {
		r.lists[i] = p.x.layers[i].slotsWith(r.parts)
	}
	*list = append(*list, r)
}

// add adds the atoms of a run, and the terms that a slot has which holds them.
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
			r.parts = append(r.parts, []form{written(a.text)})
		case i == 0: // what is one word here may be two in the text, and the other way round
			r.parts = append(r.parts, []form{written(a.text), written(run.whole)})
		}
	}
}

func written(word []byte) form { return form{term: asWritten + shorten(string(word)), weight: 1} }

// exclude adds what a clause with Not excludes. One word stands for all its forms, like a word that
// is looked for; several words that nothing but a sign parts are a phrase.
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
		p.require(&p.never, r)
		return
	}
	p.excluded = append(p.excluded, forms...)
}

// excludedForms are the forms of a word, given as it is written. A stop word and one in quotes have
// this one only.
func (p *planner) excludedForms(asIs form, k Kind) []form {
	word, ok := strings.CutPrefix(asIs.term, asWritten)
	if !ok || k == Phrase || p.x.analyzer.stops[word] {
		return []form{asIs}
	}
	return append(p.x.analyzer.wordForms(word), asIs)
}

// slotsWith are the slots of a layer that have one form of each part.
func (l *liveSegment) slotsWith(parts [][]form) []uint32 {
	slots := l.slotsOf(parts[0])
	for _, forms := range parts[1:] {
		if len(slots) == 0 {
			return nil
		}
		slots = common(slots, l.slotsOf(forms))
	}
	return slots
}

// slotsOf are the slots that have one of some forms, in notes that are there.
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

// common keeps of one list what is in the other as well. Both are sorted.
func common(list, other []uint32) []uint32 {
	return slices.DeleteFunc(list, func(slot uint32) bool {
		for len(other) > 0 && other[0] < slot {
			other = other[1:]
		}
		return len(other) == 0 || other[0] != slot
	})
}

// narrow leaves out the slots of which it is certain, without their texts, that they do not hold the
// phrase.
func (r *requirement) narrow(x *Index, scan *scanner) {
	for i, list := range r.lists {
		l := &x.layers[i]
		r.lists[i] = slices.DeleteFunc(list, func(slot uint32) bool {
			if l.slots[slot].isHead() {
				return !scan.holds([]byte(l.path(int(l.docOf[slot]))), r.phrase)
			}
			return !mayHold(l.signature(slot), r.marks)
		})
	}
}

// within are the slots of a note that have all parts.
func (r *requirement) within(layer int, head, end uint32) []uint32 {
	list := r.lists[layer]
	from, _ := slices.BinarySearch(list, head)
	to, _ := slices.BinarySearch(list, end)
	return list[from:to]
}

// cutHolds is holds for a text that is cut into words as a whole.
func (s *scanner) cutHolds(text []byte, phrase []atom) bool {
	s.found, s.kept = s.found[:0], s.kept[:0]
	for r := range s.runs(text) {
		for _, a := range r.atoms {
			s.kept = append(s.kept, a.text...) // when it grows, slices of the old one stay good
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

// characters appends an atom, parted into its characters if it is spaceless: so a phrase is found
// inside it.
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

// begins reports whether a text begins with a phrase. Both have atoms.
func begins(text, phrase []atom) bool {
	t, p := text[0].text, phrase[0].text // what is left of the atoms that are compared
	text, phrase = text[1:], phrase[1:]
	for {
		n := min(len(t), len(p))
		if !bytes.Equal(t[:n], p[:n]) {
			return false
		}
		t, p = t[n:], p[n:]
		if len(p) == 0 && len(phrase) == 0 {
			return len(t) == 0
		}
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

package search

import (
	"encoding/binary"
	"hash/fnv"
	"strings"
	"time"
)

// MemoryFields are what is searched of a memory beside its text, and what it is near to.
type MemoryFields struct {
	Name    string   // the text by which it is asked for as it is: a query that is this text finds it first
	Facts   []string // what was learnt
	Author  string
	Persons []Person // whose memory it is

	// Merit is from 0 to 1. Of memories with equal scores those with more merit come first, and of these the newer ones.
	// It decides which of very many equal ones are scored in full; the order of results is that of Options.Tie.
	Merit float64

	// Record says that the text has what was intended and what came of it. The confidence in a record comes from another
	// evaluation than that in a turn of a conversation, which is one text.
	Record bool

	// Thread names the sequence that it is part of; empty: none. Memories of a thread follow each other by their
	// Date, of equal ones by Seq.
	Thread string
	Date   time.Time
	Seq    uint64
}

// memory adds what is searched of a memory, whose head is there.
func (b *builder) memory(head int, n *Note) {
	m := n.Memory
	if m == nil {
		m = &MemoryFields{}
	}
	author := b.text(fieldAuthor, m.Author)
	for _, words := range n.Also {
		b.text(fieldNamed, words)
	}
	b.seg.slots[head].lengths = [2]uint32{author, b.text(fieldDate, dateWords(m.Date))}
	for _, term := range personTerms(b.scanner, m.Persons) {
		b.count(fieldAuthor, b.id([]byte(term)))
	}
	if term := nameTerm(b.scanner, m.Name); term != "" {
		b.count(fieldNamed, b.id([]byte(term)))
	}
	at := b.slot(slot{span: span{end: uint32(len(n.Text)), line: 1}, heading: b.writer.under("")})
	text := b.signed(n.Text)
	facts := uint32(0)
	for _, fact := range m.Facts {
		facts += b.text(fieldFacts, fact)
	}
	b.seg.slots[at].lengths = [2]uint32{text, facts}
	b.seg.members = append(b.seg.members, newMember(m))
}

// signed counts the terms of a text for the first field of a unit, and signs it.
func (b *builder) signed(text []byte) (words uint32) {
	for r := range b.scanner.runs(text) {
		words += b.run(fieldText, r)
		for _, a := range r.atoms {
			b.signer.add(a)
		}
	}
	b.writer.signatures = b.signer.appendSignature(b.writer.signatures)
	b.writer.sign()
	return words
}

// dateWords are the words by which a date is asked for, such as 8 May 2023 Monday.
func dateWords(date time.Time) string {
	if date.IsZero() {
		return ""
	}
	return date.UTC().Format("2 January 2006 Monday")
}

// named are the memories that have some words as their name.
func (x *Index) named(words []string) map[ref]bool {
	all := map[ref]bool{}
	term := digestTerm(words)
	if term == "" || !x.profile.isThreaded() {
		return all
	}
	for i := range x.layers {
		l := &x.layers[i]
		for _, slot := range l.slotsOf([]form{{term: term}}) {
			all[ref{int32(i), int32(l.docOf[slot])}] = true
		}
	}
	return all
}

// namedBy is before the digest of the words of a name, in the term that lists what has the name.
const namedBy = "#"

// nameTerm is the term of a name: of all its words, in their order; empty if it has none.
func nameTerm(scan *scanner, name string) string {
	return digestTerm(tokens(scan, name))
}

func digestTerm(words []string) string {
	words = words[:min(len(words), mostWords)]
	if len(words) == 0 {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(strings.Join(words, " ")))
	return namedBy + string(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}

// tokens are the words of a text in their order, without what parts them.
func tokens(scan *scanner, text string) []string {
	var words []string
	for r := range scan.runs([]byte(text)) {
		for _, a := range r.atoms {
			words = append(words, string(a.text))
		}
	}
	return words
}

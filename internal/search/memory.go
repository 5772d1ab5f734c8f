package search

import (
	"encoding/binary"
	"hash/fnv"
	"strings"
	"time"
)

// MemoryFields are the searched fields of a memory besides its text, and its position in a
// thread.
type MemoryFields struct {
	Name    string   // a query that is exactly this text finds the memory first
	Facts   []string // lessons of the work
	Author  string
	Persons []Person // the persons that it is by or about

	// Merit is from 0 to 1. If too many candidates have equal scores, those with more merit, and
	// then the newer ones, are scored in full. It does not order the results: Options.Tie does.
	Merit float64

	// Record says that the text consists of an intention and its outcome. The confidence in a
	// record comes from another evaluation than that in a turn of a conversation.
	Record bool

	// Thread names the sequence that the memory belongs to; empty: none. Memories of a thread are
	// ordered by Date, then by Seq.
	Thread string
	Date   time.Time
	Seq    uint64
}

// memory adds the searched fields of a memory. The slot of its head must have been added.
func (b *builder) memory(head int, n *Note) {
	m := n.Memory
	if m == nil {
		m = &MemoryFields{}
	}
	author := b.text(fieldAuthor, m.Author)
	for _, words := range n.Keywords {
		b.text(fieldName, words)
	}
	b.seg.slots[head].lengths = [2]uint32{author, b.text(fieldDate, dateWords(m.Date))}
	for _, term := range personTerms(b.scanner, m.Persons) {
		b.count(fieldAuthor, b.id([]byte(term)))
	}
	if term := nameTerm(b.scanner, m.Name); term != "" {
		b.count(fieldName, b.id([]byte(term)))
	}
	at := b.slot(slot{span: span{end: uint32(len(n.Text)), line: 1}, heading: b.writer.headingOffsets("")})
	text := b.signedText(n.Text)
	facts := uint32(0)
	for _, fact := range m.Facts {
		facts += b.text(fieldFacts, fact)
	}
	b.seg.slots[at].lengths = [2]uint32{text, facts}
	b.seg.members = append(b.seg.members, newMember(m))
}

// signedText counts the terms of the text of a passage and appends its signature. It returns the
// number of words.
func (b *builder) signedText(text []byte) (words uint32) {
	for r := range b.scanner.runs(text) {
		words += b.run(fieldText, r)
		for _, a := range r.atoms {
			b.filter.add(a)
		}
	}
	b.writer.sign(&b.filter)
	return words
}

// dateWords returns the words by which a date can be found, such as "8 May 2023 Monday", in UTC;
// "" for the zero time.
func dateWords(date time.Time) string {
	if date.IsZero() {
		return ""
	}
	return date.UTC().Format("2 January 2006 Monday")
}

// named returns the memories whose name consists of these words, in this order.
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

// namedBy is the prefix of the term of a name. The digest of the words of the name follows it.
const namedBy = "#"

// nameTerm returns the term of a name, which covers all its words in their order; "" if the name
// has no words.
//
// A digest of fixed length is used because names can be long texts.
func nameTerm(scan *scanner, name string) string {
	return digestTerm(tokens(scan, name))
}

// digestTerm returns the term of a name that consists of these words. Words after the first
// maxWords do not count.
func digestTerm(words []string) string {
	words = words[:min(len(words), maxWords)]
	if len(words) == 0 {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(strings.Join(words, " ")))
	return namedBy + string(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}

// tokens returns the words of a text in their order.
func tokens(scan *scanner, text string) []string {
	var words []string
	for r := range scan.runs([]byte(text)) {
		for _, a := range r.atoms {
			words = append(words, string(a.text))
		}
	}
	return words
}

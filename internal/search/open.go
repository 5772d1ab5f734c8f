package search

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"
)

// errDamaged is the error for an image that AppendImage cannot have written.
var errDamaged = errors.New("the image of a search index is damaged")

// ReadImage returns the index of an image. It uses data in place, so data must not be changed
// afterwards. It copies almost nothing if data begins at an address that is divisible by four and
// the machine is little-endian; otherwise it copies the lists of numbers. The error is ErrFormat
// if the image has another format or profile, or if its terms differ from those of this release.
// Whatever data contains, searching and changing the index that is returned never panics.
func ReadImage(data []byte) (*Index, error) {
	if len(data) < imageHeader {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, len(data))
	}
	// The reader begins after the magic. Its length is divisible by four, so the rest stays
	// aligned.
	c := coder{decodes: true, rest: data[len(imageMagic):]}
	if string(data[:len(imageMagic)]) != imageMagic {
		return nil, ErrFormat
	}
	var format, sum uint32
	if c.number(&format); format != ImageFormat {
		return nil, fmt.Errorf("%w: it has format %d", ErrFormat, format)
	}
	if c.number(&sum); sum != crc32.Checksum(c.rest, castagnoli()) { // of what follows the number
		return nil, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	x, err := c.index()
	if err == nil && len(c.rest) > 0 {
		err = c.damaged()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// index reads the part of an image after the checksum.
func (c *coder) index() (*Index, error) {
	var h header
	if c.header(&h); c.truncated {
		return nil, c.damaged()
	}
	profile, ok := profileOf(h.profile)
	if !ok {
		return nil, fmt.Errorf("%w: it is of profile %d", ErrFormat, h.profile)
	}
	// Another release can stem more or fewer languages.
	if Stems(h.language) != (h.stems == 1) {
		return nil, fmt.Errorf("%w: words of %q are not stemmed the same way", ErrFormat, h.language)
	}
	x := New(profile, strings.Clone(h.language)) // a copy: the analyzer can outlive the image
	for range h.layers {
		l, dead := liveSegment{segment: &segment{}}, []uint32{}
		c.layer(l.segment, &dead)
		l.dead = wholes(dead)
		if c.truncated || !l.complete() || !l.validThreads(profile.isThreaded()) {
			return nil, c.damaged()
		}
		x.layers = append(x.layers, l)
		x.totals.addLive(&l)
	}
	return x, nil
}

// damaged returns errDamaged with the position in the image.
func (c *coder) damaged() error {
	return fmt.Errorf("%w: its parts do not fit together, %d bytes before the end",
		errDamaged, len(c.rest))
}

// wholes returns the words of 64 bits for the output of halves.
func wholes(halves []uint32) []uint64 {
	var list []uint64
	for pair := range slices.Chunk(halves, 2) {
		w := uint64(pair[0])
		if len(pair) > 1 {
			w |= uint64(pair[1]) << 32
		}
		list = append(list, w)
	}
	return list
}

// addLive adds the sums of the documents of a layer that are not deleted.
func (t *totals) addLive(l *liveSegment) {
	for doc := range l.docs {
		if l.has(doc) {
			t.add(l.totals(doc), 1)
		}
	}
}

// complete computes the lists that an image omits. It reports whether the layer meets all
// conditions that other code relies on. It does not examine postings: a postingReader checks them
// while it reads.
//
// All checks are linear in the size of the layer. After them, offsets and numbers in the layer can
// be used without further checks.
func (l *liveSegment) complete() bool {
	return l.setDocOf() && l.sort() && l.validHeadings() && l.count() &&
		len(l.signatureEnds) == len(l.slots) && ascend(l.signatureEnds, len(l.signatures)) &&
		len(l.listEnds) == len(l.nameEnds) && ascend(l.listEnds, len(l.lists)) &&
		ascend(l.nameEnds, len(l.names)) && l.namesAscend()
}

// ascend reports whether ends are the end offsets of adjacent parts that cover a total of all
// bytes.
func ascend(ends []uint32, all int) bool {
	before := uint32(0)
	for _, end := range ends {
		if end < before {
			return false
		}
		before = end
	}
	return uint64(before) == uint64(all)
}

// setDocOf sets docOf. It reports whether each document consists of a head and at least one passage
// after it, up to the head of the next document, and has one of the passages as its lead.
func (s *segment) setDocOf() bool {
	s.docOf = make([]uint32, 0, len(s.slots))
	pathEnd := uint32(0)
	for i, d := range s.docs {
		end := s.end(i)
		fits := d.pathEnd >= pathEnd && uint64(d.head) == uint64(len(s.docOf)) &&
			d.head < d.lead && d.lead < end && uint64(end) <= uint64(len(s.slots))
		if !fits || !s.slots[d.head].isHead() {
			return false
		}
		for slot := d.head; slot < end; slot++ {
			if s.slots[slot].isHead() && slot > d.head {
				return false
			}
			s.docOf = append(s.docOf, uint32(i))
		}
		pathEnd = d.pathEnd
	}
	return len(s.docOf) == len(s.slots) && uint64(pathEnd) == uint64(len(s.paths))
}

// sort sets order. It reports whether byPath contains all documents sorted by path, without
// duplicates.
func (s *segment) sort() bool {
	if len(s.byPath) != len(s.docs) {
		return false
	}
	s.order = make([]uint32, len(s.docs))
	before := ""
	for i, doc := range s.byPath {
		if uint64(doc) >= uint64(len(s.docs)) {
			return false
		}
		path := s.path(int(doc))
		if i > 0 && path <= before {
			return false
		}
		s.order[doc], before = uint32(i), path
	}
	return true
}

// validThreads sets rank. It reports whether byThread contains exactly the documents that are in
// threads, in order. Without threads there must be no members.
func (s *segment) validThreads(isThreaded bool) bool {
	if !isThreaded {
		return len(s.members)+len(s.byThread) == 0
	}
	if len(s.members) != len(s.docs) {
		return false
	}
	inThreads := 0
	for i := range s.members {
		if s.members[i].inThread() {
			inThreads++
		}
	}
	for i, doc := range s.byThread {
		if uint64(doc) >= uint64(len(s.docs)) || !s.members[doc].inThread() ||
			i > 0 && s.compareMembers(s.byThread[i-1], doc) >= 0 {
			return false
		}
	}
	s.rankMembers()
	return inThreads == len(s.byThread)
}

// validHeadings reports whether the heading of each passage is that of the passage before, or
// directly after it in headings. So a merge, which writes the headings passage by passage, never
// needs more space than they have now.
func (s *segment) validHeadings() bool {
	last := [2]uint32{}
	for i := range s.slots {
		at := s.slots[i].heading
		switch {
		case s.slots[i].isHead() && at != [2]uint32{}:
			return false
		case s.slots[i].isHead() || at == last:
		case at[0] != last[1] || at[1] < at[0]:
			return false
		default:
			last = at
		}
	}
	return uint64(last[1]) == uint64(len(s.headings))
}

// count sets live. It reports whether the bit set of deleted documents has the right length.
func (l *liveSegment) count() bool {
	l.live = len(l.docs)
	if l.dead == nil {
		return true
	}
	if len(l.dead) != (len(l.docs)+63)/64 {
		return false
	}
	for _, w := range l.dead {
		l.live -= bits.OnesCount64(w)
	}
	// Bits after the last document must be 0, because they were counted.
	beyond := len(l.docs) % 64
	return beyond == 0 || l.dead[len(l.dead)-1]>>beyond == 0
}

// namesAscend reports whether the terms are sorted and unique.
func (s *segment) namesAscend() bool {
	for i := 1; i < s.terms(); i++ {
		if s.name(i-1) >= s.name(i) {
			return false
		}
	}
	return true
}

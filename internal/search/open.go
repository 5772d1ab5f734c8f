package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"
)

// errDamaged is the error of an image that is not as AppendImage made it.
var errDamaged = errors.New("the image of a search index is damaged")

// ReadImage opens an image in place: it keeps data, which must not be changed any more, and copies
// next to nothing of it if it begins at an address that four divides; else its lists of numbers. An
// image of another format, or with terms that this release would not make, is ErrFormat. Whatever
// the bytes say, to search and to change the index that they give never panics.
func ReadImage(data []byte) (*Index, error) {
	if len(data) < imageHeader {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, len(data))
	}
	r := imageReader{rest: data[len(imageMagic):]}
	if string(data[:len(imageMagic)]) != imageMagic {
		return nil, ErrFormat
	}
	if format := r.number(); format != ImageFormat {
		return nil, fmt.Errorf("%w: it has format %d", ErrFormat, format)
	}
	if r.number() != crc32.Checksum(r.rest, castagnoli()) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	x, err := r.index()
	if err == nil && len(r.rest) > 0 {
		err = r.damaged()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// An imageReader reads an image from its begin to its end. When it ends too soon, what is read is
// zero.
type imageReader struct {
	rest []byte
	torn bool // it ended too soon
}

// index reads what follows the header.
func (r *imageReader) index() (*Index, error) {
	number, language, stems, layers := r.number(), r.text(), r.number() == 1, r.number()
	if r.torn {
		return nil, r.damaged()
	}
	profile, ok := profileOf(number)
	if !ok {
		return nil, fmt.Errorf("%w: it is of profile %d", ErrFormat, number)
	}
	if Stems(language) != stems {
		return nil, fmt.Errorf("%w: words of %q are not stemmed the same way", ErrFormat, language)
	}
	x := New(profile, strings.Clone(language)) // it may outlive all else of the image
	for range layers {
		l := r.layer()
		if r.torn || !l.complete() || !l.threadsFit(profile.isThreaded()) {
			return nil, r.damaged()
		}
		x.layers = append(x.layers, l)
		x.totals.addLive(&l)
	}
	return x, nil
}

func (r *imageReader) damaged() error {
	return fmt.Errorf("%w: its parts do not fit together, %d bytes before the end",
		errDamaged, len(r.rest))
}

// layer reads the blocks of a layer.
func (r *imageReader) layer() liveSegment {
	s := &segment{}
	s.paths, s.docs, s.byPath = r.text(), readList[doc](r), readList[uint32](r)
	s.headings, s.slots = r.text(), readList[slot](r)
	s.signatures, s.signatureEnds = r.text(), readList[uint32](r)
	s.names, s.nameEnds = r.text(), readList[uint32](r)
	s.lists, s.listEnds = r.text(), readList[uint32](r)
	s.members, s.byThread = readList[member](r), readList[uint32](r)
	return liveSegment{segment: s, dead: wholes(readList[uint32](r))}
}

// take reads bytes, and those that fill them up.
func (r *imageReader) take(n uint64) []byte {
	whole := (n + 3) / 4 * 4
	if r.torn = r.torn || whole > uint64(len(r.rest)); r.torn {
		return nil
	}
	data := r.rest[:n]
	r.rest = r.rest[whole:]
	return data
}

func (r *imageReader) number() uint32 {
	data := r.take(4)
	if data == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(data)
}

// text reads a block of bytes.
func (r *imageReader) text() string { return inPlace(r.take(uint64(r.number()))) }

// readList reads a block of records.
func readList[R record](r *imageReader) []R {
	return records[R](r.take(uint64(r.number()) * uint64(sizeOf[R]())))
}

// wholes are the bits of which there are halves.
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

// addLive adds the notes of a layer that are there.
func (t *totals) addLive(l *liveSegment) {
	for doc := range l.docs {
		if l.has(doc) {
			t.add(l.totals(doc), 1)
		}
	}
}

// complete makes what an image leaves out, and reports whether all that other code relies on is
// true of the layer. Postings are not looked at: who reads them checks them.
func (l *liveSegment) complete() bool {
	return l.spread() && l.sort() && l.headingsFit() && l.count() &&
		len(l.signatureEnds) == len(l.slots) && ascend(l.signatureEnds, len(l.signatures)) &&
		len(l.listEnds) == len(l.nameEnds) && ascend(l.listEnds, len(l.lists)) &&
		ascend(l.nameEnds, len(l.names)) && l.namesAscend()
}

// ascend reports whether parts end one behind the other, the last at the end of all.
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

// spread says of each slot of which note it is. A note has a head, and units behind it up to the
// head of the next; one of them is its lead.
func (s *segment) spread() bool {
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

// sort numbers the notes by path. All have paths of their own.
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

// threadsFit numbers the things in threads, which are in the order of these, and reports whether they are all there.
func (s *segment) threadsFit(isThreaded bool) bool {
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

// headingsFit reports whether the heading of each unit is that of the one before, or lies behind it.
// So to write them anew, unit by unit, never takes more room than they have.
func (s *segment) headingsFit() bool {
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

// count counts the notes that are there.
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
	beyond := len(l.docs) % 64
	return beyond == 0 || l.dead[len(l.dead)-1]>>beyond == 0
}

// namesAscend reports whether the terms are sorted, and none is there twice.
func (s *segment) namesAscend() bool {
	for i := 1; i < s.terms(); i++ {
		if s.name(i-1) >= s.name(i) {
			return false
		}
	}
	return true
}

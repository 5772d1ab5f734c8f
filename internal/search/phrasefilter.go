package search

import "math/bits"

// A joint is the boundary between two adjacent atoms, or between two characters of a spaceless
// stretch. A phrase can be in a text only if each joint of the phrase is a joint of the text,
// with the same letters around it. So each passage has a signature of its joints, a Bloom filter,
// and of the notes with all words of a phrase only those are read that can have the words side by
// side.

// A markView is the number of letters before and after a joint that a mark covers. They can belong to
// several atoms, because one word in a phrase can be two words in the text.
type markView struct{ before, after int }

// A signature contains one mark for each joint and view. If a phrase has too few letters for some
// views, because it begins or ends with a short word, only the others are checked.
var (
	wordViews      = []markView{{3, 5}, {5, 3}, {1, 4}, {4, 1}, {2, 2}}
	characterViews = []markView{{1, 2}, {1, 2}, {2, 2}} // between characters such as Chinese ones
)

// bitsPerJoint is the size of a signature in bits for each joint. Each view sets one bit, so
// about one in 200 joints that are not in a text seems to be there.
const bitsPerJoint = 12

// A phraseFilter collects the joints of a text or a phrase. It must be used by one goroutine. The
// zero value is ready to use.
//
// Marks of a text are set as bits of its signature; a phrase can be in the text only if the bits of
// all its marks are set.
type phraseFilter struct {
	letters []rune
	joints  []int // positions in letters
}

// add appends the next atom of a text, with a joint before it.
func (s *phraseFilter) add(a atom) {
	s.joint()
	for i, r := range string(a.text) {
		if i > 0 && a.spaceless {
			s.joint()
		}
		s.letters = append(s.letters, r)
	}
}

// joint adds a joint after the last letter, unless there is no letter yet.
func (s *phraseFilter) joint() {
	if len(s.letters) > 0 {
		s.joints = append(s.joints, len(s.letters))
	}
}

// phrase returns the marks that are in the signature of every text that contains a phrase. It
// omits the joints inside identifiers, because the text can be without them.
func (s *phraseFilter) phrase(atoms []atom) []uint64 {
	s.reset()
	for _, a := range atoms {
		// Inside an identifier, the text can have the letters without a joint.
		if !a.soft {
			s.joint()
		}
		s.letters = append(s.letters, []rune(string(a.text))...)
	}
	var list []uint64
	s.marks(func(mark uint64) { list = append(list, mark) })
	return list
}

// reset prepares the phraseFilter for the next text.
func (s *phraseFilter) reset() { s.letters, s.joints = s.letters[:0], s.joints[:0] }

// marks calls f with a mark for each joint and view: a hash of the letters that the view covers.
func (s *phraseFilter) marks(f func(uint64)) {
	for _, at := range s.joints {
		views := wordViews
		if isWhole(s.letters[at-1]) && isWhole(s.letters[at]) {
			views = characterViews
		}
		for i, v := range views {
			// A view that reaches beyond the phrase would see other letters in the text.
			if at >= v.before && at+v.after <= len(s.letters) {
				f(mix(uint64(i+1), s.letters[at-v.before:at+v.after]))
			}
		}
	}
}

// mix returns a hash of some letters and a seed n.
func mix(n uint64, letters []rune) uint64 {
	for _, r := range letters {
		high, low := bits.Mul64(n^uint64(r), 0x9E3779B97F4A7C15)
		n = high ^ low
	}
	return n * 0xD6E8FEB86659FD93
}

// appendSignature appends the signature of the text that was added to to, and resets the
// phraseFilter.
func (s *phraseFilter) appendSignature(to []byte) []byte {
	size := (len(s.joints)*bitsPerJoint + 7) / 8
	to = append(to, make([]byte, size)...)
	own := to[len(to)-size:]
	s.marks(func(mark uint64) {
		bit := bitPosition(mark, size)
		own[bit/8] |= 1 << (bit % 8)
	})
	s.reset()
	return to
}

// bitPosition returns the position of the bit for a mark in a signature of size bytes.
func bitPosition(mark uint64, size int) uint64 {
	high, _ := bits.Mul64(mark, uint64(size)*8)
	return high
}

// mayContain reports whether a signature contains all marks, so that its text can contain the
// phrase.
func mayContain(signature string, marks []uint64) bool {
	for _, mark := range marks {
		if len(signature) == 0 {
			return false
		}
		bit := bitPosition(mark, len(signature))
		if signature[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

package search

import "math/bits"

// A joint is where one atom ends and the next one begins; between the characters of a spaceless
// stretch there is one too. A phrase stands only where each of its own joints is one of the text,
// with the same letters around it. So a unit keeps a signature of its joints, and of the notes that
// have all words of a phrase only those are read that may have them side by side.

// A view is how many letters around a joint are looked at. They may be of several atoms, for what is
// one word in a phrase may be two in the text.
type view struct{ before, behind int }

// A signature tells of each joint what all views show. Where a phrase has too few letters for some,
// because it begins or ends with a short word, the others tell.
var (
	wordViews      = []view{{3, 5}, {5, 3}, {1, 4}, {4, 1}, {2, 2}}
	characterViews = []view{{1, 2}, {1, 2}, {2, 2}} // between characters such as Chinese ones
)

// bitsPerJoint is the size of a signature. A joint sets one bit for each view: so one of 200 that
// the text does not have seems to be there.
const bitsPerJoint = 12

// A phraseFilter finds the joints of a text, or of a phrase. It is used by one goroutine.
type phraseFilter struct {
	letters []rune
	joints  []int // before which letters they are
}

// add adds the next atom of a text.
func (s *phraseFilter) add(a atom) {
	s.joint()
	for i, r := range string(a.text) {
		if i > 0 && a.spaceless {
			s.joint()
		}
		s.letters = append(s.letters, r)
	}
}

// joint adds a joint behind the letters that are there.
func (s *phraseFilter) joint() {
	if len(s.letters) > 0 {
		s.joints = append(s.joints, len(s.letters))
	}
}

// phrase are the marks that the signature of a text has which holds a phrase. Inside an identifier
// the text may have no joint.
func (s *phraseFilter) phrase(atoms []atom) []uint64 {
	s.reset()
	for _, a := range atoms {
		if !a.soft {
			s.joint()
		}
		s.letters = append(s.letters, []rune(string(a.text))...)
	}
	var list []uint64
	s.marks(func(mark uint64) { list = append(list, mark) })
	return list
}

// reset makes the phraseFilter ready for the next text.
func (s *phraseFilter) reset() { s.letters, s.joints = s.letters[:0], s.joints[:0] }

// marks calls a function with a number for what each view shows of each joint.
func (s *phraseFilter) marks(f func(uint64)) {
	for _, at := range s.joints {
		views := wordViews
		if isWhole(s.letters[at-1]) && isWhole(s.letters[at]) {
			views = characterViews
		}
		for i, v := range views {
			if at >= v.before && at+v.behind <= len(s.letters) {
				f(mix(uint64(i+1), s.letters[at-v.before:at+v.behind]))
			}
		}
	}
}

// mix is a number for some letters, in which each of them changes all bits.
func mix(n uint64, letters []rune) uint64 {
	for _, r := range letters {
		high, low := bits.Mul64(n^uint64(r), 0x9E3779B97F4A7C15)
		n = high ^ low
	}
	return n * 0xD6E8FEB86659FD93
}

// appendSignature appends the signature of the text that was added, and is ready for the next.
func (s *phraseFilter) appendSignature(to []byte) []byte {
	size := (len(s.joints)*bitsPerJoint + 7) / 8
	to = append(to, make([]byte, size)...)
	own := to[len(to)-size:]
	s.marks(func(mark uint64) {
		bit := place(mark, size)
		own[bit/8] |= 1 << (bit % 8)
	})
	s.reset()
	return to
}

// place is the bit of a mark in a signature of so many bytes.
func place(mark uint64, size int) uint64 {
	high, _ := bits.Mul64(mark, uint64(size)*8)
	return high
}

// mayHold reports whether a signature has all marks.
func mayHold(signature string, marks []uint64) bool {
	for _, mark := range marks {
		if len(signature) == 0 {
			return false
		}
		bit := place(mark, len(signature))
		if signature[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

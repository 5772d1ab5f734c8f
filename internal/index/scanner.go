package index

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A scanner reads what an imageWriter wrote. Once something is not as it must be, it has failed, and
// all that it reads is nothing.
type scanner struct {
	s      string // of the image
	at     int
	failed bool
}

func (s *scanner) fail() {
	s.failed = true
	s.at = len(s.s)
}

// uint reads a number.
func (s *scanner) uint() uint64 {
	var v uint64
	for shift := 0; s.at < len(s.s) && shift < 64; shift += 7 {
		b := s.s[s.at]
		s.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	s.fail()
	return 0
}

// natural reads a number that is not negative.
func (s *scanner) natural() int {
	v := s.uint()
	if v > math.MaxInt {
		s.fail()
		return 0
	}
	return int(v)
}

// int reads any number.
func (s *scanner) int() int {
	v := s.uint()
	return int(v>>1) ^ -int(v&1)
}

// below reads a number that is less than n.
func (s *scanner) below(n int) int {
	v := s.uint()
	if v >= uint64(n) {
		s.fail()
		return 0
	}
	return int(v)
}

// count reads how many things follow of which each takes so many bytes at least, so that no more is
// made than there can be.
func (s *scanner) count(size int) int {
	v := s.uint()
	if v > uint64((len(s.s)-s.at)/size) {
		s.fail()
		return 0
	}
	return int(v)
}

// bytes reads so many bytes.
func (s *scanner) bytes(n int) string {
	if n > len(s.s)-s.at {
		s.fail()
		return ""
	}
	s.at += n
	return s.s[s.at-n : s.at]
}

// raw reads a text where it stands.
func (s *scanner) raw() string { return s.bytes(s.natural()) }

// flags reads which of some things hold.
func (s *scanner) flags() byte {
	if s.at == len(s.s) {
		s.fail()
		return 0
	}
	s.at++
	return s.s[s.at-1]
}

func (s *scanner) time() time.Time {
	seconds := s.int()
	return time.Unix(int64(seconds), int64(s.below(1e9))).UTC()
}

// done reports whether all was read, and was as it must be.
func (s *scanner) done() bool { return !s.failed && s.at == len(s.s) }

func (s *scanner) span() span { return span{s.time(), s.time()} }

func (s *scanner) digest() (d Digest) {
	copy(d[:], s.bytes(len(d)))
	return d
}

// maxNesting is how deep a list may stand in others: no text has room for more.
const maxNesting = 10_000

// value reads a value that may hold others so deep.
func (s *scanner) value(depth int) any {
	switch s.flags() {
	case valueNone:
		return nil
	case valueFalse:
		return false
	case valueTrue:
		return true
	case valueText:
		return s.raw()
	case valueRef:
		return markdown.Ref(s.raw())
	case valueNested:
		return markdown.Nested(s.raw())
	case valueNumber:
		if bits := s.bytes(8); bits != "" {
			return math.Float64frombits(binary.LittleEndian.Uint64([]byte(bits)))
		}
	case valueList:
		if depth > 0 {
			return s.list(depth - 1)
		}
	}
	s.fail()
	return nil
}

func (s *scanner) list(depth int) []any {
	all := make([]any, s.count(1))
	for i := range all {
		all[i] = s.value(depth)
	}
	return all
}

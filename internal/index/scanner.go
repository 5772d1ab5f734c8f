package index

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A scanner reads values that an imageWriter wrote. At the first invalid input it fails; after
// that, all its methods return zero values, so callers need not check each call.
type scanner struct {
	s      string // a part or block of the image
	at     int
	failed bool
}

// fail records the failure and moves to the end of the input.
func (s *scanner) fail() {
	s.failed = true
	s.at = len(s.s)
}

// uint reads an unsigned number, a varint.
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

// natural reads a number that must not be negative.
func (s *scanner) natural() int {
	v := s.uint()
	if v > math.MaxInt {
		s.fail()
		return 0
	}
	return int(v)
}

// int reads a number that can be negative, in the zigzag form of binary.AppendVarint.
func (s *scanner) int() int {
	v := s.uint()
	return int(v>>1) ^ -int(v&1)
}

// below reads a number that must be less than n.
func (s *scanner) below(n int) int {
	v := s.uint()
	if v >= uint64(n) {
		s.fail()
		return 0
	}
	return int(v)
}

// count reads the number of elements that follow, of at least size bytes each. It fails if the rest
// of the input is too short for them. So damaged input cannot cause a large allocation.
func (s *scanner) count(size int) int {
	v := s.uint()
	if v > uint64((len(s.s)-s.at)/size) {
		s.fail()
		return 0
	}
	return int(v)
}

// bytes reads n bytes. The result refers to the memory of the image.
func (s *scanner) bytes(n int) string {
	if n > len(s.s)-s.at {
		s.fail()
		return ""
	}
	s.at += n
	return s.s[s.at-n : s.at]
}

// raw reads a text that is stored as its length and its bytes.
func (s *scanner) raw() string { return s.bytes(s.natural()) }

// flags reads up to eight booleans, from the lowest bit.
func (s *scanner) flags() byte {
	if s.at == len(s.s) {
		s.fail()
		return 0
	}
	s.at++
	return s.s[s.at-1]
}

// time reads a time, in UTC.
func (s *scanner) time() time.Time {
	seconds := s.int()
	return time.Unix(int64(seconds), int64(s.below(1e9))).UTC()
}

// done reports whether the whole input was read without failure.
func (s *scanner) done() bool { return !s.failed && s.at == len(s.s) }

// span reads the first and the last time of a span.
func (s *scanner) span() span { return span{s.time(), s.time()} }

// digest reads a digest.
func (s *scanner) digest() (d Digest) {
	copy(d[:], s.bytes(len(d)))
	return d
}

// maxNesting is the largest depth of lists in lists. No text that is parsed has deeper ones.
const maxNesting = 10_000

// value reads a value in which lists can be nested to this depth; it fails for a deeper one. The
// first byte is one of the constants valueNone to valueNested. The result is equal to the value
// that imageWriter.value wrote.
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

// list reads a list in which lists can be nested to this depth.
func (s *scanner) list(depth int) []any {
	all := make([]any, s.count(1))
	for i := range all {
		all[i] = s.value(depth)
	}
	return all
}

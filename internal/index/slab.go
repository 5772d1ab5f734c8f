package index

import "unsafe"

// slabBytes is how many bytes a slab has at most: as many as the heap gives a place of their own.
const slabBytes = 64 << 10

// A slab makes lists out of larger pieces of memory. Lists that are made one by one go into whatever holes
// the heap has, and keep what is around them from being given back. It is for one goroutine.
type slab[T any] struct {
	free []T
	last int // items of the last piece
}

// take makes a list of so many zero values; nil of none. To append to it copies it.
func (s *slab[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		most := max(slabBytes/int(unsafe.Sizeof(*new(T))), 1)
		s.last = max(min(2*s.last, most), n, 8)
		s.free = make([]T, s.last)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}

// one makes one zero value.
func (s *slab[T]) one() *T { return &s.take(1)[0] }

// slabs are what the parts of notes are made of.
type slabs struct {
	files       slab[File]
	notes       slab[Note]
	sections    slab[Section]
	fields      slab[Field]
	annotations slab[Trait]
	pointers    slab[*Trait]
	said        slab[*TraitValue]
	marks       slab[byte]
	places      slab[Place]
	refs        slab[Ref]
	tags        slab[Tag]
	cards       slab[Card]
	rareCards   slab[rareCard]
	words       slab[string]
}

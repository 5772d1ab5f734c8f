package index

import "unsafe"

// slabBytes is the largest size of a piece of a slab, in bytes, unless one list is longer: the heap
// gives a piece of this size a span of its own.
const slabBytes = 64 << 10

// A slab allocates lists from larger pieces of memory. Lists that are allocated one by one fill
// gaps of the heap, and keep the memory around them from being freed. A piece is freed when no list
// in it is used any more, so a slab must contain values that live equally long, such as the notes
// of one image. It must be used by one goroutine at a time. The zero value is ready to use.
type slab[T any] struct {
	free []T
	last int // number of items of the last piece
}

// alloc returns a list of n zero values; nil for 0. Its capacity is n, so append copies it.
func (s *slab[T]) alloc(n int) []T {
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

// allocOne returns a pointer to one zero value.
func (s *slab[T]) allocOne() *T { return &s.alloc(1)[0] }

// slabs are the slabs for the parts of notes. Each goroutine that reads an image has its own.
type slabs struct {
	files       slab[File]
	notes       slab[Note]
	sections    slab[Section]
	fields      slab[Field]
	annotations slab[Trait]
	pointers    slab[*Trait]
	traitValues slab[*TraitValue]
	marks       slab[byte]
	places      slab[Place]
	refs        slab[Ref]
	tags        slab[Tag]
	cards       slab[Card]
	rareCards   slab[rareCard]
	words       slab[string]
}

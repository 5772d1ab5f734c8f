package index

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A numbers is a list of unsigned numbers of four bytes each, little-endian, in the form that it
// has in an image. It is a string, so that it refers to the bytes of an image without a copy and
// cannot be changed.
type numbers string

// len returns how many numbers are in the list.
func (n numbers) len() int { return len(n) / 4 }

// at returns the i-th number.
func (n numbers) at(i int) int {
	b := n[4*i : 4*i+4]
	return int(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

// appendNumber appends a number in four bytes.
func appendNumber(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

// span returns the beginning and the end of the i-th part of another list, where n has the ends of
// its parts.
func (n numbers) span(i int) (begin, end int) {
	if i > 0 {
		begin = n.at(i - 1)
	}
	return begin, n.at(i)
}

// spans reports whether n is valid as the ends of the parts of a list of this length.
func (n numbers) spans(length int) bool {
	last := 0
	for i := range n.len() {
		end := n.at(i)
		if end < last {
			return false
		}
		last = end
	}
	return last == length && len(n)%4 == 0
}

// below reports whether n is valid and all its numbers are less than limit.
func (n numbers) below(limit int) bool {
	for i := range n.len() {
		if n.at(i) >= limit {
			return false
		}
	}
	return len(n)%4 == 0
}

// A texts is a list of texts in the form that it has in an image: the end of each, then the texts
// joined.
type texts struct {
	ends  numbers
	bytes string
}

// len returns how many texts are in the list.
func (t texts) len() int { return t.ends.len() }

// at returns the i-th text.
func (t texts) at(i int) string {
	begin, end := t.ends.span(i)
	return t.bytes[begin:end]
}

// ascend reports whether the texts are sorted and distinct.
func (t texts) ascend() bool {
	for i := 1; i < t.len(); i++ {
		if t.at(i) <= t.at(i-1) {
			return false
		}
	}
	return true
}

// search returns the position of the first text that is not less than s. The list must be sorted.
func (t texts) search(s string) int {
	low, high := 0, t.len()
	for low < high {
		if middle := (low + high) / 2; t.at(middle) < s {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// find returns the position of s in a sorted list, and whether it is there.
func (t texts) find(s string) (int, bool) {
	i := t.search(s)
	return i, i < t.len() && t.at(i) == s
}

// appendTexts appends the number of texts, then the list in the form of texts: the end of each in
// four bytes, then the bytes of all. The texts together must be shorter than 4 GiB.
func appendTexts(b []byte, all []string) []byte {
	size := 0
	for _, s := range all {
		size += len(s)
	}
	b = appendNumber(slices.Grow(b, 4+4*len(all)+size), len(all))
	end := 0
	for _, s := range all {
		end += len(s)
		b = appendNumber(b, end)
	}
	for _, s := range all {
		b = append(b, s...)
	}
	return b
}

// textsOf returns the list that appendTexts wrote to s; false if s is not such a list.
func textsOf(s string) (t texts, ok bool) {
	if len(s) < 4 {
		return t, false
	}
	n := numbers(s[:4]).at(0)
	if s = s[4:]; n > len(s)/4 {
		return t, false
	}
	t = texts{numbers(s[:4*n]), s[4*n:]}
	return t, t.ends.spans(len(t.bytes))
}

// listOf returns a list of these texts.
func listOf(all []string) texts {
	t, _ := textsOf(string(appendTexts(nil, all)))
	return t
}

// numbered returns the sorted list of the distinct texts, and the position of each.
func numbered(all []string) (texts, map[string]int) {
	position := make(map[string]int)
	for _, s := range all {
		position[s] = 0
	}
	sorted := slices.Sorted(maps.Keys(position))
	for i, s := range sorted {
		position[s] = i
	}
	return listOf(sorted), position
}

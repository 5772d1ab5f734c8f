package index

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Numbers is a list of numbers, four bytes each, as it stands in an image.
type numbers string

func (n numbers) len() int { return len(n) / 4 }

func (n numbers) at(i int) int {
	b := n[4*i : 4*i+4]
	return int(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

func appendNumber(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

// span is where the part of a list begins and ends of which the numbers are the ends.
func (n numbers) span(i int) (begin, end int) {
	if i > 0 {
		begin = n.at(i - 1)
	}
	return begin, n.at(i)
}

// spans reports whether the numbers are the ends of the parts of a list of that length.
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

// below reports whether all numbers are less than another.
func (n numbers) below(limit int) bool {
	for i := range n.len() {
		if n.at(i) >= limit {
			return false
		}
	}
	return len(n)%4 == 0
}

// Texts is a list of texts, as it stands in an image: where each ends, then all of them.
type texts struct {
	ends  numbers
	bytes string
}

func (t texts) len() int { return t.ends.len() }

func (t texts) at(i int) string {
	begin, end := t.ends.span(i)
	return t.bytes[begin:end]
}

// ascend reports whether the texts are sorted, and each there once.
func (t texts) ascend() bool {
	for i := 1; i < t.len(); i++ {
		if t.at(i) <= t.at(i-1) {
			return false
		}
	}
	return true
}

// search is the position of the first text of a sorted list that is not before another.
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

// find is the position of a text in a sorted list.
func (t texts) find(s string) (int, bool) {
	i := t.search(s)
	return i, i < t.len() && t.at(i) == s
}

// appendTexts appends a list of texts, and how many there are before it.
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

// textsOf is a list of texts that appendTexts wrote.
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

// listOf is a list of these texts.
func listOf(all []string) texts {
	t, _ := textsOf(string(appendTexts(nil, all)))
	return t
}

// numbered is the sorted list of texts, each once, with their positions.
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

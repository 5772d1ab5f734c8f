package index

import (
	"encoding/binary"
	"maps"
	"slices"
	"sort"
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
	b = appendNumber(b, len(all))
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

// A flat is a sorted list of entries that is never changed. It is about a tenth of a tree of them, and
// stands in an image as it is used.
type flat struct {
	names texts
	ends  numbers // of each name, where its files end
	files numbers // positions of paths
	paths texts
}

func (f *flat) len() int { return f.files.len() }

// newFlat is the list of sorted entries, of which each is there once.
func newFlat(all []entry) *flat {
	each := make([]string, len(all))
	for i := range all {
		each[i] = all[i].path
	}
	paths, position := numbered(each)
	var l flatLister
	for _, e := range all {
		l.add(e.name, position[e.path])
	}
	return &flat{listOf(l.names), numbers(l.ends()), numbers(l.files), paths}
}

// A flatLister collects the parts of a flat.
type flatLister struct {
	names []string
	files []byte
	done  []byte // the ends, but for the one of the last name
}

// add takes the next entry, by the position of its path.
func (l *flatLister) add(name string, file int) {
	if n := len(l.names); n == 0 || l.names[n-1] != name {
		l.done = l.ends()
		l.names = append(l.names, name)
	}
	l.files = appendNumber(l.files, file)
}

// ends are the ends of the files of all names so far.
func (l *flatLister) ends() []byte {
	if len(l.names) == 0 {
		return nil
	}
	return appendNumber(l.done, len(l.files)/4)
}

// sound reports whether the list is one that newFlat could have made.
func (f *flat) sound() bool {
	return f.names.ascend() && (f.names.len() == 0 || f.names.at(0) != "") && f.paths.ascend() &&
		f.ends.len() == f.names.len() && f.ends.spans(f.files.len()) && f.ascends()
}

// ascends reports whether each name has files, each once and in order, of those that there are.
func (f *flat) ascends() bool {
	for i := range f.ends.len() {
		begin, end := f.ends.span(i)
		last := -1
		for at := begin; at < end; at++ {
			file := f.files.at(at)
			if file <= last || file >= f.paths.len() {
				return false
			}
			last = file
		}
		if begin == end {
			return false
		}
	}
	return true
}

// A flatCursor stands at an entry of a flat, or behind all.
type flatCursor struct {
	*flat
	number int    // of the name
	name   string // of the number
	at     int    // position in files
	end    int    // of the files of the name
}

// seek is a cursor at the first entry that is not before another.
func (f *flat) seek(first entry) flatCursor {
	c := flatCursor{flat: f}
	number, known := f.names.find(first.name)
	c.turn(number)
	if !known || first.path == "" {
		return c
	}
	from := f.paths.search(first.path)
	c.at += sort.Search(c.end-c.at, func(i int) bool { return f.files.at(c.at+i) >= from })
	if c.at == c.end {
		c.turn(number + 1)
	}
	return c
}

// turn goes to the first entry of a name.
func (c *flatCursor) turn(number int) {
	if c.number = number; c.there() {
		c.name = c.names.at(number)
		c.at, c.end = c.ends.span(number)
	}
}

func (c *flatCursor) there() bool { return c.number < c.names.len() }

func (c *flatCursor) entry() entry { return entry{c.name, c.paths.at(c.files.at(c.at))} }

func (c *flatCursor) next() {
	if c.at++; c.at == c.end {
		c.turn(c.number + 1)
	}
}

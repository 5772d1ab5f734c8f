package merge

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Measure measures the distances of texts from one text, found. It is safe for concurrent use.
type Measure struct {
	found []byte
	lines map[string]int // the number of each distinct line, without its line break
	words map[string]int // the number of each distinct pair of adjacent words
	pairs map[pair]int   // the number of each distinct pair of a line and the one above it
	count []int          // by line: its occurrences in found
	below []int          // by pair: its occurrences in found
	parts [][]int        // by line: its pairs of words
	sizes []int          // by pair of words: its length in bytes
}

// NewMeasure returns a Measure for a text, which it prepares for many comparisons. Copies share its
// memory.
func NewMeasure(found []byte) Measure {
	m := Measure{
		found: found,
		lines: map[string]int{}, words: map[string]int{}, pairs: map[pair]int{},
	}
	above := top
	for line := range linesOf(found) {
		at, ok := m.lines[string(line)]
		if !ok {
			at = len(m.count)
			m.lines[string(line)] = at
			m.count, m.parts = append(m.count, 0), append(m.parts, m.wordPairs(line))
		}
		m.count[at]++
		two, ok := m.pairs[pair{above, at}]
		if !ok {
			two = len(m.below)
			m.pairs[pair{above, at}] = two
			m.below = append(m.below, 0)
		}
		m.below[two]++
		above = at
	}
	return m
}

// Numbers that no line of found has.
const (
	top     = -1 // of the position before the first line
	unknown = -2 // of a line that found does not have
)

// wordPairs numbers the pairs of words of a line, and returns their numbers.
func (m *Measure) wordPairs(line []byte) []int {
	var parts []int
	for word := range twosOf(line) {
		id, ok := m.words[string(word)]
		if !ok {
			id = len(m.sizes)
			m.words[string(word)] = id
			m.sizes = append(m.sizes, len(word))
		}
		parts = append(parts, id)
	}
	return parts
}

// Distance returns the distance of a text from found. It is 0 only if both are equal, and it is
// symmetric. It is the sum of the bytes of each pair of adjacent words that only one text has, 1
// for each line that only one text has, and 1 for each line that is below another line than in the
// other text. Single words are not compared, because the words of a short line occur all over a
// long text. A line that both texts have costs one look-up, another line one per word.
func (m Measure) Distance(text []byte) int {
	if bytes.Equal(m.found, text) {
		return 0
	}
	// The counts are copied, because m can be used concurrently. far begins at 1, because
	// different bytes can have equal lines and words.
	c := comparison{Measure: m, left: slices.Clone(m.count), leftPairs: slices.Clone(m.below),
		more: make([]int, len(m.sizes)), distance: 1}
	above := top
	for line := range linesOf(text) {
		above = c.line(above, line)
	}
	return c.sum()
}

// A comparison is the state of one call of Distance.
type comparison struct {
	Measure
	left      []int // by line: occurrences that the text has not had yet
	leftPairs []int // by pair: the same
	more      []int // by pair of words: how many more the text has, in lines that differ
	distance  int   // the distance so far
}

// line compares a line of the text, and returns its number.
func (c *comparison) line(above int, line []byte) int {
	at, ok := c.lines[string(line)]
	if !ok {
		at = unknown
	}
	if two, ok := c.pairs[pair{above, at}]; ok && c.leftPairs[two] > 0 {
		c.leftPairs[two]--
	} else {
		c.distance++
	}
	// An equal line: its words need not be compared.
	if ok && c.left[at] > 0 {
		c.left[at]--
		return at
	}
	c.distance++
	for word := range twosOf(line) {
		if id, ok := c.words[string(word)]; ok {
			c.more[id]++
		} else {
			c.distance += len(word)
		}
	}
	return at
}

// sum adds the distance of everything that only found has, and returns the total.
func (c *comparison) sum() int {
	for at, n := range c.left {
		c.distance += n
		// Words of lines that only found has are matched with those that only the text has.
		for _, id := range c.parts[at] {
			c.more[id] -= n
		}
	}
	for _, n := range c.leftPairs {
		c.distance += n
	}
	for id, n := range c.more {
		c.distance += max(n, -n) * c.sizes[id]
	}
	return c.distance
}

// linesOf returns the lines of a text without their line breaks.
func linesOf(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if !yield(line) {
				return
			}
		}
	}
}

// ideographs is the first character of the scripts without blanks between words. Each of their
// characters counts as a word, because otherwise a paragraph would be one word.
const ideographs = 0x2e80

// twosOf returns each pair of adjacent words of a line, with the text between them, or the word of
// a line with only one.
func twosOf(line []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		n, from, to := 0, 0, 0 // of the word before
		for start, end := range wordsOf(line) {
			if n > 0 && !yield(line[from:end]) {
				return
			}
			n, from, to = n+1, start, end
		}
		if n == 1 {
			yield(line[from:to])
		}
	}
}

// wordsOf returns the start and the end of each word of a line, including punctuation next to it.
func wordsOf(line []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		start := 0
		for at := 0; at < len(line); {
			r, size := rune(line[at]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(line[at:])
			}
			// Invalid bytes are parts of words.
			blank, alone := unicode.IsSpace(r), r >= ideographs && r != utf8.RuneError
			if (blank || alone) && start < at && !yield(start, at) {
				return
			}
			if alone && !yield(at, at+size) {
				return
			}
			at += size
			if blank || alone {
				start = at
			}
		}
		if start < len(line) {
			yield(start, len(line))
		}
	}
}

// withoutShared returns the hunks without the lines that are also in an insertion of the other side that is
// adjacent to them.
func (t *table) withoutShared(hunks, insertions []hunk) []hunk {
	hunks = slices.Clone(hunks)
	for _, in := range insertions {
		if !in.inserts() {
			continue
		}
		// Only hunks that end or begin at the insertion are adjacent to it.
		i, _ := slices.BinarySearchFunc(hunks, in.start, func(h hunk, at int) int { return h.end - at })
		for ; i < len(hunks) && hunks[i].start <= in.start; i++ {
			hunks[i] = t.without(hunks[i], in)
		}
	}
	return hunks
}

// without returns a hunk without the lines that are also in an insertion directly before or after
// it.
func (t *table) without(h, in hunk) hunk {
	if h.inserts() {
		return h
	}
	switch in.start {
	case h.start:
		if n := prefix(h.lines, in.lines); t.isSameEdit(h.lines[:n], in.lines) {
			h.lines = h.lines[n:]
		}
	case h.end:
		if n := len(h.lines) - suffix(h.lines, in.lines); t.isSameEdit(h.lines[n:], in.lines) {
			h.lines = h.lines[:n]
		}
	}
	return h
}

// isSameEdit reports whether lines that are a part of an insertion are certainly the same edit. Part of a
// code block is not.
func (t *table) isSameEdit(part, insertion []line) bool {
	return len(part) == len(insertion) || !t.fenced(part)
}

// single divides each hunk that replaces lines by as many lines into hunks of one line, because
// these are changes of single lines, such as ticked items of a list.
func single(hunks []hunk) []hunk {
	var all []hunk
	for _, h := range hunks {
		if h.inserts() || h.growth() != 0 {
			all = append(all, h)
			continue
		}
		for i := range h.lines {
			all = append(all, hunk{h.start + i, h.start + i + 1, h.lines[i : i+1]})
		}
	}
	return all
}

// aligned reports whether hunks of single lines may be applied one by one: not if both sides put a
// line at different places, because then the hunks are not changes of single lines.
func aligned(split versions[[]hunk]) bool {
	theirs := places(split.theirs)
	for id, at := range places(split.ours) {
		if other, ok := theirs[id]; ok && at != other && at >= 0 && other >= 0 {
			return false
		}
	}
	return true
}

// places returns the line of the base at which each line is put, and -1 for a line that is put at
// several.
func places(hunks []hunk) map[rune]int {
	at := map[rune]int{}
	for _, h := range hunks {
		for _, l := range h.lines {
			place := h.start
			if _, again := at[l.id]; again {
				place = -1
			}
			at[l.id] = place
		}
	}
	return at
}

package merge

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Measure says how far texts are from one text that was found. Several may use it at once.
type Measure struct {
	found []byte
	lines map[string]int // the number of each different line, without its line break
	words map[string]int // likewise of each two words that stand side by side
	pairs map[pair]int   // likewise of each line with the one above it
	count []int          // by line: how often it stands in the text
	below []int          // by pair: likewise
	parts [][]int        // by line: its pairs of words
	sizes []int          // by pair of words: its bytes
}

// From prepares the text that was found for the comparison with many, which share its memory.
func From(found []byte) Measure {
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
			m.count, m.parts = append(m.count, 0), append(m.parts, m.learn(line))
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

const (
	top     = -1 // stands before the first line
	unknown = -2 // is a line that the text found has not
)

// learn numbers the pairs of words of a line.
func (m *Measure) learn(line []byte) []int {
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

// To is how far a text is from the one that was found: 0 only if both are equal to the byte, and the
// same from either to the other. It grows with the bytes of each two words that stand side by side in
// only one of them, by one for each line that does, and by one for each line that stands below another
// one than there. Words by themselves say little: those of a short line that one text has are all over
// a long part that only the other has. The lines that both have cost a look into a table, the others
// one for each word.
func (m Measure) To(text []byte) int {
	if bytes.Equal(m.found, text) {
		return 0
	}
	c := comparison{Measure: m, left: slices.Clone(m.count), apart: slices.Clone(m.below),
		more: make([]int, len(m.sizes)), far: 1}
	above := top
	for line := range linesOf(text) {
		above = c.line(above, line)
	}
	return c.sum()
}

// A comparison is a call of To.
type comparison struct {
	Measure
	left  []int // by line: how often the text has not had it yet
	apart []int // by pair: likewise
	more  []int // by pair of words: how much oftener the text has it, where lines differ
	far   int
}

// line compares a line of the text, and returns its number.
func (c *comparison) line(above int, line []byte) int {
	at, ok := c.lines[string(line)]
	if !ok {
		at = unknown
	}
	if two, ok := c.pairs[pair{above, at}]; ok && c.apart[two] > 0 {
		c.apart[two]--
	} else {
		c.far++
	}
	if ok && c.left[at] > 0 {
		c.left[at]--
		return at
	}
	c.far++
	for word := range twosOf(line) {
		if id, ok := c.words[string(word)]; ok {
			c.more[id]++
		} else {
			c.far += len(word)
		}
	}
	return at
}

// sum adds what only the text that was found has.
func (c *comparison) sum() int {
	for at, n := range c.left {
		c.far += n
		for _, id := range c.parts[at] {
			c.more[id] -= n
		}
	}
	for _, n := range c.apart {
		c.far += n
	}
	for id, n := range c.more {
		c.far += max(n, -n) * c.sizes[id]
	}
	return c.far
}

// linesOf are the lines of a text without their line breaks.
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

// ideographs is where the scripts begin that part words by no blanks. Each of their characters counts
// as a word, as otherwise a paragraph would be one.
const ideographs = 0x2e80

// twosOf are each two words of a line that stand side by side, with what is between them; of a line
// with one word, that.
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

// wordsOf says where each word of a line begins and ends, with what punctuation stands at it.
func wordsOf(line []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		start := 0
		for at := 0; at < len(line); {
			r, size := rune(line[at]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(line[at:])
			}
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

package merge

import (
	"slices"
	"strings"
)

// A line is a line that is not blank, with the blank lines above it. Blank lines are not lines of
// their own in a merge: they are equal to each other, so they would match where nothing else does.
type line struct {
	id    rune
	above string // as they are written
}

// A table numbers the lines of the texts that are merged. Equal lines have equal numbers. They are
// runes, because the diff module compares runes fastest.
type table struct {
	ids   map[string]rune
	lines []string // each with its line break
	kinds []kind
}

// A kind is the meaning of a line for its neighbours.
type kind uint8

// The kinds of lines.
const (
	prose  kind = iota // any other line
	item               // an item of a list
	inside             // an indented line, such as one of an item
	fence              // the beginning or the end of a code block
)

// end is the number of an empty line after the last line of every text. Blank lines at the end are
// above it.
const end rune = 0

// newTable returns a table that contains only the empty line after the last line.
func newTable() *table {
	return &table{ids: map[string]rune{"": end}, lines: []string{""}, kinds: []kind{prose}}
}

// split divides a plain text into lines, and numbers them.
func (t *table) split(text string) []line {
	all := make([]line, 0, strings.Count(text, lf)+1)
	from, at := 0, 0
	for s := range strings.Lines(text) {
		// Blank lines are collected until the next line that is not blank.
		if strings.TrimSpace(s) != "" {
			all = append(all, line{t.number(s), text[from:at]})
			from = at + len(s)
		}
		at += len(s)
	}
	return append(all, line{end, text[from:]})
}

// number returns the number of a line, and adds the line if the table does not have it. Equal lines
// have equal numbers.
func (t *table) number(s string) rune {
	id, ok := t.ids[s]
	if !ok {
		id = rune(len(t.lines))
		t.ids[s] = id
		t.lines, t.kinds = append(t.lines, s), append(t.kinds, kindOf(s))
	}
	return id
}

// kindOf returns the kind of a line, judged by the line alone.
//
// It knows list marks (-, *, + and numbers), indentation and the fences of code blocks.
func kindOf(s string) kind {
	text := strings.TrimSpace(s)
	mark, _, _ := strings.Cut(text, " ")
	number := strings.TrimRight(mark, ".)")
	switch {
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		return fence
	case mark == "-", mark == "*", mark == "+", number != "" && len(number) == len(mark)-1 &&
		strings.Trim(number, "0123456789") == "":
		return item
	case s[0] == ' ', s[0] == '\t':
		return inside
	}
	return prose
}

// fenced reports whether one of the lines begins or ends a code block.
func (t *table) fenced(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool { return t.kinds[l.id] == fence })
}

// counts returns the number of occurrences in the text of each line of the table.
func (t *table) counts(text []line) []int32 {
	all := make([]int32, len(t.lines))
	for _, l := range text {
		all[l.id]++
	}
	return all
}

// write returns lines as text.
func (t *table) write(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.above + t.lines[l.id])
	}
	return b.String()
}

// numbers returns the numbers of lines, for the diff module.
func numbers(lines []line) []rune {
	all := make([]rune, len(lines))
	for i, l := range lines {
		all[i] = l.id
	}
	return all
}

// same reports whether two lines are equal, ignoring the blank lines above them.
func same(a, b line) bool { return a.id == b.id }

// prefix returns how many lines two texts have in common at their beginning.
func prefix(a, b []line) int {
	n := 0
	for n < min(len(a), len(b)) && same(a[n], b[n]) {
		n++
	}
	return n
}

// suffix returns how many lines two texts have in common at their end.
func suffix(a, b []line) int {
	n := 0
	for n < min(len(a), len(b)) && same(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	return n
}

package merge

import "strings"

// A line is one that is not blank, with the blank ones above it. Blank lines are no lines of their
// own in a merge: equal to all others, they would match where nothing else does.
type line struct {
	id    rune
	above string // as they are written
}

// A table numbers the lines of the texts that are merged: equal lines have equal numbers, which are
// runes because the diff module compares those fastest.
type table struct {
	ids   map[string]rune
	lines []string // each with its line break
	kinds []kind
}

// A kind is what a line means to the lines around it.
type kind uint8

const (
	prose  kind = iota
	item        // of a list
	inside      // of an item, or of something else that is indented
	fence       // of a block of code
)

// end is the number of the line that stands behind the last of every text, and has no text: what
// blank lines there are at the end stand above it.
const end rune = 0

func newTable() *table {
	return &table{ids: map[string]rune{"": end}, lines: []string{""}, kinds: []kind{prose}}
}

// split numbers the lines of a plain text.
func (t *table) split(text string) []line {
	all := make([]line, 0, strings.Count(text, lf)+1)
	from, at := 0, 0
	for s := range strings.Lines(text) {
		if strings.TrimSpace(s) != "" {
			all = append(all, line{t.number(s), text[from:at]})
			from = at + len(s)
		}
		at += len(s)
	}
	return append(all, line{end, text[from:]})
}

func (t *table) number(s string) rune {
	id, ok := t.ids[s]
	if !ok {
		id = rune(len(t.lines))
		t.ids[s] = id
		t.lines, t.kinds = append(t.lines, s), append(t.kinds, kindOf(s))
	}
	return id
}

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

// fenced reports whether one of the lines begins or ends a block of code.
func (t *table) fenced(lines []line) bool {
	for _, l := range lines {
		if t.kinds[l.id] == fence {
			return true
		}
	}
	return false
}

// counts says how often each line of the table stands in the text.
func (t *table) counts(text []line) []int32 {
	all := make([]int32, len(t.lines))
	for _, l := range text {
		all[l.id]++
	}
	return all
}

// write is the text of lines.
func (t *table) write(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.above + t.lines[l.id])
	}
	return b.String()
}

// numbers are the lines as the diff module takes them.
func numbers(lines []line) []rune {
	all := make([]rune, len(lines))
	for i, l := range lines {
		all[i] = l.id
	}
	return all
}

// same reports whether two lines are equal, whatever blank ones stand above them.
func same(a, b line) bool { return a.id == b.id }

// prefix is how many lines two texts have in common at their beginning.
func prefix(a, b []line) int {
	n := 0
	for n < min(len(a), len(b)) && same(a[n], b[n]) {
		n++
	}
	return n
}

// suffix is how many lines two texts have in common at their end.
func suffix(a, b []line) int {
	n := 0
	for n < min(len(a), len(b)) && same(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	return n
}

package index

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// A noteLines is the lines of a note, to find the changes in the own texts of its objects. A line
// that the event of a trait or of a declaration covers is not part of the text of an object,
// because its change would be in the audit log twice.
type noteLines struct {
	note    *Note
	lines   [][]byte
	covered []bool // by line number from 1; the line is covered by another event
}

// newNoteLines splits the text of a note into lines. Lines with traits and declarations are covered
// by the events of these.
func newNoteLines(n *Note, text []byte) noteLines {
	lines := slices.AppendSeq(make([][]byte, 0, n.LineCount()), bytes.Lines(text))
	l := noteLines{n, lines, make([]bool, 1+max(len(lines), n.LineCount()))}
	for t := range n.Traits() {
		l.covered[t.Line()] = true
	}
	for i := range n.Sections {
		first, last := n.Sections[i].declarationLines()
		for line := first; line > 0 && line <= last; line++ {
			l.covered[line] = true
		}
	}
	return l
}

// span returns the numbers of the first and the last line of an object's own text.
func (l noteLines) span(o Object) (first, last int) {
	first, last = l.note.BodyLine(), len(l.lines)
	if o.Section != nil {
		if first = o.Section.Line(); o.Section.LineEnd() > 0 {
			last = o.Section.LineEnd()
		}
	} else if len(l.note.Sections) > 0 {
		last = l.note.Sections[0].Line() - 1
	}
	return first, min(last, len(l.lines))
}

// ownLines returns the lines of the own text of an object in two lists: those that are not covered
// by another event, and those that are.
func (l noteLines) ownLines(o Object) (plain, told [][]byte) {
	first, last := l.span(o)
	plain = make([][]byte, 0, max(0, last-first+1))
	for i := first; i <= last; i++ {
		if l.covered[i] {
			told = append(told, l.lines[i-1])
			continue
		}
		plain = append(plain, l.lines[i-1])
	}
	return plain, told
}

// equal reports whether two objects have the same lines, and the same of them are covered by other
// events.
func (l noteLines) equal(o Object, of noteLines, other Object) bool {
	first, last := l.span(o)
	begin, end := of.span(other)
	if last-first != end-begin {
		return false
	}
	for i := first; i <= last; i++ {
		j := begin + i - first
		if l.covered[i] != of.covered[j] || !bytes.Equal(l.lines[i-1], of.lines[j-1]) {
			return false
		}
	}
	return true
}

// ownTexts returns the own texts of an object before and after a change, without lines that are
// covered by other events. It returns zero Texts if they are alike.
func ownTexts(was, is noteLines, before, now Object) Texts {
	if was.equal(before, is, now) {
		return Texts{}
	}
	old, oldTold := was.ownLines(before)
	next, nextTold := is.ownLines(now)
	old, next = dropCovered(old, nextTold, oldTold), dropCovered(next, oldTold, nextTold)
	return Texts{Old: bytes.Join(old, nil), New: bytes.Join(next, nil)}
}

// annotation matches one annotation in a line.
var annotation = regexp.MustCompile(`@[A-Za-z0-9_-]+([ \t]*\([^)\n]*\))?`)

// stripAnnotations returns a line without annotations, with spaces collapsed.
func stripAnnotations(line []byte) string {
	return collapseSpaces(annotation.ReplaceAll(line, []byte(" ")))
}

// collapseSpaces returns a line with each run of spaces replaced by one, and without those at its
// ends.
func collapseSpaces(line []byte) string {
	blank := func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }
	return strings.TrimSpace(string(bytes.Join(bytes.FieldsFunc(line, blank), []byte{' '})))
}

// dropCovered returns lines without those that are on the other side of the change with an
// annotation that was added or removed, because the event of the trait covers them. there and here
// are the lines with annotations on the other side and on this side. For example, if `call Freya`
// becomes `call Freya @due(2026-12-01)`, the first line is left out of the old text.
func dropCovered(lines, there, here [][]byte) [][]byte {
	if there, here = trimEqualLines(there, here); len(there) == 0 {
		return lines
	}
	// A line that got an annotation is there with it and here without it. Its text without
	// annotations is counted up for the lines there, and down for those here, which are changed in
	// another way.
	left := map[string]int{}
	for _, line := range there {
		left[stripAnnotations(line)]++
	}
	for _, line := range here {
		left[stripAnnotations(line)]--
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool {
		key := collapseSpaces(line)
		if left[key] <= 0 {
			return false
		}
		left[key]--
		return true
	})
}

// diffLines counts the lines that are in one text and not in the other. If only the order of lines
// or their line endings changed, it counts all lines from the first to the last difference as new.
// It is not the smallest edit script, but it takes linear time.
func diffLines(old, now []byte) Lines {
	was, is := trimEqualLines(linesOf(old), linesOf(now))
	count := map[string]int{}
	for _, line := range was {
		count[string(bytes.TrimRight(line, "\r\n"))]--
	}
	for _, line := range is {
		count[string(bytes.TrimRight(line, "\r\n"))]++
	}
	var l Lines
	for _, n := range count {
		l.Added += max(n, 0)
		l.Removed += max(-n, 0)
	}
	if l == (Lines{}) {
		return Lines{Added: len(is), Removed: len(was)}
	}
	return l
}

// linesOf returns the lines of a text with their ends.
func linesOf(text []byte) [][]byte {
	return slices.AppendSeq(make([][]byte, 0, bytes.Count(text, []byte("\n"))+1), bytes.Lines(text))
}

// trimEqualLines returns two lists of lines without the equal lines at their beginnings and ends.
func trimEqualLines(a, b [][]byte) (was, is [][]byte) {
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

package index

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Lines of a note, for what changed in the own text of its objects.
type noteLines struct {
	note  *Note
	lines [][]byte
	told  []bool // by number from 1, whether a line is told of otherwise
}

// newLines parts the text of a note. Lines with traits and declarations are told of otherwise.
func newLines(n *Note, text []byte) noteLines {
	lines := slices.AppendSeq(make([][]byte, 0, n.LineCount), bytes.Lines(text))
	l := noteLines{n, lines, make([]bool, 1+max(len(lines), n.LineCount))}
	for t := range n.Traits() {
		l.told[t.Line] = true
	}
	for _, s := range n.Sections {
		for line := s.declare[0]; line > 0 && line <= s.declare[1]; line++ {
			l.told[line] = true
		}
	}
	return l
}

// span are the numbers of the first and the last line of an object's own text.
func (l noteLines) span(o Object) (first, last int) {
	first, last = l.note.BodyLine, len(l.lines)
	if o.Section != nil {
		if first = o.Section.Line; o.Section.LineEnd > 0 {
			last = o.Section.LineEnd
		}
	} else if len(l.note.Sections) > 0 {
		last = l.note.Sections[0].Line - 1
	}
	return first, min(last, len(l.lines))
}

// own is the own text of an object, without lines that are told of otherwise; these follow.
func (l noteLines) own(o Object) (plain, told [][]byte) {
	first, last := l.span(o)
	for i := first; i <= last; i++ {
		if l.told[i] {
			told = append(told, l.lines[i-1])
			continue
		}
		plain = append(plain, l.lines[i-1])
	}
	return plain, told
}

// alike reports whether an object has the lines that another one has, and of the same of them is told
// otherwise.
func (l noteLines) alike(o Object, of noteLines, other Object) bool {
	first, last := l.span(o)
	begin, end := of.span(other)
	if last-first != end-begin {
		return false
	}
	for i := first; i <= last; i++ {
		j := begin + i - first
		if l.told[i] != of.told[j] || !bytes.Equal(l.lines[i-1], of.lines[j-1]) {
			return false
		}
	}
	return true
}

// ownTexts are the own texts of an object before and after, as far as they tell something new.
func ownTexts(was, is noteLines, before, now Object) Texts {
	if was.alike(before, is, now) {
		return Texts{}
	}
	old, oldTold := was.own(before)
	next, nextTold := is.own(now)
	old, next = without(old, nextTold, oldTold), without(next, oldTold, nextTold)
	return Texts{Old: bytes.Join(old, nil), New: bytes.Join(next, nil)}
}

var annotation = regexp.MustCompile(`@[A-Za-z0-9_-]+([ \t]*\([^)\n]*\))?`)

// bare is a line without annotations and without the blanks around them.
func bare(line []byte) string { return collapsed(annotation.ReplaceAll(line, []byte(" "))) }

// collapsed is a line with one blank for many, and none around it.
func collapsed(line []byte) string {
	blank := func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }
	return strings.TrimSpace(string(bytes.Join(bytes.FieldsFunc(line, blank), []byte{' '})))
}

// without drops the lines that are on the other side with an annotation that is no more, or not yet:
// the trait's event tells of them. here are the lines with annotations on this side.
func without(lines, there, here [][]byte) [][]byte {
	if there, here = differing(there, here); len(there) == 0 {
		return lines
	}
	left := map[string]int{}
	for _, line := range there {
		left[bare(line)]++
	}
	for _, line := range here {
		left[bare(line)]--
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool {
		key := collapsed(line)
		if left[key] <= 0 {
			return false
		}
		left[key]--
		return true
	})
}

// difference counts the lines that are in one text and not in the other. Where lines only changed
// places, or their ends did, those between the first and the last such line count as new.
func difference(old, now []byte) Lines {
	was, is := differing(slices.Collect(bytes.Lines(old)), slices.Collect(bytes.Lines(now)))
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

// differing is what is left of two lists of lines without what they begin and end with alike.
func differing(a, b [][]byte) (was, is [][]byte) {
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

package markdown

import (
	"bytes"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// A Task is a list item that begins with a checkbox, such as `- [ ] Call Freya`. The mark between
// the brackets is any one character. An item without text after the checkbox is not a Task.
type Task struct {
	Mark string // of the checkbox: " ", "x" or another
	Pin  string // the id of the `@id(…)` on the line; empty if there is none

	Content     string // the line, without the markers of lists and quotes
	ContentText string // the visible line, without annotations, with blanks collapsed

	Scope int  // the index of the heading of its section, -1 for the note itself
	Line  int  // of the file
	Span  Span // of the mark, without its brackets
	End   int  // the offset of the end of the line, before its line break
}

// Done reports whether the mark means that the task is done.
func (t Task) Done() bool { return IsDone(t.Mark) }

// IsDone reports whether the mark of a checkbox means that its task is done: x or X.
func IsDone(mark string) bool { return mark == "x" || mark == "X" }

// checkbox returns the length in bytes of the checkbox at the beginning of a line, including
// brackets; 0 if there is none, or no text after it. The mark is any one character except a
// bracket, and a blank must follow the closing bracket.
func checkbox(line []byte) int {
	if len(line) < 4 || line[0] != '[' {
		return 0
	}
	_, n := utf8.DecodeRune(line[1:])
	end := 1 + n
	switch {
	case end+1 >= len(line) || line[end] != ']' || !isBlank(line[end+1]):
		return 0
	case line[1] == '[' || line[1] == ']' || len(bytes.TrimSpace(line[end+1:])) == 0:
		return 0
	}
	return end + 1
}

// task adds the task whose checkbox begins the first line of a list item, if there is one.
func (b *bodyReader) task(n ast.Node) {
	item := n.Parent()
	if item == nil || item.Kind() != ast.KindListItem || item.FirstChild() != n || n.Kind() == ast.KindHeading {
		return
	}
	l := b.lines[0]
	line := b.prose.src[l.Start:l.End]
	size := checkbox(line)
	if size == 0 {
		return
	}
	t := Task{
		Mark: valid(line[1 : size-1]), Content: valid(bytes.TrimSpace(line)),
		Scope: b.scope(), Line: l.number,
		Span: Span{l.Start + l.shift + 1, l.Start + l.shift + size - 1}, End: l.End + l.shift,
	}
	b.prose.render(&b.rendered, l.Span)
	b.found = b.prose.annotations(&b.rendered, b.found[:0])
	for _, a := range b.found {
		if a.name == pinName && t.Pin == "" {
			t.Pin = b.pinned(a)
		}
	}
	t.ContentText = b.rendered.without(b.found)
	b.doc.Tasks = append(b.doc.Tasks, t)
}

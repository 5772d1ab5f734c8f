package markdown

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// An extent finds the positions of the nodes of a frontmatter in the text. The YAML module reports
// the line and column, in characters, of the start of a node; an extent finds its end. Edits parse
// their result again, so a wrong end makes an edit fail but never damages the note.
type extent struct {
	text  []byte
	inner Span
	lines []int // the offset of each line, by the line breaks of YAML
}

// newExtent returns the extent of the lines inner of a text. It computes the offset of each line
// once, so that offset takes time only in proportion to the length of a line.
func newExtent(text []byte, inner Span) *extent {
	x := &extent{text: text, inner: inner, lines: []int{inner.Start}}
	for at := inner.Start; at < inner.End; {
		n := breakLen(text[at:inner.End])
		if n == 0 {
			at++
			continue
		}
		at += n
		x.lines = append(x.lines, at)
	}
	return x
}

// breakLen returns the length of the line break at the beginning of the text, or 0. YAML has more
// kinds of line breaks than Markdown.
func breakLen(text []byte) int {
	switch {
	case text[0] == '\n':
		return 1
	case text[0] == '\r':
		if len(text) > 1 && text[1] == '\n' {
			return 2
		}
		return 1
	case bytes.HasPrefix(text, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(text, []byte("\u2028")), bytes.HasPrefix(text, []byte("\u2029")):
		return 3
	}
	return 0
}

// lineOffset returns the offset of a line of the YAML, counted from 1. For a line outside of the
// frontmatter it returns the offset of the first or the last one.
func (x *extent) lineOffset(line int) int {
	return x.lines[max(1, min(line, len(x.lines)))-1]
}

// fileLine returns the line of the file at an offset, by its newlines. YAML counts more kinds of
// line breaks; a line of a Problem must be that of an editor.
func (x *extent) fileLine(at int) int {
	return 1 + bytes.Count(x.text[:at], []byte{'\n'})
}

// offset returns the offset of the start of a node. Columns of the YAML module are characters, not
// bytes.
func (x *extent) offset(n *yaml.Node) int {
	at := x.lineOffset(n.Line)
	for i := 1; i < n.Column && at < x.inner.End; i++ {
		_, size := utf8.DecodeRune(x.text[at:x.inner.End])
		at += size
	}
	return at
}

// problem returns a Problem with the message, in the line of a node.
func (x *extent) problem(n *yaml.Node, message string) *Problem {
	return &Problem{x.fileLine(x.offset(n)), message}
}

// entries returns the fields of a mapping. flow reports that it is written in braces: then the
// fields get no positions, because they are never edited.
//
// Keys that do not name a field, such as `<<`, are left out. Lines are counted from one entry to
// the next, so that all entries together take linear time.
func (x *extent) entries(root *yaml.Node, flow bool) []Entry {
	all := make([]Entry, 0, len(root.Content)/2)
	line, counted := 1, 0
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !namesField(key) {
			continue
		}
		e := Entry{}
		if !flow {
			e = x.place(root, i)
		}
		at := x.lineOffset(key.Line)
		line += bytes.Count(x.text[counted:at], []byte{'\n'})
		counted = at
		e.Key, e.Value, e.Line, e.node = key.Value, decode(value), line, value
		e.keyLine = key.Line
		all = append(all, e)
	}
	return all
}

// place returns an Entry with the position of the field whose key is the i-th node of the mapping.
// It does not set the key and the value.
//
// The end of a field is bounded by the line of the next key, whatever the scan of its value
// returns. A field without a value has an empty Text directly after its colon.
func (x *extent) place(root *yaml.Node, i int) Entry {
	key, value := x.offset(root.Content[i]), root.Content[i+1]
	limit := x.inner.End
	if i+2 < len(root.Content) {
		limit = max(key, lineStart(x.text, x.offset(root.Content[i+2])))
	}
	e := Entry{Text: Span{Start: x.offset(value)}}
	e.Text.End = x.end(value, bound{root.Column - 1, limit})
	e.Text.End = max(e.Text.Start, min(e.Text.End, limit))
	e.Lines = Span{lineStart(x.text, key), x.lineNext(max(key, e.Text.End))}
	e.colon = x.colon(root.Content[i], e.Lines.Start)
	if e.Text.Start == e.Text.End && e.colon > 0 {
		e.Text = Span{e.colon, e.colon}
		e.Lines.End = x.lineNext(e.colon)
	}
	return e
}

// lineNext returns the offset after the line that contains at, but at most the end of the
// frontmatter. YAML reports a missing value after that end.
func (x *extent) lineNext(at int) int { return min(lineNext(x.text, at), x.inner.End) }

// colon returns the offset after the colon of a key, or 0 if the key is not first in its line, or
// is not a word or a quoted text followed by a colon. line is the offset of the line of the key.
// Keys in the explicit notation (`? key`) and tagged keys have no usable colon, so their fields
// cannot be edited.
func (x *extent) colon(key *yaml.Node, line int) int {
	at := x.offset(key)
	if len(bytes.Trim(x.text[line:at], " ")) > 0 {
		return 0
	}
	switch {
	case key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		at = quotedEnd(x.text, at, x.inner.End)
	case bytes.HasPrefix(x.text[at:x.inner.End], []byte(key.Value)):
		at += len(key.Value)
	}
	at = skipAny(x.text, Span{at, x.inner.End}, " \t")
	if at < x.inner.End && x.text[at] == ':' {
		return at + 1
	}
	return 0
}

// skipAny returns the first offset in the span whose byte is not in the set, or the end.
func skipAny(text []byte, within Span, set string) int {
	at := within.Start
	for at < within.End && bytes.IndexByte([]byte(set), text[at]) >= 0 {
		at++
	}
	return at
}

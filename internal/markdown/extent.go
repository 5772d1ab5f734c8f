package markdown

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// An extent knows where the nodes of a frontmatter stand in the text. The YAML module says where a
// node begins, by line and column in characters; where it ends is found here. An edit that relies on
// it reads its result again, so an end that is found wrong refuses the edit and spoils nothing.
type extent struct {
	text  []byte
	inner Span
	lines []int // the offset of each line, as YAML breaks lines
}

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

// breakLen is the length of the line break that the text begins with, 0 if it begins with none.
// YAML knows more of them than Markdown.
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

// lineOffset is where a line of the YAML, counted from 1, begins.
func (x *extent) lineOffset(line int) int {
	return x.lines[max(1, min(line, len(x.lines)))-1]
}

// fileLine is the line of the file that the offset stands in. The frontmatter begins at line 1.
func (x *extent) fileLine(at int) int {
	return 1 + bytes.Count(x.text[:at], []byte{'\n'})
}

// offset is where a node begins.
func (x *extent) offset(n *yaml.Node) int {
	at := x.lineOffset(n.Line)
	for i := 1; i < n.Column && at < x.inner.End; i++ {
		_, size := utf8.DecodeRune(x.text[at:x.inner.End])
		at += size
	}
	return at
}

// problem makes a Problem at a node.
func (x *extent) problem(n *yaml.Node, message string) *Problem {
	return &Problem{x.fileLine(x.offset(n)), message}
}

// entries are the fields of a mapping. In one that is written in braces they are given no place:
// nothing is edited there.
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

// place is where the field stands whose key is the i-th node of the mapping.
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

// lineNext is the offset behind the line that an offset stands in. The frontmatter ends with its last
// line, where YAML puts what is not written at all.
func (x *extent) lineNext(at int) int { return min(lineNext(x.text, at), x.inner.End) }

// colon is the offset after the colon behind a key, 0 if the key is not first in its line, or is not
// written as a word or in quotes with a colon behind it.
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

// skipAny is the first offset in the span whose byte is none of the set, the end if there is none.
func skipAny(text []byte, within Span, set string) int {
	at := within.Start
	for at < within.End && bytes.IndexByte([]byte(set), text[at]) >= 0 {
		at++
	}
	return at
}

package yamltext

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// set returns the text with a value at a path.
func (d *doc) set(path []string, value any) ([]byte, error) {
	if d.root == nil {
		return d.append(path, value), nil
	}
	at, n := 0, d.root
	for at < len(path)-1 {
		_, v := member(n, path[at])
		if v == nil || v.Kind != yaml.MappingNode {
			break
		}
		n = v
		at++
	}
	for i := len(path) - 1; i > at; i-- { // missing mappings are created with the value
		value = Map{{path[i], value}}
	}
	k, v := member(n, path[at])
	inFlow := n.Style&yaml.FlowStyle != 0
	switch {
	case k == nil && inFlow:
		return d.insertFlow(n, path[at], value)
	case k == nil:
		return d.insertBlock(n, path[at], value), nil
	case inFlow:
		return d.replaceFlow(k, v, value)
	}
	return d.replaceBlock(n, k, v, value)
}

// append returns the text with a first entry at its end.
func (d *doc) append(path []string, value any) []byte {
	for i := len(path) - 1; i > 0; i-- {
		value = Map{{path[i], value}}
	}
	text := slices.Clone(d.text)
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, d.line()...)
	}
	return append(text, d.block(path[0], value, 0)...)
}

// line returns the line break of the text.
func (d *doc) line() string {
	if d.crlf {
		return "\r\n"
	}
	return "\n"
}

// block returns an entry in block style, with its lines indented by a number of spaces.
func (d *doc) block(key string, value any, indent int) string {
	head := strings.Repeat(" ", indent) + scalar(key) + ":"
	m, isMap := value.(Map)
	if !isMap || len(m) == 0 {
		return head + " " + flow(value) + d.line()
	}
	var b strings.Builder
	b.WriteString(head + d.line())
	for _, e := range m {
		b.WriteString(d.block(e.Key, e.Value, indent+2))
	}
	return b.String()
}

// splice returns the text with the bytes of a range replaced.
func (d *doc) splice(from, to int, with string) []byte {
	return slices.Concat(d.text[:from], []byte(with), d.text[to:])
}

// offset returns the offset at which a node begins.
func (d *doc) offset(n *yaml.Node) int {
	at := d.lines[min(n.Line-1, len(d.lines)-1)]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(d.text[min(at, len(d.text)):])
		at += size
	}
	return min(at, len(d.text))
}

// indentOf returns the number of spaces before the keys of a block mapping.
func indentOf(n *yaml.Node) int { return n.Content[0].Column - 1 }

// insertBlock returns the text with a new entry after the last one of a block mapping.
func (d *doc) insertBlock(n *yaml.Node, key string, value any) []byte {
	last := n.Content[len(n.Content)-2:]
	end := d.entryEnd(last[0], last[1])
	entry := d.block(key, value, indentOf(n))
	if end > 0 && d.text[end-1] != '\n' {
		return d.splice(end, end, d.line()+strings.TrimRight(entry, "\r\n"))
	}
	return d.splice(end, end, entry)
}

// entryEnd returns the end of the lines of an entry: after the last line with a part of its value.
func (d *doc) entryEnd(k, v *yaml.Node) int {
	indent, last := k.Column-1, k.Line-1
	literal := v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	for i := k.Line; i < len(d.lines); i++ {
		line := d.lineText(i)
		text := bytes.TrimLeft(line, " ")
		spaces := len(line) - len(text)
		text = bytes.TrimSpace(text)
		item := v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle == 0 && spaces == indent &&
			(bytes.HasPrefix(text, []byte("- ")) || string(text) == "-")
		switch {
		case len(text) == 0:
			continue
		case text[0] == '#' && (!literal || spaces <= indent):
			continue
		case spaces <= indent && !item || spaces == 0 && isMarker(text):
			return d.lineAfter(last)
		}
		last = i
	}
	return d.lineAfter(last)
}

// isMarker reports whether a line begins or ends a document.
func isMarker(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("..."))
}

func (d *doc) lineText(i int) []byte { return d.text[d.lines[i]:d.lineAfter(i)] }

// lineAfter returns the offset of the line after another.
func (d *doc) lineAfter(i int) int {
	if i+1 < len(d.lines) {
		return d.lines[i+1]
	}
	return len(d.text)
}

// replaceBlock returns the text with a new value of an entry of a block mapping. A comment after a
// value on one line is kept.
func (d *doc) replaceBlock(n, k, v *yaml.Node, value any) ([]byte, error) {
	colon := d.colon(k)
	if colon < 0 {
		return nil, ErrNotEditable
	}
	end := d.entryEnd(k, v)
	comment := ""
	if first := d.lineAfter(k.Line - 1); end <= first {
		comment = d.commentIn(colon, first)
	}
	tail := ""
	if end == len(d.text) && (end == 0 || d.text[end-1] != '\n') {
		tail = "no line"
	}
	now := strings.TrimPrefix(d.block(k.Value, value, indentOf(n)), d.keyText(k, n))
	if comment != "" {
		head, rest, _ := strings.Cut(now, d.line())
		now = head + " " + comment + d.line() + rest
	}
	if tail != "" {
		now = strings.TrimSuffix(now, d.line())
	}
	return d.splice(colon+1, end, now), nil
}

// keyText returns the text that block writes before the value of an entry.
func (d *doc) keyText(k, n *yaml.Node) string {
	return strings.Repeat(" ", indentOf(n)) + scalar(k.Value) + ":"
}

// colon returns the offset of the colon after a key, or -1 if it does not follow the key directly.
func (d *doc) colon(k *yaml.Node) int {
	at := d.scalarEnd(d.offset(k), k)
	for at < len(d.text) && d.text[at] == ' ' {
		at++
	}
	if at < len(d.text) && d.text[at] == ':' {
		return at
	}
	return -1
}

// scalarEnd returns the end of the scalar on one line that begins at an offset.
func (d *doc) scalarEnd(at int, n *yaml.Node) int {
	if at >= len(d.text) {
		return at
	}
	switch d.text[at] {
	case '"', '\'':
		return d.quoteEnd(at)
	case '&', '!': // after an anchor or a tag
		for at < len(d.text) && d.text[at] != ' ' && d.text[at] != '\n' {
			at++
		}
		for at < len(d.text) && d.text[at] == ' ' {
			at++
		}
		return d.scalarEnd(at, n)
	}
	return at + len(n.Value)
}

// quoteEnd returns the end of the quoted text that begins at an offset.
func (d *doc) quoteEnd(at int) int {
	quote := d.text[at]
	for i := at + 1; i < len(d.text); i++ {
		switch {
		case d.text[i] == '\\' && quote == '"':
			i++
		case d.text[i] == quote && quote == '\'' && i+1 < len(d.text) && d.text[i+1] == quote:
			i++
		case d.text[i] == quote:
			return i + 1
		}
	}
	return len(d.text)
}

// commentIn returns the comment of a line, from an offset on.
func (d *doc) commentIn(from, to int) string {
	for i := from; i < to; i++ {
		switch c := d.text[i]; {
		case c == '"' || c == '\'':
			if before := d.text[i-1]; before == ' ' || before == '[' || before == '{' || before == ',' {
				i = d.quoteEnd(i) - 1
			}
		case c == '#' && (d.text[i-1] == ' ' || d.text[i-1] == '\t'):
			return strings.TrimRight(string(d.text[i:to]), "\r\n")
		}
	}
	return ""
}

// remove returns the text without an entry.
func (d *doc) remove(path []string) ([]byte, error) {
	n := d.mapping(path[:len(path)-1])
	k, v := member(n, path[len(path)-1])
	if n.Style&yaml.FlowStyle != 0 {
		return d.removeFlow(n, k)
	}
	from := d.lines[k.Line-1]
	if len(bytes.TrimSpace(d.text[from:d.offset(k)])) > 0 {
		return nil, ErrNotEditable
	}
	return d.splice(from, d.entryEnd(k, v), ""), nil
}

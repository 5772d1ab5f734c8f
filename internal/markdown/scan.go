package markdown

import (
	"bytes"

	"go.yaml.in/yaml/v4"
)

// A bound is the context that determines the end of a YAML value: a block text ends at a line that
// is not indented more than the key, and no value extends to the next key.
type bound struct {
	indent int // number of columns before the key or the dash of the value
	limit  int // the largest possible offset of the end
}

// end returns the offset after the last byte of a node, without comments and blanks after it. Each
// notation of YAML has its own rule: brackets, a list of lines, quotes, a block text, and a plain
// text. There is none for mappings and aliases: an edit of such a value is checked like any other,
// and fails if the end is wrong.
func (x *extent) end(n *yaml.Node, b bound) int {
	at := x.skipTag(n, x.offset(n), b.limit)
	switch {
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
		return x.flowEnd(n, at, b.limit)
	case n.Kind == yaml.SequenceNode:
		if len(n.Content) == 0 {
			return at
		}
		return x.end(n.Content[len(n.Content)-1], bound{n.Column - 1, b.limit})
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return quotedEnd(x.text, at, b.limit)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return x.blockEnd(at, b)
	case n.Value == "":
		return at
	}
	return x.plainEnd(at, b.limit)
}

// skipTag returns the offset of a node after its tag, if it has one.
func (x *extent) skipTag(n *yaml.Node, at, limit int) int {
	if n.Style&yaml.TaggedStyle == 0 || at >= limit || x.text[at] != '!' {
		return at
	}
	for at < limit && bytes.IndexByte([]byte(" \t\r\n"), x.text[at]) < 0 {
		at++
	}
	if n.Value == "" && n.Kind == yaml.ScalarNode && n.Style&^yaml.TaggedStyle == 0 {
		return at
	}
	return skipAny(x.text, Span{at, limit}, " \t\r\n")
}

// quotedEnd returns the offset after the quote that closes the one at the offset, or limit.
func quotedEnd(text []byte, at, limit int) int {
	if at >= limit {
		return at
	}
	quote := text[at]
	for at++; at < limit; at++ {
		switch {
		case quote == '"' && text[at] == '\\':
			at++
		case text[at] == quote && quote == '\'' && at+1 < limit && text[at+1] == quote:
			at++
		case text[at] == quote:
			return at + 1
		}
	}
	return limit
}

// blockEnd returns the end of a literal or folded text whose header is at the offset: the end of
// its last line that is indented as its first. Blank lines after it are included only if the header
// says so (+).
func (x *extent) blockEnd(at int, b bound) int {
	header := x.text[at:lineEnd(x.text, at)]
	end, indent := at+len(header), b.indent+1
	if i := bytes.IndexByte(header, '#'); i >= 0 {
		header = header[:i]
	}
	keep := bytes.IndexByte(header, '+') >= 0
	explicit := bytes.ContainsAny(header, "123456789")
	for at = lineNext(x.text, at); at < b.limit; at = lineNext(x.text, at) {
		line := x.text[at:lineEnd(x.text, at)]
		columns := len(line) - len(bytes.TrimLeft(line, " "))
		blank := columns == len(line) && (columns <= indent || !explicit)
		if !blank && columns < indent {
			break
		}
		if !blank && !explicit {
			indent, explicit = columns, true
		}
		if !blank || keep {
			end = at + len(line)
		}
	}
	return end
}

// plainEnd returns the end of an unquoted text, which may continue on more lines. It ends at a
// comment, and at limit: the caller knows where the next value begins.
func (x *extent) plainEnd(at, limit int) int {
	end := at
	for at < limit {
		line := x.text[at:min(lineEnd(x.text, at), limit)]
		first := len(line) - len(bytes.TrimLeft(line, " \t"))
		if end != at && first < len(line) && line[first] == '#' {
			break
		}
		cut := commentStart(line)
		if text := bytes.TrimRight(line[:cut], " \t"); len(text) > 0 {
			end = at + len(text)
		}
		if cut < len(line) {
			break
		}
		at = lineNext(x.text, at)
	}
	return end
}

// commentStart returns the offset of the comment in a line, or the length of the line.
func commentStart(line []byte) int {
	for i := 1; i < len(line); i++ {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
	return len(line)
}

// flowEnd returns the offset after the bracket that closes the list at the offset. It skips a
// comma, blanks and comments after the last item.
func (x *extent) flowEnd(n *yaml.Node, at, limit int) int {
	at++
	if len(n.Content) > 0 {
		at = x.flowItemEnd(n.Content[len(n.Content)-1], limit)
	}
	for at < limit {
		at = skipAny(x.text, Span{at, limit}, " \t\r\n,")
		if at < limit && x.text[at] == '#' {
			at = lineEnd(x.text, at)
			continue
		}
		break
	}
	return min(at+1, limit)
}

// flowItemEnd returns the end of an item of a list in brackets.
func (x *extent) flowItemEnd(n *yaml.Node, limit int) int {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
	if n.Kind == yaml.SequenceNode || n.Style&quoted != 0 {
		return x.end(n, bound{0, limit})
	}
	at := x.skipTag(n, x.offset(n), limit)
	for at < limit && bytes.IndexByte([]byte(",[]{}"), x.text[at]) < 0 {
		if x.text[at] == '#' && (x.text[at-1] == ' ' || x.text[at-1] == '\t') {
			return at
		}
		at++
	}
	return at
}

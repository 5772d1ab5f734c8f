package search

import (
	"bytes"
	"unicode/utf8"
)

// longestUnit is the maximum length of a passage in bytes, about 400 English words. A passage is
// longer only if there is no place to cut it.
const longestUnit = 2400

// A textUnit is a passage: a part of a note that is scored on its own, either a section or a part
// of a long one.
type textUnit struct {
	span
	heading string // heading of its section; empty before the first heading
}

// A span is the position of a passage in the text: start and end offsets in bytes, and the first
// line, from 1.
type span struct{ start, end, line uint32 }

// CountUnits returns the number of passages that a note is divided into.
func CountUnits(n *Note) int { return len(cutNote(n)) }

// units returns the passages of a note. They cover the text without gaps, except for blank parts.
// There is at least one.
//
// The frontmatter comes first. It and each section are one or more passages.
func units(n *Note) []textUnit {
	list := cutNote(n)
	number(list, n.Text)
	return list
}

// cutNote returns the same as units, without the lines.
func cutNote(n *Note) []textUnit {
	var list []textUnit
	body := min(max(n.Body, 0), len(n.Text))
	// The frontmatter is a passage without a heading.
	list = cut(list, n.Text, textUnit{span: span{end: uint32(body)}})
	at, heading := body, ""
	for _, s := range n.Sections {
		// Offsets of the caller are clamped, so that passages never overlap.
		start := min(max(s.Start, at), len(n.Text))
		list = cut(list, n.Text, textUnit{span{start: uint32(at), end: uint32(start)}, heading})
		at, heading = start, s.Heading
	}
	list = cut(list, n.Text, textUnit{span{start: uint32(at), end: uint32(len(n.Text))}, heading})
	// A blank note is a single passage, because every document has a lead.
	if len(list) == 0 {
		list = []textUnit{{span: span{end: uint32(len(n.Text))}}}
	}
	return list
}

// cut appends a stretch of the text, divided into parts that are not too long. It skips blank
// parts.
func cut(list []textUnit, text []byte, u textUnit) []textUnit {
	for u.start < u.end {
		part := u
		part.end = u.start + uint32(partEnd(text[u.start:u.end]))
		if len(bytes.TrimSpace(text[part.start:part.end])) > 0 {
			list = append(list, part)
		}
		u.start = part.end
	}
	return list
}

// number sets the line of each passage: that of its first character that is not white space.
func number(list []textUnit, text []byte) {
	line, at := 1, 0
	for i := range list {
		u := &list[i]
		stretch := text[u.start:u.end]
		blank := len(stretch) - len(bytes.TrimLeft(stretch, " \t\r\n"))
		begin := int(u.start) + blank
		line += bytes.Count(text[at:begin], []byte{'\n'})
		u.line, at = uint32(line), begin
	}
}

// partEnd returns the length of the first part of a text, which ends between words. In the second
// half of longestUnit it looks for the last blank line, else the last end of a sentence, else of
// a line, else the last space. If there is none, the part ends at the next space, or full stop
// that needs no space.
func partEnd(text []byte) int {
	if len(text) <= longestUnit {
		return len(text)
	}
	half := longestUnit / 2
	// Cutting in the first half would create very short passages.
	for _, find := range []func([]byte) int{blankLine, sentence, lineBreak, space} {
		if n := find(text[half:longestUnit]); n > 0 {
			return half + n
		}
	}
	for at := longestUnit; at < len(text); at++ {
		if isSpace(text[at]) {
			return at + 1
		}
		if n := fullStop(text[at:]); n > 0 {
			return at + n
		}
	}
	return len(text)
}

// blankLine returns the offset after the last blank line of a text; 0 if there is none.
func blankLine(text []byte) int {
	return max(after(text, "\n\n"), after(text, "\n\r\n"))
}

// lineBreak returns the offset after the last line break; 0 if there is none.
func lineBreak(text []byte) int { return after(text, "\n") }

// space returns the offset after the last space; 0 if there is none.
func space(text []byte) int { return bytes.LastIndexAny(text, " \t\n") + 1 }

// after returns the offset after the last occurrence of mark; 0 if there is none.
func after(text []byte, mark string) int {
	if i := bytes.LastIndex(text, []byte(mark)); i >= 0 {
		return i + len(mark)
	}
	return 0
}

// sentence returns the offset after the last complete sentence of a text; 0 if there is none.
func sentence(text []byte) int {
	for i := len(text) - 1; i > 0; i-- {
		if isSpace(text[i]) && bytes.IndexByte([]byte(".!?"), text[i-1]) >= 0 {
			return i + 1
		}
		if n := fullStop(text[i:]); n > 0 {
			return i + n
		}
	}
	return 0
}

// fullStop returns the length of the full stop that a text begins with, if it is one that no
// space follows, as in Chinese and Japanese; else 0.
func fullStop(text []byte) int {
	switch r, n := utf8.DecodeRune(text); r {
	case '。', '！', '？', '।':
		return n
	}
	return 0
}

// isSpace reports whether a byte is ASCII white space.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

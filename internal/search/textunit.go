package search

import (
	"bytes"
	"unicode/utf8"
)

// longestUnit is how many bytes a unit has at most, but where no better place to cut is found:
// about 400 English words.
const longestUnit = 2400

// A textUnit is a part of a note that is scored on its own: a section, or a part of a long one.
type textUnit struct {
	span
	heading string // that it stands under; empty before the first
}

// A span says where a unit is in the text: from a byte up to another, in a line from 1 on.
type span struct{ start, end, line uint32 }

// CountUnits is the number of units that a note is cut into.
func CountUnits(n *Note) int { return len(cutNote(n)) }

// units cuts a note's text. The units follow each other without a gap from the first byte to the
// last; only blank ones are left out. There is at least one.
func units(n *Note) []textUnit {
	list := cutNote(n)
	number(list, n.Text)
	return list
}

// cutNote is units without their lines.
func cutNote(n *Note) []textUnit {
	var list []textUnit
	body := min(max(n.Body, 0), len(n.Text))
	list = cut(list, n.Text, textUnit{span: span{end: uint32(body)}})
	at, heading := body, ""
	for _, s := range n.Sections {
		start := min(max(s.Start, at), len(n.Text))
		list = cut(list, n.Text, textUnit{span{start: uint32(at), end: uint32(start)}, heading})
		at, heading = start, s.Heading
	}
	list = cut(list, n.Text, textUnit{span{start: uint32(at), end: uint32(len(n.Text))}, heading})
	if len(list) == 0 {
		list = []textUnit{{span: span{end: uint32(len(n.Text))}}}
	}
	return list
}

// cut appends a stretch of the text, in parts that are not too long.
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

// number sets the lines: each unit begins at its first character that is no space.
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

// partEnd is where to cut a text, so that no word is in two parts: at the last blank line of what a
// unit may hold, else behind a sentence, else at a line, else at a space; if there is none of these
// in its second half, at the next space.
func partEnd(text []byte) int {
	if len(text) <= longestUnit {
		return len(text)
	}
	half := longestUnit / 2
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

// blankLine is where the last blank line of a text ends; 0 if there is none.
func blankLine(text []byte) int {
	return max(after(text, "\n\n"), after(text, "\n\r\n"))
}

func lineBreak(text []byte) int { return after(text, "\n") }

func space(text []byte) int { return bytes.LastIndexAny(text, " \t\n") + 1 }

func after(text []byte, mark string) int {
	if i := bytes.LastIndex(text, []byte(mark)); i >= 0 {
		return i + len(mark)
	}
	return 0
}

// sentence is where the last sentence that a text holds ends; 0 if none does.
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

// fullStop is the length of a full stop that no space follows, as Chinese and Japanese have it.
func fullStop(text []byte) int {
	switch r, n := utf8.DecodeRune(text); r {
	case '。', '！', '？', '।':
		return n
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

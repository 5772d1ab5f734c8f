package markdown

import (
	"bytes"
	"slices"
	"strings"
)

// SetBody gives a note another text behind its frontmatter, as it is, but for its line breaks, which become those
// of the note, and a line break at its end, which it gets. The frontmatter keeps its bytes, also one with a Problem.
// A text that would be read as a frontmatter in its new place gets a blank line before it.
func SetBody(text []byte, body string) []byte {
	h := readHead(text)
	head, eol := text[:h.end], lineBreak(text)
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	added := []byte(withBreaks(body, eol))
	switch fenced := len(bytes.TrimPrefix(head, []byte(bom))) > 0; {
	case fenced && len(added) > 0 && !bytes.HasSuffix(head, []byte{'\n'}):
		added = slices.Concat([]byte(eol), added)
	case !fenced && isHead(head, added):
		added = slices.Concat([]byte(eol), added)
	}
	return slices.Concat(head, added)
}

// isHead reports whether a text behind another has a frontmatter, where the other has none.
func isHead(before, text []byte) bool {
	whole := slices.Concat(before, text)
	return readHead(whole).end > len(before)
}

// AddBytes adds a text at the end of a note, to the byte. Only where the note ends with its frontmatter and has no
// line break there, it gets one: the text would change the frontmatter.
func AddBytes(text []byte, more string) []byte {
	h := readHead(text)
	if fenced := h.end > len(bom); fenced && h.end == len(text) && !bytes.HasSuffix(text, []byte{'\n'}) {
		return slices.Concat(text, []byte(lineBreak(text)), []byte(more))
	}
	return slices.Concat(text, []byte(more))
}

package markdown

import (
	"bytes"
	"slices"
	"strings"
)

// SetBody replaces the text after the frontmatter, and returns the new note. The line breaks of
// body become those of the note, and a line break is added at its end if it has none. Otherwise
// body and the frontmatter keep their bytes, even if the frontmatter has a Problem. A blank line is
// added before a body that would otherwise be parsed as a frontmatter. Unlike ReplaceBody, it never
// fails and adds no other blank line.
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

// isHead reports whether a text after before would be parsed as a frontmatter. before has none.
func isHead(before, text []byte) bool {
	whole := slices.Concat(before, text)
	return readHead(whole).end > len(before)
}

// AddBytes appends a text to a note without changing its bytes. It adds a line break before the
// text only if the note ends with its frontmatter and without a line break, because the text would
// change the frontmatter.
func AddBytes(text []byte, more string) []byte {
	h := readHead(text)
	if fenced := h.end > len(bom); fenced && h.end == len(text) && !bytes.HasSuffix(text, []byte{'\n'}) {
		return slices.Concat(text, []byte(lineBreak(text)), []byte(more))
	}
	return slices.Concat(text, []byte(more))
}

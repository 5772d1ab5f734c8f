package markdown

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// probe is the text of a heading that no note contains.
const probe = "7d0c4f6e probe"

// Unclosed reports whether the last block of a note is open, such as a fence, a comment or an HTML
// block that is not closed: a heading that is appended to the text would not be a heading. It tests
// exactly that: it appends a heading and parses the blocks. A text without the beginning of such a
// block is not parsed. It returns false for a text that exceeds the bounds of Parse.
func Unclosed(text []byte) bool {
	defer acquire(len(text))()
	body := text
	if _, end, ok := fence(text, len(text)-len(bytes.TrimPrefix(text, []byte(bom)))); ok {
		body = text[end:]
	}
	if !mayStayOpen(body) {
		return false
	}
	probed := slices.Concat(body, []byte("\n\n# "+probe+"\n"))
	root, _, crowded := parseBlocks(probed)
	if crowded {
		return false
	}
	last, ok := root.LastChild().(*ast.Heading)
	return !ok || string(last.Lines().Value(probed)) != probe
}

// mayStayOpen reports whether a text contains the beginning of a block that is open until it is
// closed. It saves Unclosed the parsing of most notes.
func mayStayOpen(body []byte) bool {
	return slices.ContainsFunc([]string{"```", "~~~", "<"}, func(mark string) bool {
		return bytes.Contains(body, []byte(mark))
	})
}

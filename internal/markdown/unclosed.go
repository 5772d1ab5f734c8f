package markdown

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// probe is a heading that no text has.
const probe = "7d0c4f6e probe"

// Unclosed reports whether the last block of a note stays open: whether a heading that is written behind the text would
// be none, as in a fence, a comment or a block of HTML that is not closed. It is false for a text that has more blocks
// than Parse reads.
func Unclosed(text []byte) bool {
	defer enter(len(text))()
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

// mayStayOpen reports whether a text has what a block begins with that stays open until it is closed.
func mayStayOpen(body []byte) bool {
	return slices.ContainsFunc([]string{"```", "~~~", "<"}, func(mark string) bool {
		return bytes.Contains(body, []byte(mark))
	})
}

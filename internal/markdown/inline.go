package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxInline is the longest heading, in bytes, whose emphasis, code and links are found. A longer one
// is read as plain text: the time to find them can be the square of the length.
const maxInline = 1024

// markup is the bytes that emphasis, code, links and HTML begin with. A text without them is plain.
const markup = "*_`[]!<"

// inlineParser reads one paragraph, and what stands in it.
var inlineParser = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// An inlineReader reads the lines of blocks of a body.
type inlineReader struct {
	body []byte
	pc   parser.Context // knows the link definitions of the body
}

// text is what stands in the lines directly: what is in emphasis, in code, or the label of a link is
// left out. Lines are joined without a blank, as Raven joins them, because slugs come from it.
func (r inlineReader) text(lines *text.Segments) string {
	source := lines.Value(r.body)
	if lines.Len() == 1 && !bytes.ContainsAny(source, markup) {
		return trimTitle(string(source))
	}
	if len(source) > maxInline {
		return trimTitle(string(bytes.ReplaceAll(source, []byte{'\n'}, nil)))
	}
	root := inlineParser.Parse(text.NewReader(source), parser.WithContext(r.pc))
	paragraph := root.FirstChild()
	if paragraph == nil {
		return ""
	}
	var b strings.Builder
	for n := paragraph.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	return trimTitle(b.String())
}

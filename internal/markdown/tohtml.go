package markdown

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"math"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML returns the text behind the frontmatter of a note as HTML, by CommonMark. HTML in the text is left out, and
// so are links that run a script, so that the result is safe to open. A block with more than 400 brackets, stars,
// underscores, backticks and angle brackets is text as it is: to read them takes the square of their number. So is a body
// with more than MaxOpen, or more than 100,000 blocks.
func HTML(body []byte) ([]byte, error) {
	defer enter(len(body))()
	source := unixBreaks(string(body))
	root, _, nested := parseWith(htmlParser, text.NewReader(source))
	if nested {
		return fmt.Appendf(nil, "<pre>%s</pre>\n", stdhtml.EscapeString(string(source))), nil
	}
	var out bytes.Buffer
	if err := htmlRenderer.Render(&out, source, root); err != nil {
		return nil, fmt.Errorf("render a note: %w", err)
	}
	return out.Bytes(), nil
}

// htmlParser reads all of a note.
var htmlParser = newParser(
	util.Prioritized(crowded{}, 50),
	util.Prioritized(parser.NewCodeSpanParser(), 100),
	util.Prioritized(parser.NewLinkParser(), 200),
	util.Prioritized(parser.NewAutoLinkParser(), 300),
	util.Prioritized(parser.NewRawHTMLParser(), 400),
	util.Prioritized(parser.NewEmphasisParser(), 500),
)

// htmlRenderer writes nothing that a browser would run.
var htmlRenderer = renderer.NewRenderer(
	renderer.WithNodeRenderers(util.Prioritized(html.NewRenderer(), 1000)),
)

// maxCrowded is how many marks a block has at most that is read as Markdown; see HTML.
const maxCrowded = 400

// A crowded parser takes the text of a block with too many marks in one piece.
type crowded struct{ unread }

// lastBlockKey is where a context keeps the block that is being read.
var lastBlockKey = parser.NewContextKey()

// Parse leaves blocks with few marks to the other parsers.
func (crowded) Parse(block ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if pc.Get(lastBlockKey) == block {
		return nil
	}
	pc.Set(lastBlockKey, block)
	written := block.Lines().Value(r.Source())
	if marksIn(written) <= maxCrowded {
		return nil
	}
	_, at := r.Position()
	r.SetPosition(math.MaxInt, at)
	node := ast.NewString(written)
	node.SetRaw(true)
	return node
}

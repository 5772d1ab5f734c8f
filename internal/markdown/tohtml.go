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

// HTML returns the text after the frontmatter of a note as HTML by CommonMark. HTML in the text and
// links that run scripts are removed, so that the result is safe to open. A block with more than
// 400 brackets, stars, underscores, backticks and angle brackets is plain text, because parsing
// takes quadratic time in that number. So is a whole body that exceeds MaxOpen, or has more than
// 100,000 blocks.
func HTML(body []byte) ([]byte, error) {
	defer acquire(len(body))()
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

// htmlParser parses all of a body.
var htmlParser = newParser(
	util.Prioritized(crowdedParser{}, 50),
	util.Prioritized(parser.NewCodeSpanParser(), 100),
	util.Prioritized(parser.NewLinkParser(), 200),
	util.Prioritized(parser.NewAutoLinkParser(), 300),
	util.Prioritized(parser.NewRawHTMLParser(), 400),
	util.Prioritized(parser.NewEmphasisParser(), 500),
)

// htmlRenderer writes no scripts and no HTML of the note.
var htmlRenderer = renderer.NewRenderer(
	renderer.WithNodeRenderers(util.Prioritized(html.NewRenderer(), 1000)),
)

// maxCrowded is the largest number of marks in a block that is parsed as Markdown; see HTML.
const maxCrowded = 400

// A crowdedParser is an inline parser that returns the text of a block with too many marks as one node.
type crowdedParser struct{ textSkipper }

// lastBlockKey is the key of the block that is being parsed.
var lastBlockKey = parser.NewContextKey()

// Parse returns nil for a block with few marks, so that the other parsers parse it.
func (crowdedParser) Parse(block ast.Node, r text.Reader, pc parser.Context) ast.Node {
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

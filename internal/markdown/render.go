package markdown

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A rendered is one line of a block as Raven shows it, without markup. Traits and tags are found in
// it, because Raven finds them there: `**@due**` is a trait, and the text of a link is searched as
// well. The buffers are reused from line to line.
type rendered struct {
	text   []byte
	from   []int // the offset in the block of each byte
	closed int   // the result of the last search for a closing parenthesis

	rest []byte // a buffer of without
}

// render sets r to the visible text of a line of the block. at ends before the line break.
func (p *prose) render(r *rendered, at Span) {
	r.text, r.from = slices.Grow(r.text[:0], at.End-at.Start), slices.Grow(r.from[:0], at.End-at.Start)
	r.closed = 0
	next := sort.Search(len(p.atoms), func(i int) bool { return p.atoms[i].Start >= at.Start })
	for i := at.Start; i < at.End; {
		for next < len(p.atoms) && p.atoms[next].Start < i {
			next++
		}
		if next < len(p.atoms) && p.atoms[next].Start == i && p.marks[i] == literal {
			if a := p.atoms[next]; a.kind == codeAtom && a.End <= at.End && !p.inWiki(a.Span) {
				p.renderCode(r, a)
				i = a.End
				continue
			}
		}
		if p.marks[i] != hidden {
			r.add(p.src[i], i)
		}
		i++
	}
}

// inWiki reports whether a code span is part of a wikilink, where it is shown as written.
func (p *prose) inWiki(at Span) bool {
	i := sort.Search(len(p.wikis), func(i int) bool { return p.wikis[i].End >= at.End })
	return i < len(p.wikis) && p.wikis[i].Start <= at.Start
}

// renderCode adds code as Raven does: between one backtick more than its longest run of backticks.
func (p *prose) renderCode(r *rendered, a atom) {
	code := p.src[a.text.Start:a.text.End]
	longest := 0
	for i := 0; i < len(code); i++ {
		if code[i] == '`' {
			n := runLen(code, i)
			longest = max(longest, n)
			i += n - 1
		}
	}
	for range longest + 1 {
		r.add('`', a.Start)
	}
	for i, c := range code {
		r.add(c, a.text.Start+i)
	}
	for range longest + 1 {
		r.add('`', a.End-1)
	}
}

// add appends a byte of the line; from is the offset in the block of the byte that it comes from.
func (r *rendered) add(c byte, from int) {
	r.text = append(r.text, c)
	r.from = append(r.from, from)
}

// closing returns the offset of the first closing parenthesis from at on, or the length of the
// text. Calls with ascending offsets take linear time together.
func (r *rendered) closing(at int) int {
	if r.closed < at || r.closed < len(r.text) && r.text[r.closed] != ')' {
		r.closed = len(r.text)
		if n := bytes.IndexByte(r.text[at:], ')'); n >= 0 {
			r.closed = at + n
		}
	}
	return r.closed
}

// without returns the text without annotations, which must be in order, and with blanks collapsed.
func (r *rendered) without(all []annotation) string {
	r.rest = r.rest[:0]
	at := 0
	for _, a := range all {
		r.rest = append(r.rest, r.text[at:a.whole.Start]...)
		at = a.whole.End
	}
	r.rest = append(r.rest, r.text[at:]...)
	return collapse(r.rest)
}

// collapse returns a text with one space in place of each run of blanks, and no blanks around it.
// It overwrites text.
func collapse(text []byte) string {
	out := text[:0]
	for word := range bytes.FieldsSeq(text) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, word...)
	}
	return valid(out)
}

// valid returns a text as valid UTF-8, with U+FFFD in place of invalid bytes.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}

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
	definitionTransformer{},
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

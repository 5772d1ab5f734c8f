package markdown

import (
	"bytes"
	"math"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDepth is the deepest nesting of block quotes and lists. A deeper marker is text. Without a
// bound, parsing would take quadratic time in the depth.
const maxDepth = 100

// newParser returns a parser of the blocks of a note, with a transformer for its link definitions
// and with these parsers for inline text. It has the block parsers of goldmark in their usual
// order, without extensions. Each is wrapped in counted, which counts the blocks for maxBlocks, and
// those of lists and quotes in shallow, which bounds the nesting.
func newParser(definitions definitionTransformer, inline ...util.PrioritizedValue) parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(countingParser{parser.NewSetextHeadingParser()}, 100),
			util.Prioritized(countingParser{parser.NewThematicBreakParser()}, 200),
			util.Prioritized(depthLimiter{countingParser{parser.NewListParser()}}, 300),
			util.Prioritized(countingParser{parser.NewListItemParser()}, 400),
			util.Prioritized(countingParser{parser.NewCodeBlockParser()}, 500),
			util.Prioritized(countingParser{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(countingParser{parser.NewFencedCodeBlockParser()}, 700),
			util.Prioritized(depthLimiter{countingParser{parser.NewBlockquoteParser()}}, 800),
			util.Prioritized(countingParser{parser.NewHTMLBlockParser()}, 900),
			util.Prioritized(countingParser{parser.NewParagraphParser()}, 1000),
		),
		parser.WithParagraphTransformers(util.Prioritized(definitions, 100)),
		parser.WithInlineParsers(inline...),
	)
}

// blockParser parses the blocks of a note, but not their inline text, which prose parses.
var blockParser = newParser(definitionTransformer{}, util.Prioritized(textSkipper{}, 100))

// parseBlocks returns the tree of the blocks of a body, and the context with its link definitions.
// crowded reports that the body exceeds MaxOpen or maxBlocks, and that the tree ends there.
//
// The offsets of the nodes are relative to body. Inline nodes have no meaning; see unread.
func parseBlocks(body []byte) (root ast.Node, defs parser.Context, crowded bool) {
	return parseWith(blockParser, text.NewReader(body))
}

// parseWith parses a body with a parser; the results are those of parseBlocks. The context contains
// the count of blocks at countKey.
func parseWith(p parser.Parser, body text.Reader) (root ast.Node, defs parser.Context, crowded bool) {
	r := &lineReader{Reader: body, context: parser.NewContext()}
	r.context.Set(countKey, &r.count)
	return p.Parse(r, parser.WithContext(r.context)), r.context, r.crowded
}

// MaxOpen is the bound on the open blocks of the lines of a body, summed up to the next line where
// no block is open. The open blocks of a line are those that contain it: a list item counts as two,
// because its list is one too, the line itself counts as one, and each line counts as three at
// least. goldmark keeps the blocks of each such line, so this bounds the memory of parsing.
const MaxOpen = 250_000

// maxBlocks is the largest number of blocks of a body. A paragraph that begins with a link
// definition counts as three. Each block is a node of the tree.
const maxBlocks = 100_000

// A blockCount is the number of blocks that were opened, and how many of them are headings. The latter
// lets readBody allocate the headings once.
type blockCount struct{ blocks, headings int }

// countKey is the key of the *count in a context.
var countKey = parser.NewContextKey()

// A countingParser is a block parser that counts the blocks that it opens, in the *count of the context.
type countingParser struct{ parser.BlockParser }

// Open opens a block, and counts it.
func (c countingParser) Open(p ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := c.BlockParser.Open(p, r, pc)
	if node != nil {
		n := pc.Get(countKey).(*blockCount)
		n.blocks++
		if node.Kind() == ast.KindHeading {
			n.headings++
		}
	}
	return node, state
}

// maxDefinitionLines is the longest paragraph, in lines, in which link definitions are parsed. That
// takes quadratic time in the length.
const maxDefinitionLines = 1000

// A definitionTransformer is a paragraph transformer that removes the link definitions at the start of a
// paragraph.
//
// A footnote is no link definition, although CommonMark parses `[^1]: [[note]]` as one: it is text,
// so that its references, tags and traits count. It ends the definitions. With plain, the
// transformer follows CommonMark.
type definitionTransformer struct{ plain bool }

// Transform does nothing for a paragraph that is too long, or that does not begin with a
// definition.
func (d definitionTransformer) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	lines := p.Lines()
	if lines.Len() > maxDefinitionLines || lines.Len() == 0 {
		return
	}
	first := segment(r, lines, 0)
	if start := first[util.TrimLeftSpaceLength(first):]; len(start) == 0 || start[0] != '[' {
		return
	}
	end := 0
	for end < lines.Len() && (d.plain || !footnote.Match(segment(r, lines, end))) {
		end++
	}
	if end == 0 {
		return
	}
	pc.Get(countKey).(*blockCount).blocks += 2
	parent, footnotes := p.Parent(), slices.Clone(lines.Sliced(end, lines.Len()))
	lines.SetSliced(0, end)
	parser.LinkReferenceParagraphTransformer.Transform(p, r, pc)
	if len(footnotes) == 0 {
		return
	}
	if p.Parent() == nil { // all lines before the footnotes were definitions
		parent.AppendChild(parent, p)
	}
	p.Lines().AppendAll(footnotes)
}

// segment returns a line of a paragraph.
func segment(r text.Reader, lines *text.Segments, i int) []byte {
	line := lines.At(i)
	return r.Source()[line.Start:line.Stop]
}

// A textSkipper is an inline parser that skips the text of a block. Without it, goldmark would look at
// every byte and create a node for every line.
type textSkipper struct{}

// skipperKey is the key of the node that textSkipper returned last.
var skipperKey = parser.NewContextKey()

// Trigger returns the bytes that a block can begin with: punctuation, and a blank, which goldmark
// uses for all other bytes.
func (textSkipper) Trigger() []byte { return []byte(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") }

// Parse skips to the end of the block. All blocks share one node, because no code reads it.
//
// Setting the position beyond the last line ends the block for goldmark, which then does not call
// the parser for the other lines.
func (textSkipper) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, at := block.Position()
	block.SetPosition(math.MaxInt, at)
	return pc.ComputeIfAbsent(skipperKey, func() any { return ast.NewText() }).(ast.Node)
}

// A depthLimiter is a parser of containers that opens them only down to maxDepth.
type depthLimiter struct{ parser.BlockParser }

// Open opens a container unless its parent is at maxDepth. It calls the list parser even then,
// because only that call records that another item follows.
func (s depthLimiter) Open(p ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if p.Kind() != ast.KindList && depth(p) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(p, r, pc)
}

// depth returns the number of quotes and lists that contain a node, itself included.
func depth(n ast.Node) int {
	d := 0
	for ; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindBlockquote || k == ast.KindList {
			d++
		}
	}
	return d
}

// A lineReader skips all but two blank lines of a run: more have no effect on the block structure,
// and each costs time and memory for every open list. It ends the text where MaxOpen or maxBlocks
// is exceeded.
type lineReader struct {
	text.Reader
	context parser.Context
	blank   int
	open    int // the sum that MaxOpen bounds
	count   blockCount
	crowded bool
}

// AdvanceLine advances to the next line that is not skipped, or to the end if a bound is exceeded.
func (r *lineReader) AdvanceLine() {
	if n := len(r.context.OpenedBlocks()); n > 0 {
		r.open += max(n+1, 3)
	} else {
		r.open = 0
	}
	if r.crowded = r.crowded || r.open > MaxOpen || r.count.blocks > maxBlocks; r.crowded {
		for line, _ := r.PeekLine(); line != nil; line, _ = r.PeekLine() {
			r.Reader.AdvanceLine()
		}
		return
	}
	for {
		r.Reader.AdvanceLine()
		line, _ := r.PeekLine()
		if line == nil || !util.IsBlank(line) {
			r.blank = 0
			return
		}
		if r.blank++; r.blank <= 2 {
			return
		}
	}
}

// SkipBlankLines advances to the next line with text. The count of blank lines restarts there.
func (r *lineReader) SkipBlankLines() (text.Segment, int, bool) {
	r.blank = 0
	return r.Reader.SkipBlankLines()
}

// A Block is a paragraph or a list item with an id: `^id` at the end of its last line, or on a line
// of its own. References to it are written `[[note#^id]]`.
type Block struct {
	ID   string // without ^
	Line int    // of the file
}

// blockID records the block id at the end of a line, if there is one: a ^ at the start of the line
// or after a blank, followed by ASCII letters, digits and dashes only. line is without its line
// break; number is its line of the file.
func (b *bodyReader) blockID(line []byte, number int) {
	line = bytes.TrimRight(line, " \t")
	at := bytes.LastIndexByte(line, '^')
	if at < 0 || at+1 == len(line) || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' {
		return
	}
	id := line[at+1:]
	for _, c := range id {
		if !isLetter(c) && !isDigit(c) && c != '-' {
			return
		}
	}
	b.doc.Blocks = append(b.doc.Blocks, Block{string(id), number})
}

// probe is the text of a heading that no note contains.
const probe = "7d0c4f6e probe"

// Unclosed reports whether the last block of a note is open, such as a fence, a comment or an HTML
// block that is not closed: a heading that is appended to the text would not be a heading. It tests
// exactly that: it appends a heading and parses the blocks. A text without the beginning of such a
// block is not parsed. It returns false for a text that exceeds the bounds of Parse.
func Unclosed(text []byte) bool {
	defer acquire(len(text))()
	body := text
	if _, end, ok := fence(text, afterBOM(text)); ok {
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

// A Body is the own text of a part of a note: after the heading and the declaration of the part, up
// to the next heading at the top. It does not include the blank lines around it and the line break
// at its end.
type Body struct {
	Span
	Embeds bool // the text is exactly one `![[target]]`
}

// Bodies returns the own text of the note, and then that of each heading in the order of
// d.Headings. It is the zero Body for the title and for a heading that is not at the top, which is
// in the text of another part. text must be the text that d was parsed from.
//
// The parts do not overlap, and together they contain all of the body except headings at the top,
// declarations and blank lines. Embeds lets a caller show the embedded part in place of the body.
func (d *Doc) Bodies(text []byte) []Body {
	all := make([]Body, 1+len(d.Headings))
	at, from := 0, d.Body
	for i, h := range d.Headings {
		if h.Title {
			from = h.Content
			continue
		}
		if !h.Top {
			continue
		}
		all[at] = d.body(text, Span{from, h.Own.Start})
		at, from = 1+i, h.Content
		if h.Declaration != nil {
			from = h.Declaration.Span.End
		}
	}
	all[at] = d.body(text, Span{from, len(text)})
	return all
}

// body returns the Body in a span of a note.
func (d *Doc) body(text []byte, s Span) Body {
	part := bytes.TrimRight(text[s.Start:max(s.Start, s.End)], " \t\r\n")
	b := Body{Span: Span{s.Start, s.Start + len(part)}}
	for {
		line, rest, found := bytes.Cut(part, []byte("\n"))
		if !found || len(bytes.TrimSpace(line)) > 0 {
			break
		}
		part = rest
	}
	b.Start = b.End - len(part)
	b.Embeds = d.embeds(part, b.Span)
	return b
}

// embeds reports whether a text is exactly one embed.
func (d *Doc) embeds(part []byte, s Span) bool {
	if !bytes.HasPrefix(part, []byte("![[")) {
		return false
	}
	return slices.ContainsFunc(d.References, func(r Reference) bool {
		return r.Form == Embed && r.Span.Start == s.Start+1 && r.Span.End == s.End
	})
}

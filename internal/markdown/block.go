package markdown

import (
	"math"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDepth is how deep block quotes and lists open in one another. A deeper marker is text. Without
// a bound the time to parse is the square of the depth.
const maxDepth = 100

// newParser returns a parser of the blocks of a note, with these parsers for what is in them.
func newParser(inline ...util.PrioritizedValue) parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(counted{parser.NewSetextHeadingParser()}, 100),
			util.Prioritized(counted{parser.NewThematicBreakParser()}, 200),
			util.Prioritized(shallow{counted{parser.NewListParser()}}, 300),
			util.Prioritized(counted{parser.NewListItemParser()}, 400),
			util.Prioritized(counted{parser.NewCodeBlockParser()}, 500),
			util.Prioritized(counted{parser.NewATXHeadingParser()}, 600),
			util.Prioritized(counted{parser.NewFencedCodeBlockParser()}, 700),
			util.Prioritized(shallow{counted{parser.NewBlockquoteParser()}}, 800),
			util.Prioritized(counted{parser.NewHTMLBlockParser()}, 900),
			util.Prioritized(counted{parser.NewParagraphParser()}, 1000),
		),
		parser.WithParagraphTransformers(util.Prioritized(definitions{}, 100)),
		parser.WithInlineParsers(inline...),
	)
}

// blockParser finds the blocks of a note, and leaves what is in them alone: prose reads that.
var blockParser = newParser(util.Prioritized(unread{}, 100))

// parseBlocks is the tree of the blocks of a body. The context holds its link definitions. crowded reports that the
// body has more than MaxOpen or maxBlocks, and that the tree ends there.
func parseBlocks(body []byte) (root ast.Node, defs parser.Context, crowded bool) {
	return parseWith(blockParser, text.NewReader(body))
}

func parseWith(p parser.Parser, body text.Reader) (root ast.Node, defs parser.Context, crowded bool) {
	r := &lineReader{Reader: body, context: parser.NewContext()}
	r.context.Set(countKey, &r.count)
	return p.Parse(r, parser.WithContext(r.context)), r.context, r.crowded
}

// MaxOpen is how many open blocks the lines of a body may have together, up to the next line where none is open. The
// blocks that are open at a line are those that contain it, where a list item is two, for its list is one too, and
// the line itself counts as one; three is the least. goldmark remembers the blocks of each such line, so this bounds
// the memory that parsing takes.
const MaxOpen = 250_000

// maxBlocks is how many blocks a body may have, where a paragraph that begins with a link definition is three. Each
// is a node of the tree.
const maxBlocks = 100_000

// A count is how many blocks were opened, and how many of them are headings.
type count struct{ blocks, headings int }

// countKey is where a context keeps its count.
var countKey = parser.NewContextKey()

// A counted parser counts the blocks that it opens.
type counted struct{ parser.BlockParser }

// Open opens a block, and counts it.
func (c counted) Open(p ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := c.BlockParser.Open(p, r, pc)
	if node != nil {
		n := pc.Get(countKey).(*count)
		n.blocks++
		if node.Kind() == ast.KindHeading {
			n.headings++
		}
	}
	return node, state
}

// maxDefinitionLines is the longest paragraph, in lines, in which link definitions are found. The time
// to find them is the square of its length.
const maxDefinitionLines = 1000

// A definitions transformer takes the link definitions out of the start of a paragraph.
type definitions struct{}

// Transform leaves a paragraph as it is that is too long, or begins with no definition.
func (definitions) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	if p.Lines().Len() > maxDefinitionLines || p.Lines().Len() == 0 {
		return
	}
	first := p.Lines().At(0)
	line := r.Source()[first.Start:first.Stop]
	if start := line[util.TrimLeftSpaceLength(line):]; len(start) > 0 && start[0] == '[' {
		pc.Get(countKey).(*count).blocks += 2
		parser.LinkReferenceParagraphTransformer.Transform(p, r, pc)
	}
}

// An unread parser takes the text of a block in one piece. Without it, goldmark would look at every
// byte, and make a node of every line.
type unread struct{}

// unreadKey is where a context keeps the node of the text that was taken last.
var unreadKey = parser.NewContextKey()

// Trigger is what a block can begin with: punctuation, and a blank, which stands for all else.
func (unread) Trigger() []byte { return []byte(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") }

// Parse goes behind the last line. The node moves from block to block: nobody looks at it.
func (unread) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, at := block.Position()
	block.SetPosition(math.MaxInt, at)
	return pc.ComputeIfAbsent(unreadKey, func() any { return ast.NewText() }).(ast.Node)
}

// A shallow parser opens containers only down to maxDepth.
type shallow struct{ parser.BlockParser }

// Open opens a container unless its parent is as deep as one may be. A list is asked even then,
// because the list parser takes its note that a further item follows only when it is asked.
func (s shallow) Open(p ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if p.Kind() != ast.KindList && depth(p) >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(p, r, pc)
}

// depth counts the quotes and lists that a node stands in, itself included.
func depth(n ast.Node) int {
	d := 0
	for ; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindBlockquote || k == ast.KindList {
			d++
		}
	}
	return d
}

// A lineReader shows at most two blank lines of a run: more mean nothing to the block structure, and each costs time and
// memory for every list that is open. It ends where there were more than MaxOpen or maxBlocks.
type lineReader struct {
	text.Reader
	context parser.Context
	blank   int
	open    int // as MaxOpen counts
	count   count
	crowded bool
}

// AdvanceLine goes to the next line that counts.
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

// SkipBlankLines goes to the next line with text, where no run of blank lines is behind the reader.
func (r *lineReader) SkipBlankLines() (text.Segment, int, bool) {
	r.blank = 0
	return r.Reader.SkipBlankLines()
}

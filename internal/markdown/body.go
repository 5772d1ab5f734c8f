package markdown

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// A bodyReader reads the blocks of a note in text order into a Doc. It reuses its buffers from
// block to block: joined, lines, prose, rendered and found are those of the present block only.
//
// A block can be in containers, such as quotes and lists, whose markers are at the start of each of
// its lines. gather therefore copies the lines without these markers into joined, which is the text
// that prose parses. Each blockLine has the shift between its offsets in joined and in the note.
type bodyReader struct {
	doc   *Doc
	text  []byte
	slugs slugger

	at, line int // an offset, and the line of the file that it is in
	joined   []byte
	lines    []blockLine
	prose    *prose
	rendered rendered
	found    []annotation
	ended    bool // a bound was exceeded: the rest of the note is not read
}

// markup contains the bytes that emphasis, code, links and HTML begin with. The text of a heading
// without them is shown as it is.
const markup = "*_`[]!<"

// A blockLine is a line of the block that is being read.
type blockLine struct {
	Span           // in the text of the block, without the line break
	shift     int  // to add to an offset in the block for the offset in the note
	number    int  // the line of the file
	removable bool // the line can be removed without an effect on others
}

// readBody parses the text after the frontmatter and adds its parts to the Doc. The title is known
// only after all headings are, because the note must have no other heading of level 1; leaveTitle
// then corrects the scopes that were set before.
func (d *Doc) readBody(text []byte) {
	root, defs, crowded := parseBlocks(text[d.Body:])
	b := &bodyReader{
		doc: d, text: text, slugs: slugger{},
		at: d.Body, line: d.BodyLine, prose: newProse(defs),
	}
	if n := defs.Get(countKey).(*blockCount).headings; n > 0 {
		d.Headings = make([]Heading, 0, min(n, maxFound+1))
	}
	b.walk(root)
	d.Crowded = crowded || b.ended
	nest(d.Headings)
	markTitle(d.Headings, root, d.Body)
	d.leaveTitle()
}

// maxFound is the bound on the headings, traits, references, links, tags and block ids of a Doc
// together, which may be exceeded slightly. maxInline is the bound on the bytes of a block with a
// meaning in Markdown or Raven; a block with more is not read. A Doc contains nothing after either
// bound, and is Crowded then.
const (
	maxFound  = 40_000
	maxInline = 160_000
)

// full reports whether the Doc has more than maxFound things. It is called before each of them is
// added, so that a single long block cannot exceed the bound by much.
func (b *bodyReader) full() bool {
	d := b.doc
	return len(d.Headings)+len(d.Traits)+len(d.References)+len(d.Links)+len(d.Tags)+len(d.Blocks) > maxFound
}

// dense reports whether a block exceeds maxInline. It counts only in blocks that are longer than
// that bound.
func (b *bodyReader) dense(n ast.Node) bool {
	lines := n.Lines()
	if lines.Len() == 0 || lines.At(lines.Len()-1).Stop-lines.At(0).Start <= maxInline {
		return false
	}
	marks := 0
	for i := range lines.Len() {
		at := lines.At(i)
		for _, c := range at.Value(b.text[b.doc.Body:]) {
			if inlineBytes[c] {
				marks++
			}
		}
	}
	return marks > maxInline
}

// inlineBytes contains the bytes that maxInline counts.
var inlineBytes = [256]bool{
	'@': true, '#': true, '[': true, ']': true, '*': true, '_': true, '`': true, '<': true, '\\': true,
}

// walk reads the blocks in a block in text order, until a bound is exceeded. It skips the paragraph
// that is the declaration of a heading. Code blocks and HTML have no children, so nothing in them
// is read.
func (b *bodyReader) walk(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if b.full() || n.Type() == ast.TypeBlock && n.Kind() != ast.KindList && b.dense(n) {
			b.ended = true
		}
		if b.ended {
			return
		}
		switch {
		case n.Kind() == ast.KindHeading:
			if b.heading(n.(*ast.Heading)) {
				n = n.NextSibling() // the declaration is not text
			}
		case n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock:
			b.block(n, true)
		case n.Type() == ast.TypeBlock:
			b.walk(n)
		}
	}
}

// lineOf returns the line of the file at an offset. It counts line breaks from the offset of the
// previous call, so all calls together take linear time. Offsets must not descend from call to
// call; for a smaller one it returns the line of the largest offset so far.
func (b *bodyReader) lineOf(at int) int {
	if at > b.at {
		b.line += bytes.Count(b.text[b.at:at], []byte{'\n'})
		b.at = at
	}
	return b.line
}

// scope returns the index of the last heading, -1 before the first one. It is the Scope of
// everything that is read now.
func (b *bodyReader) scope() int { return len(b.doc.Headings) - 1 }

// heading adds a heading, and reports whether a declaration follows it. A heading without text is
// not added, but its references and tags are read. The ends of Own and Subtree are set to the end
// of the note; nest corrects them.
func (b *bodyReader) heading(n *ast.Heading) bool {
	if n.Lines().Len() == 0 {
		return false
	}
	title := b.titleOf(n)
	if title == "" {
		b.block(n, inItem(n))
		return false
	}
	body := b.doc.Body
	first, last := body+n.Lines().At(0).Start, body+n.Lines().At(n.Lines().Len()-1).Start
	start := max(body, lineStart(b.text, first))
	h := Heading{
		Level: n.Level, Text: title, Line: b.lineOf(start), Top: n.Parent().Kind() == ast.KindDocument,
		Own: Span{start, len(b.text)}, Subtree: Span{start, len(b.text)},
		Content: lineNext(b.text, last),
		setext:  isSetext(b.text, first),
	}
	if h.setext {
		h.Content = lineNext(b.text, h.Content)
	}
	b.doc.Headings = append(b.doc.Headings, h)
	b.block(n, inItem(n))
	return b.declare(n.NextSibling())
}

// titleOf returns the text of a heading without markup. The common heading of one line without
// markup needs no inline parser.
func (b *bodyReader) titleOf(n *ast.Heading) string {
	if n.Lines().Len() == 1 {
		first := n.Lines().At(0)
		if line := first.Value(b.text[b.doc.Body:]); !bytes.ContainsAny(line, markup) {
			return trimTitle(string(line))
		}
	}
	b.gather(n)
	b.prose.read()
	return b.prose.heading()
}

// inItem reports whether a block is in a list item, at any depth. Headings there may have traits.
func inItem(n ast.Node) bool {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == ast.KindListItem {
			return true
		}
	}
	return false
}

// declare sets the slug of the last heading, and its declaration if the next block is one. It
// reports whether it is.
//
// The slug is the declared id, or it is derived from the text of the heading, or from the type if
// the text has no letters and digits. A derived slug gets a number if it is used already.
func (b *bodyReader) declare(next ast.Node) bool {
	h := &b.doc.Headings[b.scope()]
	if lines := declarationLines(b.text, b.doc.Body, next); lines != nil {
		h.Declaration = readDeclaration(b.text, lines, b.lineOf(lines[0].Start))
	}
	switch {
	case h.Declaration == nil:
		h.Slug = b.slugs.next(h.Text)
		return false
	case h.Declaration.ID != "":
		h.Slug = h.Declaration.ID // an id does not reserve its slug for other headings
	case !hasLetters(h.Text):
		h.Slug = b.slugs.next(h.Declaration.Type)
	default:
		h.Slug = b.slugs.next(h.Text)
	}
	b.declarationRefs(h)
	return true
}

// block reads the inline text of a block. Traits and tasks are read only if annotated is set, which
// it is not for most headings; references, links and tags always are.
//
// References are added by two functions, wikilinks before Markdown links, so they are sorted by
// position afterwards.
func (b *bodyReader) block(n ast.Node, annotated bool) {
	if !b.join(n) {
		return
	}
	p := b.prose
	p.read()
	for i, l := range b.lines {
		l.number = b.lineOf(l.Start + l.shift)
		b.lines[i] = l
		b.blockID(p.src[l.Start:l.End], l.number)
		if bytes.IndexByte(p.src[l.Start:l.End], '@') >= 0 ||
			bytes.IndexByte(p.src[l.Start:l.End], '#') >= 0 {
			p.render(&b.rendered, l.Span)
			b.tags(&b.rendered, l)
			if annotated {
				b.traits(&b.rendered, l)
			}
		}
	}
	if annotated {
		b.task(n)
	}
	first := len(b.doc.References)
	b.references()
	b.links()
	slices.SortStableFunc(b.doc.References[first:], func(a, b Reference) int {
		return a.Span.Start - b.Span.Start
	})
}

// join gathers the lines of a block if they can contain anything, and reports whether they can: a
// block without @, #, [ and ^ has no trait, tag, reference, task and block id. Most blocks of prose
// have none and are not copied.
func (b *bodyReader) join(n ast.Node) bool {
	lines, body := n.Lines(), b.text[b.doc.Body:]
	interesting := false
	for i := range lines.Len() {
		s := lines.At(i)
		interesting = interesting || bytes.IndexByte(body[s.Start:s.Stop], '@') >= 0 ||
			bytes.IndexByte(body[s.Start:s.Stop], '#') >= 0 ||
			bytes.IndexByte(body[s.Start:s.Stop], '[') >= 0 ||
			bytes.IndexByte(body[s.Start:s.Stop], '^') >= 0
	}
	if interesting {
		b.gather(n)
	}
	return interesting
}

// gather copies the lines of a block into b.joined and b.lines, without the markers of its
// containers, and makes them the source of b.prose.
func (b *bodyReader) gather(n ast.Node) {
	lines, body := n.Lines(), b.text[b.doc.Body:]
	b.joined, b.lines = b.joined[:0], slices.Grow(b.lines[:0], lines.Len())
	for i := range lines.Len() {
		s := lines.At(i)
		l := blockLine{Span: Span{Start: len(b.joined)}, shift: b.doc.Body + s.Start - len(b.joined)}
		b.joined = append(b.joined, body[s.Start:s.Stop]...)
		l.End = l.Start + len(bytes.TrimRight(body[s.Start:s.Stop], "\r\n"))
		l.removable = i > 0 || isRemovable(n)
		b.lines = append(b.lines, l)
	}
	b.prose.src = b.joined
}

// isRemovable reports whether the first line of a block can be removed: no list item needs its marker for
// text that follows.
//
// A marker needs its text: if the first line of an item were removed while other lines or blocks
// follow, these would have another meaning.
func isRemovable(n ast.Node) bool {
	for p := n.Parent(); p != nil; n, p = p, p.Parent() {
		if n.PreviousSibling() != nil {
			return true
		}
		if p.Kind() == ast.KindListItem && (n.NextSibling() != nil || n.Lines().Len() > 1) {
			return false
		}
	}
	return true
}

// lineAt returns the line of the block at an offset in the text of the block, by binary search.
func (b *bodyReader) lineAt(at int) blockLine {
	from := func(l blockLine, at int) int { return l.Start - at }
	i, found := slices.BinarySearchFunc(b.lines, at, from)
	if !found {
		i--
	}
	return b.lines[i]
}

// references adds the wikilinks of the block, until the Doc is full. Links to notes in Markdown
// notation are added by links.
func (b *bodyReader) references() {
	for _, w := range b.prose.wikis {
		if b.full() {
			return
		}
		l := b.lineAt(w.Start)
		r := w.reference(b.prose.src, l.shift)
		r.Scope, r.Line = b.scope(), l.number
		if w.Start > 0 && b.prose.src[w.Start-1] == '!' {
			r.Form = Embed
		}
		b.doc.References = append(roomFor(b, b.doc.References, "[["), r)
	}
}

// leaveTitle moves everything under the title to the note itself: Scope 0 becomes -1. Anchors keep
// their scope.
func (d *Doc) leaveTitle() {
	if len(d.Headings) == 0 || !d.Headings[0].Title {
		return
	}
	for i := range d.Traits {
		leave(&d.Traits[i].Scope)
	}
	for i := range d.References {
		leave(&d.References[i].Scope)
	}
	for i := range d.Links {
		leave(&d.Links[i].Scope)
	}
	for i := range d.Tags {
		leave(&d.Tags[i].Scope)
	}
	for i := range d.Tasks {
		leave(&d.Tasks[i].Scope)
	}
}

// leave changes the scope of the first heading to that of the note.
func leave(scope *int) {
	*scope = cmp.Or(*scope, -1)
}

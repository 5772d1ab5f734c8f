package tree

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/relink"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxWritten is the maximum number of nodes that a call moves or copies: notes of a folder, or
// sections of a section.
//
// The limit also bounds the number of files in a commit.
const maxWritten = 1000

// maxCommit is the approximate maximum of bytes of text that a call moves, copies or removes,
// because they must fit into one commit. A commit that is too large in spite of it, for example
// because of rewritten references, is refused by the log, and nothing is written.
const maxCommit = 32 << 20

// The reasons for which a structure cannot be changed.
const (
	isRoot       = "root"
	isCycle      = "cycle"
	kindMismatch = "kind_mismatch"
	notSiblings  = "not_siblings"
)

// An insertion is a section that a draft inserts into a note.
//
// It is new, moved from another note, or copied; from, uids and traits are set accordingly. A moved
// section keeps its identities, a copied one gets new ones.
type insertion struct {
	markdown.Subtree
	from   *index.Note       // the note from which it comes; nil: its text is new
	uids   []index.UID       // uids of its nodes, in the order of the text; nil: they are new
	traits []string          // ids of its annotations; nil: they are new
	ids    map[string]string // see relink.Passage
	unlike bool              // it has annotations with ids that are not those in traits
}

// lines contains the offsets at which the lines of a text begin.
type lines []int

// linesOf returns the lines of a text.
func linesOf(text []byte) lines {
	all := lines{0}
	for i, c := range text {
		if c == '\n' {
			all = append(all, i+1)
		}
	}
	return all
}

// at returns the line, from 1, that contains an offset.
//
// It is a binary search.
func (l lines) at(offset int) int { return sort.SearchInts(l, offset+1) }

// span returns the lines of a part of the text. The end is exclusive.
func (l lines) span(s markdown.Span) markdown.Span {
	return markdown.Span{Start: l.at(s.Start), End: l.at(max(s.Start, s.End-1)) + 1}
}

// containsLine reports whether a span of lines contains a line.
func containsLine(s markdown.Span, line int) bool { return line >= s.Start && line < s.End }

// A lineID is an item with an identity in a line of a text.
type lineID[ID any] struct {
	line int // from 1
	id   ID
}

// idsWithin returns the items in a span of lines. The items must be sorted by line.
func idsWithin[ID any](all []lineID[ID], at markdown.Span) []lineID[ID] {
	from := sort.Search(len(all), func(i int) bool { return all[i].line >= at.Start })
	to := sort.Search(len(all), func(i int) bool { return all[i].line >= at.End })
	return all[from:max(from, to)]
}

// idsIn returns the identities of the items in a span of lines.
func idsIn[ID any](all []lineID[ID], at markdown.Span) (some []ID) {
	for _, m := range idsWithin(all, at) {
		some = append(some, m.id)
	}
	return some
}

// moveLines returns the items in the lines from, with their lines after these were moved to the
// lines to.
func moveLines[ID any](all []lineID[ID], from, to markdown.Span) (some []lineID[ID]) {
	for _, m := range idsWithin(all, from) {
		some = append(some, lineID[ID]{m.line - from.Start + to.Start, m.id})
	}
	return some
}

// A marks contains the identities of the sections and annotations of a note, by the lines of its
// text. They cannot always be determined from the text, so a change that moves text moves the marks
// as well, and then passes the identities to Tx.PutNodes in the order of the new text.
//
// Sections are those that are nodes, annotations are all of the note. Both are sorted by line.
// Without marks, the index would match the nodes of the old and the new text by their headings,
// which fails if two sections with the same heading change places.
//
// For example, a note has sections with uids u1 in line 3 and u2 in line 7. If the second one moves
// before the first, the parts of the result say that the lines from 7 on are now the lines from 3
// on, and the other way round. moved follows them, and the new order of the uids is u2, u1.
type marks struct {
	sections []lineID[index.UID]
	traits   []lineID[string]
}

// marksOf returns the marks of a note.
func marksOf(n *index.Note) (m marks) {
	for i := range n.Sections {
		if s := &n.Sections[i]; s.Top {
			m.sections = append(m.sections, lineID[index.UID]{s.Line(), s.UID})
		}
	}
	for _, t := range n.EachAnnotation {
		m.traits = append(m.traits, lineID[string]{t.Line(), t.ID})
	}
	return m
}

// moved returns the marks after the sections of a note were reordered. text is the text before, and
// news are the inserted sections.
//
// Parts of the result that come from the old text take the marks of their old lines along; new
// parts have those of the insertions. If the first section became the title, it is no longer a
// node.
func (m marks) moved(text []byte, r markdown.ReorderResult, news []*insertion) (now marks) {
	at := linesOf(text)
	for _, p := range r.Parts {
		own := at.span(p.From)
		if p.New > 0 {
			a := news[p.New-1]
			now.sections = append(now.sections, placeAt(a.nodes(), p.Lines)...)
			now.traits = append(now.traits, placeAt(a.traits, p.Lines)...)
			continue
		}
		now.sections = append(now.sections, moveLines(m.sections, own, p.Lines)...)
		now.traits = append(now.traits, moveLines(m.traits, own, p.Lines)...)
	}
	if r.Titled {
		now.sections = now.sections[min(1, len(now.sections)):]
	}
	return now
}

// placeAt returns items with the given identities, all in the first line of a span. Their exact
// lines do not matter, only their order.
func placeAt[ID any](ids []ID, at markdown.Span) (all []lineID[ID]) {
	for _, id := range ids {
		all = append(all, lineID[ID]{at.Start, id})
	}
	return all
}

// insertionOf returns a section of a note as an insertion with its identities, for a move. text
// must be the text of the note from which s was cut.
func insertionOf(n tree.Node, text []byte, s markdown.Subtree) *insertion {
	at, m := linesOf(text).span(s.At), marksOf(n.Note)
	return &insertion{Subtree: s, from: n.Note, uids: idsIn(m.sections, at), traits: idsIn(m.traits, at)}
}

// putReordered drafts a note with reordered sections. text is the text before, to which the marks
// belong. An unchanged text drafts nothing.
//
// The uids are always passed along. The ids of annotations are passed only if they are all known;
// otherwise the index finds the annotations again in the text. Sections that come from another note
// are recorded as passages, so that their references are read as they were there.
func (e *edit) putReordered(
	ctx context.Context, n *index.Note, m marks, text []byte, r markdown.ReorderResult, news ...*insertion,
) error {
	if slices.Equal(text, r.Text) {
		return nil
	}
	now := m.moved(text, r, news)
	uids, traits := []index.UID{n.UID}, []string{}
	for _, s := range now.sections {
		uids = append(uids, s.id)
	}
	for _, t := range now.traits {
		traits = append(traits, t.id)
	}
	for _, a := range news {
		if a.uids == nil || a.unlike {
			traits = nil // they are determined from the text
		}
	}
	for _, p := range r.Parts {
		if p.New > 0 && news[p.New-1].from != nil {
			a := news[p.New-1]
			e.passages[n.ID] = append(e.passages[n.ID], relinkPassage(p.Lines, a))
		}
	}
	return e.PutNodes(ctx, vault.Path(n.Path), r.Text, traits, uids)
}

// nodes returns the uids of the nodes in the section; zero for new ones.
func (a *insertion) nodes() []index.UID {
	if a.uids != nil {
		return a.uids
	}
	return make([]index.UID, a.Tops())
}

// parent returns the node below which a call adds a node: the named one, or the one that it
// represents.
//
// Nodes below a node that represents another one are those of the other, so a new child goes there.
// The call covers that node; see source.
func (e *edit) parent(arg, id string) (tree.Node, error) {
	n, err := e.node(arg, id)
	if err != nil {
		return n, err
	}
	if n, err = e.source(n); err != nil {
		return n, fault.Of(err).With("argument", arg)
	}
	return n, nil
}

// noteText returns the text of the note that contains a node, as drafted.
func (e *edit) noteText(ctx context.Context, n tree.Node) ([]byte, error) {
	text, _, err := e.Text(ctx, vault.Path(n.Note.Path))
	return text, err
}

// parentOf returns the parent of a node, which contains it: references are not followed. The root
// of the vault is a fault with the reason root. arg is the argument that names the node.
func (e *edit) parentOf(arg string, n tree.Node) (tree.Node, error) {
	above, ok := e.tree.Parent(n)
	if !ok {
		return n, invalidParameter(isRoot,
			"the root of the vault cannot be moved, copied or removed").With("argument", arg)
	}
	return above, nil
}

// movable returns the node that a call moves or copies. The root of the vault is a fault. It also
// marks the draft as one that moves nodes.
func (e *edit) movable(arg, id string) (tree.Node, error) {
	e.moves = true
	n, err := e.node(arg, id)
	if err != nil {
		return n, err
	}
	_, err = e.parentOf(arg, n)
	return n, err
}

// addressAt returns the address of the section that a draft put into a note at a line, or of the
// note if no section begins there.
//
// It reads the index of the draft, which costs time in proportion to the staged changes.
func (e *edit) addressAt(path string, line int) string {
	n, ok := e.Index().Note(path)
	if !ok {
		return ""
	}
	if i := sectionAt(n, line); i < len(n.Sections) {
		return n.Object(i).ID()
	}
	return n.ID
}

// sectionAt returns the index of the section of a note that begins in a line, or the number of
// sections if there is none.
func sectionAt(n *index.Note, line int) int {
	for i := range n.Sections {
		if n.Sections[i].Line() == line {
			return i
		}
	}
	return len(n.Sections)
}

// newLine returns the line in which the first new section of a result begins, or 0.
func newLine(r markdown.ReorderResult) int {
	for _, p := range r.Parts {
		if p.New > 0 {
			return p.Lines.Start
		}
	}
	return 0
}

// unplaceable returns a fault for a section that cannot be placed, with the code of this family. It
// returns nil for a nil error. The reason is that of the package markdown, such as
// heading_depth_exceeded, or else malformed_markdown.
func unplaceable(err error, n tree.Node) error {
	if err == nil {
		return nil
	}
	return fault.Of(unwritable(err, "malformed_markdown")).With("nodeId", n.ID())
}

// tooMany returns BATCH_TOO_LARGE if a call would move or copy more than maxWritten nodes.
func tooMany(count int) error {
	if count <= maxWritten {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call affects more than %d nodes", maxWritten).
		With("max", maxWritten).With("got", count).Fix("choose a smaller subtree")
}

// countNodes returns the number of nodes that a move or copy of a node writes: the notes of a
// folder, or else the sections. It stops counting above maxWritten and returns at least 1.
func (e *edit) countNodes(n tree.Node) (count int) {
	for below := range e.tree.Walk(n, nil) {
		isNote := below.Note != nil && below.Section == 0
		if n.Note != nil && below.Section > 0 || n.Note == nil && isNote {
			count++
		}
		if count > maxWritten {
			break
		}
	}
	return cmp.Or(count, 1)
}

// relinkPassage returns the passage of lines that come from the note of an insertion, which must
// have one.
func relinkPassage(at markdown.Span, a *insertion) relink.Passage {
	return relink.Passage{Lines: at, From: a.from.ID, IDs: a.ids}
}

// moveBlocks records that the blocks in some lines of a note moved to another note.
//
// A block is a line with an id of its own, to which a reference with #^ leads.
func (e *edit) moveBlocks(from *index.Note, at markdown.Span, to string) {
	for _, line := range from.Blocks {
		if containsLine(at, line) {
			e.blocks[relink.Line{Note: from.ID, Line: line}] = to
		}
	}
}

// A sizeBudget counts the bytes that a call writes.
type sizeBudget int

// add adds the size of a text. It returns BATCH_TOO_LARGE if the total exceeds maxCommit.
func (r *sizeBudget) add(text []byte) error {
	if *r += sizeBudget(len(text)); *r <= maxCommit {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call affects more than %d bytes of text", maxCommit).
		With("max", maxCommit).Fix("choose a smaller subtree")
}

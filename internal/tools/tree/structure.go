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

// maxWritten is how many nodes a call moves or copies: notes of a folder, sections of a section.
const maxWritten = 1000

// maxCommit is about how many bytes of text a call moves, copies or removes: what a commit holds.
const maxCommit = 32 << 20

// Reasons why a structure cannot be changed so.
const (
	isRoot       = "root"
	isCycle      = "cycle"
	kindMismatch = "kind_mismatch"
	notSiblings  = "not_siblings"
)

// An arrival is a section that a draft puts into a note.
type arrival struct {
	markdown.Subtree
	from   *index.Note       // that it was in; nil: its text is new
	uids   []index.UID       // of its nodes, in text order; nil: they are new
	traits []string          // ids of the annotations in it; nil: they are new
	ids    map[string]string // see relink.Passage
	unlike bool              // annotations in it have ids that are not those of traits
}

// lines finds the lines of a text by offsets.
type lines []int

// linesOf are the offsets at which the lines of a text begin.
func linesOf(text []byte) lines {
	all := lines{0}
	for i, c := range text {
		if c == '\n' {
			all = append(all, i+1)
		}
	}
	return all
}

// at is the line, from 1, that an offset is in.
func (l lines) at(offset int) int { return sort.SearchInts(l, offset+1) }

// span are the lines of a part of the text, from the first up to, not including, the last.
func (l lines) span(s markdown.Span) markdown.Span {
	return markdown.Span{Start: l.at(s.Start), End: l.at(max(s.Start, s.End-1)) + 1}
}

// has reports whether a line is in a span of lines.
func has(s markdown.Span, line int) bool { return line >= s.Start && line < s.End }

// A marked is something in a line of a text that has an identity.
type marked[ID any] struct {
	line int
	id   ID
}

// in are those of some, in the order of their lines, that are in some lines.
func in[ID any](all []marked[ID], at markdown.Span) []marked[ID] {
	from := sort.Search(len(all), func(i int) bool { return all[i].line >= at.Start })
	to := sort.Search(len(all), func(i int) bool { return all[i].line >= at.End })
	return all[from:max(from, to)]
}

// idsIn are the identities of what is in some lines.
func idsIn[ID any](all []marked[ID], at markdown.Span) (some []ID) {
	for _, m := range in(all, at) {
		some = append(some, m.id)
	}
	return some
}

// displaced are those in some lines as they are where a part of another text is.
func displaced[ID any](all []marked[ID], from, to markdown.Span) (some []marked[ID]) {
	for _, m := range in(all, from) {
		some = append(some, marked[ID]{m.line - from.Start + to.Start, m.id})
	}
	return some
}

// A marks are the identities of the sections and the annotations of a note, by the lines of its text.
type marks struct {
	sections []marked[index.UID]
	traits   []marked[string]
}

// marksOf are those of a note.
func marksOf(n *index.Note) (m marks) {
	for i := range n.Sections {
		if s := &n.Sections[i]; s.Top {
			m.sections = append(m.sections, marked[index.UID]{s.Line, s.UID})
		}
	}
	for _, t := range n.Annotations {
		m.traits = append(m.traits, marked[string]{t.Line, t.ID})
	}
	return m
}

// moved are those of a note whose sections are in another order, with lines as of that.
func (m marks) moved(text []byte, r markdown.Reordered, news []*arrival) (now marks) {
	at := linesOf(text)
	for _, p := range r.Parts {
		own := at.span(p.From)
		if p.New > 0 {
			a := news[p.New-1]
			now.sections = append(now.sections, shifted(a.nodes(), p.Lines)...)
			now.traits = append(now.traits, shifted(a.traits, p.Lines)...)
			continue
		}
		now.sections = append(now.sections, displaced(m.sections, own, p.Lines)...)
		now.traits = append(now.traits, displaced(m.traits, own, p.Lines)...)
	}
	if r.Titled {
		now.sections = now.sections[min(1, len(now.sections)):]
	}
	return now
}

// shifted are identities in the first of some lines.
func shifted[ID any](ids []ID, at markdown.Span) (all []marked[ID]) {
	for _, id := range ids {
		all = append(all, marked[ID]{at.Start, id})
	}
	return all
}

// arriving is a section of a note as a move takes it along: with its identities.
func arriving(n tree.Node, text []byte, s markdown.Subtree) *arrival {
	at, m := linesOf(text).span(s.At), marksOf(n.Note)
	return &arrival{Subtree: s, from: n.Note, uids: idsIn(m.sections, at), traits: idsIn(m.traits, at)}
}

// putReordered drafts a note whose sections are in another order. text is what it was made from, as the marks have it.
func (e *edit) putReordered(
	ctx context.Context, n *index.Note, m marks, text []byte, r markdown.Reordered, news ...*arrival,
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
			traits = nil // whoever reads the text finds those that were there
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

// nodes are the identities of the nodes of the section; zero for new ones.
func (a *arrival) nodes() []index.UID {
	if a.uids != nil {
		return a.uids
	}
	return make([]index.UID, a.Tops())
}

// parent is the node below which the call puts one: the node itself, or the one that it stands for.
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

// noteText is the text of the note of a node.
func (e *edit) noteText(ctx context.Context, n tree.Node) ([]byte, error) {
	text, _, err := e.Text(ctx, vault.Path(n.Note.Path))
	return text, err
}

// above is the node above another one. The vault has none: that is a fault.
func (e *edit) above(arg string, n tree.Node) (tree.Node, error) {
	above, ok := e.tree.Parent(n)
	if !ok {
		return n, wrong(isRoot, "the root of the vault cannot be moved, copied or removed").With("argument", arg)
	}
	return above, nil
}

// movable is a node that the call moves or copies: any but the vault.
func (e *edit) movable(arg, id string) (tree.Node, error) {
	e.moves = true
	n, err := e.node(arg, id)
	if err != nil {
		return n, err
	}
	_, err = e.above(arg, n)
	return n, err
}

// placed is the address of what a draft put into a note: of the section that begins in a line.
func (e *edit) placed(path string, line int) string {
	n, ok := e.Index().Note(path)
	if !ok {
		return ""
	}
	if i := sectionAt(n, line); i < len(n.Sections) {
		return n.Object(i).ID()
	}
	return n.ID
}

// sectionAt is the position of the section of a note that begins in a line; if there is none, how many there are.
func sectionAt(n *index.Note, line int) int {
	for i := range n.Sections {
		if n.Sections[i].Line == line {
			return i
		}
	}
	return len(n.Sections)
}

// newLine is the line in which the first new section of a result begins.
func newLine(r markdown.Reordered) int {
	for _, p := range r.Parts {
		if p.New > 0 {
			return p.Lines.Start
		}
	}
	return 0
}

// unplaceable is the fault of a section that cannot be placed, with the family's code.
func unplaceable(err error, n tree.Node) error {
	if err == nil {
		return nil
	}
	return fault.Of(unwritable(err, "malformed_markdown")).With("nodeId", n.ID())
}

// tooMany is BATCH_TOO_LARGE, if a call moves or copies more than it may.
func tooMany(count int) error {
	if count <= maxWritten {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call affects more than %d nodes", maxWritten).
		With("max", maxWritten).With("got", count).Fix("choose a smaller subtree")
}

// written counts what a move or a copy of a node writes: the notes of a folder, else the sections.
func (e *edit) written(n tree.Node) (count int) {
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

// relinkPassage are lines of a note that come from where a section, or a note, was.
func relinkPassage(at markdown.Span, a *arrival) relink.Passage {
	return relink.Passage{Lines: at, From: a.from.ID, IDs: a.ids}
}

// moveBlocks notes that the blocks in some lines of a note are in another note now.
func (e *edit) moveBlocks(from *index.Note, at markdown.Span, to string) {
	for _, line := range from.Blocks {
		if has(at, line) {
			e.blocks[relink.Line{Note: from.ID, Line: line}] = to
		}
	}
}

// A room counts the bytes that a call writes.
type room int

// take is BATCH_TOO_LARGE if a text is more than what a commit holds beside those before it.
func (r *room) take(text []byte) error {
	if *r += room(len(text)); *r <= maxCommit {
		return nil
	}
	return fault.New(fault.BatchTooLarge, "the call affects more than %d bytes of text", maxCommit).
		With("max", maxCommit).Fix("choose a smaller subtree")
}

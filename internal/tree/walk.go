package tree

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

// A listing is what is in a folder itself.
type listing struct {
	children []Node
	sorted   bool // they are in their order
}

// list is what is in a folder, in no order. It takes a step for each child, whatever is below.
func (t *Tree) list(dir string) *listing {
	if l, ok := t.folders[dir]; ok {
		return l
	}
	l := &listing{}
	for next, more := dir, true; more; {
		next, more = t.listFrom(l, dir, next)
	}
	t.folders[dir] = l
	return l
}

// listFrom adds the children of a folder behind a path up to the next folder in it, that included. It returns
// the path to go on from, and whether there may be more.
func (t *Tree) listFrom(l *listing, dir, after string) (next string, more bool) {
	for f := range t.Index.FilesAfter(after) {
		rest, inside := strings.CutPrefix(f.Path, dir)
		if !inside {
			return "", false
		}
		i := strings.IndexByte(rest, '/')
		switch {
		case i < 0 && f.Note != nil:
			l.children = append(l.children, Node{Note: f.Note})
		case i < 0:
		case isHidden(f.Path):
			return f.Path[:len(dir)+i+1] + "\xff", true
		case IsContent(f):
			sub := f.Path[:len(dir)+i+1]
			l.children = append(l.children, Node{Folder: sub})
			return sub + "\xff", true // no path has this byte, and all of the folder are before it
		}
	}
	return "", false
}

// Children are the nodes directly below, in their order: sections as in the text; in folders the names that the
// order of the folder lists, then the rest, folders first, by lower-cased name.
//
// Those of a node that stands for another one are the other's.
func (t *Tree) Children(n Node) []Node {
	n, _ = t.Source(n)
	return t.OwnChildren(n)
}

// OwnChildren are the Children of a node itself, whatever it stands for.
func (t *Tree) OwnChildren(n Node) []Node {
	if n.Note != nil {
		return sectionsBelow(n)
	}
	l := t.list(n.Folder)
	if !l.sorted {
		t.sort(l, n.Folder)
	}
	return l.children
}

// ChildrenCount is how many Children there are.
func (t *Tree) ChildrenCount(n Node) int {
	n, _ = t.Source(n)
	if n.Note == nil {
		return len(t.list(n.Folder).children)
	}
	count := 0
	for range sectionsTo(n, 1) {
		count++
	}
	return count
}

// sectionsBelow are the sections directly below a note or a section.
func sectionsBelow(n Node) []Node {
	var all []Node
	for child := range sectionsTo(n, 1) {
		all = append(all, child)
	}
	return all
}

// A rank is what children of a folder are ordered by.
type rank struct {
	listed int // the position in the order of the folder; behind all of it: it is not listed
	file   bool
	folded string
	name   string
}

func (r rank) compare(o rank) int {
	if c := cmp.Compare(r.listed, o.listed); c != 0 {
		return c
	}
	if r.file != o.file {
		if o.file {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(r.folded, o.folded), strings.Compare(r.name, o.name))
}

// entry is a child of a folder as its order lists it: `website`, or `archive/` for a folder.
func entry(n Node) string {
	if n.Note != nil {
		return n.Note.ID[strings.LastIndexByte(n.Note.ID, '/')+1:]
	}
	return lastOf(n.Folder) + "/"
}

// rankOf is the rank of a child, by its entry.
func rankOf(entry string, order map[string]int) rank {
	listed, ok := order[entry]
	if !ok {
		listed = len(order)
	}
	name, isFolder := strings.CutSuffix(entry, "/")
	return rank{listed, !isFolder, strings.ToLower(name), name}
}

// orderOf are the positions of the entries in the order of a folder; of one that is there twice, the first.
func (t *Tree) orderOf(dir string) map[string]int {
	listed := t.about(dir).Order
	if len(listed) == 0 {
		return nil
	}
	order := make(map[string]int, len(listed))
	for _, name := range listed {
		if _, twice := order[name]; !twice {
			order[name] = len(order)
		}
	}
	return order
}

// sort puts the children of a folder in their order.
func (t *Tree) sort(l *listing, dir string) {
	order := t.orderOf(dir)
	type ranked struct {
		rank
		Node
	}
	all := make([]ranked, len(l.children))
	for i, n := range l.children {
		all[i] = ranked{rankOf(entry(n), order), n}
	}
	slices.SortFunc(all, func(a, b ranked) int { return a.compare(b.rank) })
	for i := range all {
		l.children[i] = all[i].Node
	}
	l.sorted = true
}

// A Position is where a node is in the order of the tree. It means something also after the node is gone.
type Position struct {
	Path    string `json:"p"`           // of the note, without its ending, or of the folder
	Section int    `json:"s,omitempty"` // as of Node
}

// Position is where a node is.
func (n Node) Position() Position {
	if n.Note != nil {
		return Position{n.Note.ID, n.Section}
	}
	return Position{n.Folder, 0}
}

// Walk yields a node and all below it in the order of the tree: a node before its children. With a position, only
// what is behind that.
func (t *Tree) Walk(top Node, behind *Position) iter.Seq[Node] { return t.WalkTo(top, behind, endless) }

// endless is a depth that no node has.
const endless = 1 << 30

// WalkTo is Walk down to a depth below the node: 0 is the node alone.
func (t *Tree) WalkTo(top Node, behind *Position, depth int) iter.Seq[Node] {
	return func(yield func(Node) bool) { t.walk(top, behind, depth, yield) }
}

// walk reports whether to go on.
func (t *Tree) walk(n Node, behind *Position, depth int, yield func(Node) bool) bool {
	if n.Note != nil {
		return walkNote(n, behind, depth, yield)
	}
	if behind == nil {
		return yield(n) && t.walkBehind(n, nil, depth-1, yield)
	}
	switch rest, below := strings.CutPrefix(behind.Path, n.Folder); {
	case !below:
		return t.walk(n, nil, depth, yield)
	case rest == "":
		return t.walkBehind(n, nil, depth-1, yield)
	}
	return t.walkBehind(n, behind, depth-1, yield)
}

// walkBehind walks the children of a folder, and of the one with the position only what is behind that.
func (t *Tree) walkBehind(n Node, behind *Position, depth int, yield func(Node) bool) bool {
	if depth < 0 {
		return true
	}
	var order map[string]int
	var from rank
	if behind != nil {
		order = t.orderOf(n.Folder)
		from = rankOf(firstEntry(behind.Path[len(n.Folder):]), order)
	}
	for _, child := range t.Children(n) {
		at := behind
		if at != nil {
			switch c := rankOf(entry(child), order).compare(from); {
			case c < 0:
				continue
			case c > 0:
				at = nil
			}
		}
		if !t.walk(child, at, depth, yield) {
			return false
		}
	}
	return true
}

// walkNote walks a note or a section.
func walkNote(n Node, behind *Position, depth int, yield func(Node) bool) bool {
	last := -1
	if behind != nil {
		last = behind.Section
	}
	if n.Section > last && !yield(n) {
		return false
	}
	for child, at := range sectionsTo(n, depth) {
		if at > last && !yield(child) {
			return false
		}
	}
	return true
}

// sectionsTo yields the sections below a note or a section down to a depth, in text order, with their positions.
func sectionsTo(n Node, depth int) iter.Seq2[Node, int] {
	return func(yield func(Node, int) bool) {
		if depth < 1 {
			return
		}
		var open []int // the levels of the sections that are open
		for i := n.Section; i < len(n.Note.Sections); i++ {
			s := &n.Note.Sections[i]
			if !isNode(s) {
				continue
			}
			if n.Section > 0 && s.Level <= n.Level() {
				return
			}
			if depth < endless { // else all are near enough
				for len(open) > 0 && open[len(open)-1] >= s.Level {
					open = open[:len(open)-1]
				}
				open = append(open, s.Level)
			}
			if len(open) <= depth && !yield(Node{Note: n.Note, Section: i + 1}, i+1) {
				return
			}
		}
	}
}

// Compare says which of two nodes comes first in the order of the tree.
func (t *Tree) Compare(a, b Position) int {
	if a.Path == b.Path {
		return cmp.Compare(a.Section, b.Section)
	}
	dir := ""
	for {
		restA, restB := a.Path[len(dir):], b.Path[len(dir):]
		switch {
		case restA == "":
			return -1
		case restB == "":
			return 1
		}
		firstA, firstB := firstEntry(restA), firstEntry(restB)
		if firstA != firstB {
			order := t.orderOf(dir)
			return rankOf(firstA, order).compare(rankOf(firstB, order))
		}
		dir += firstA
	}
}

// firstEntry is the first segment of a path, with its slash if it is a folder.
func firstEntry(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}

// Entry is the name of a child of a folder as the order of the folder lists it: `website`, or `archive/` for a folder.
func (n Node) Entry() string { return entry(n) }

// Order is the order of a folder as its own file lists it, names of what is gone among it.
func (t *Tree) Order(folder Node) []string { return t.about(folder.Folder).Order }

// FilesIn yields all files of a folder and of the folders in it, by path, hidden notes among them.
func (t *Tree) FilesIn(folder string) iter.Seq[*index.File] {
	return func(yield func(*index.File) bool) {
		for f := range t.Index.FilesAfter(folder) {
			if !strings.HasPrefix(f.Path, folder) || !yield(f) {
				return
			}
		}
	}
}

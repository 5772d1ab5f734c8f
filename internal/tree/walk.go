package tree

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

// A listing is the children of a folder.
type listing struct {
	children []Node
	sorted   bool // children are in the order of the folder
}

// list returns the children of a folder, in no order. It takes one seek for each subfolder,
// independent of how much is below. Sorting is separate, because counting children needs no order.
//
// The result is cached in the Tree, and must not be changed, except by sort.
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

// listFrom adds the children of a folder that come after a path, up to and including the next
// subfolder. It returns the path from which to continue, and whether there may be more. Files that
// are neither a note nor below a subfolder with content are passed over.
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
			// The whole hidden folder is skipped.
			return f.Path[:len(dir)+i+1] + "\xff", true
		case IsContent(f):
			sub := f.Path[:len(dir)+i+1]
			l.children = append(l.children, Node{Folder: sub})
			return sub + "\xff", true // sorts after all paths in the subfolder, because no path contains this byte
		}
	}
	return "", false
}

// Children returns the nodes directly below, in order. Sections are in text order. In a folder, the
// children that its order lists come first; the rest follow, folders before notes, each by
// lower-cased name. The children of a node that is a transclusion are those of its Source. The
// result for a folder is the cache of the Tree, and must not be changed.
func (t *Tree) Children(n Node) []Node {
	n, _ = t.Source(n)
	return t.OwnChildren(n)
}

// OwnChildren returns the children of the node itself, without following a transclusion.
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

// ChildrenCount returns the number of Children. It does not sort them.
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

// sectionsBelow returns the sections directly below a note or a section.
func sectionsBelow(n Node) []Node {
	var all []Node
	for child := range sectionsTo(n, 1) {
		all = append(all, child)
	}
	return all
}

// A rank is the sort key of a child of a folder: listed children first, in the order of the list,
// then folders before notes, and each by name. It depends only on the name of the child and the
// order, so it can be computed for a child that does not exist any more.
type rank struct {
	listed int // position in the order of the folder; the length of the order if not listed
	file   bool
	folded string
	name   string
}

// compare compares two ranks.
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

// entry returns the name of a child in the order of its folder: `website`, or `archive/` for a
// folder.
func entry(n Node) string {
	if n.Note != nil {
		return n.Note.ID[strings.LastIndexByte(n.Note.ID, '/')+1:]
	}
	return lastOf(n.Folder) + "/"
}

// rankOf returns the rank of a child with this entry.
func rankOf(entry string, order map[string]int) rank {
	listed, ok := order[entry]
	if !ok {
		listed = len(order)
	}
	name, isFolder := strings.CutSuffix(entry, "/")
	return rank{listed, !isFolder, strings.ToLower(name), name}
}

// orderOf returns the positions of the entries in the order of a folder; nil if the folder has
// none. If an entry occurs twice, the first counts.
func (t *Tree) orderOf(dir string) map[string]int {
	listed := t.folderInfo(dir).Order
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

// sort sorts the children of a folder.
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

// A Position is the place of a node in the order of the tree. It stays usable after the node is
// deleted.
//
// Page tokens contain positions, so its JSON form must stay the same.
type Position struct {
	Path    string `json:"p"`           // id of the note, or path of the folder
	Section int    `json:"s,omitempty"` // as in Node
}

// Position returns the position of the node.
func (n Node) Position() Position {
	if n.Note != nil {
		return Position{n.Note.ID, n.Section}
	}
	return Position{n.Folder, 0}
}

// Walk yields a node and everything below it in the order of the tree, a node before its children.
// If behind is not nil, it yields only the nodes after that position. It does not follow
// transclusions.
func (t *Tree) Walk(top Node, behind *Position) iter.Seq[Node] {
	return t.WalkTo(top, behind, unlimitedDepth)
}

// unlimitedDepth is a depth that no node has.
const unlimitedDepth = 1 << 30

// WalkTo is Walk down to a depth below the node: 0 yields the node alone.
func (t *Tree) WalkTo(top Node, behind *Position, depth int) iter.Seq[Node] {
	return func(yield func(Node) bool) { t.walk(top, behind, depth, yield) }
}

// walk walks a node and everything below it down to depth levels, and reports whether the walk
// continues: whether yield returned true each time. If behind is not nil, only nodes after that
// position are yielded; a subtree that ends before it is not walked.
func (t *Tree) walk(n Node, behind *Position, depth int, yield func(Node) bool) bool {
	if n.Note != nil {
		return walkNote(n, behind, depth, yield)
	}
	if behind == nil {
		return yield(n) && t.walkFolder(n, nil, depth-1, yield)
	}
	switch rest, below := strings.CutPrefix(behind.Path, n.Folder); {
	case !below:
		return t.walk(n, nil, depth, yield)
	case rest == "":
		return t.walkFolder(n, nil, depth-1, yield)
	}
	return t.walkFolder(n, behind, depth-1, yield)
}

// walkFolder walks the children of a folder. If behind is not nil, it skips those before that
// position.
//
// The position need not exist any more: the ranks of names decide what comes after it.
func (t *Tree) walkFolder(n Node, behind *Position, depth int, yield func(Node) bool) bool {
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

// walkNote walks a note or a section. It returns false if yield did.
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

// sectionsTo yields the nodes below a note or a section down to a depth, in text order, with their
// section numbers. It goes through the sections of the note once, without a tree of them.
//
// A section is below the nearest earlier node with a smaller level, which can skip levels.
func sectionsTo(n Node, depth int) iter.Seq2[Node, int] {
	return func(yield func(Node, int) bool) {
		if depth < 1 {
			return
		}
		var open []int // levels of the sections that contain the current one
		for i := n.Section; i < len(n.Note.Sections); i++ {
			s := &n.Note.Sections[i]
			if !isNode(s) {
				continue
			}
			// The next heading of the same or a higher rank ends the section n.
			if n.Section > 0 && s.Level() <= n.Level() {
				return
			}
			if depth < unlimitedDepth { // otherwise the depth of every section is small enough
				for len(open) > 0 && open[len(open)-1] >= s.Level() {
					open = open[:len(open)-1]
				}
				open = append(open, s.Level())
			}
			if len(open) <= depth && !yield(Node{Note: n.Note, Section: i + 1}, i+1) {
				return
			}
		}
	}
}

// Compare returns -1, 0 or 1 for the order of two positions in the tree. It reads the order of one
// folder, the lowest one that contains both.
//
// Neither node need exist. A folder comes before everything in it.
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

// firstEntry returns the first segment of a path, with its slash if it is a folder.
func firstEntry(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}

// Entry returns the name of a child in the order of its folder: `website`, or `archive/` for a
// folder.
func (n Node) Entry() string { return entry(n) }

// Order returns the order of a folder as its own file lists it. It can contain names of children
// that do not exist.
func (t *Tree) Order(folder Node) []string { return t.folderInfo(folder.Folder).Order }

// FilesIn yields all files in a folder and below it, by path, including hidden notes.
func (t *Tree) FilesIn(folder string) iter.Seq[*index.File] {
	return func(yield func(*index.File) bool) {
		for f := range t.Index.FilesAfter(folder) {
			if !strings.HasPrefix(f.Path, folder) || !yield(f) {
				return
			}
		}
	}
}

// Package tree presents a vault as a tree of nodes: the vault, its folders, its notes, and the
// sections of notes (reference/tree.md, part C). It is pure: it reads one state of the index, and
// texts that the caller passes.
//
// A Tree returns nodes, and walks them in one order: children of a folder in the order that its own
// file lists, else folders before notes; sections in text order. A node whose own text is one
// transclusion shows the payload and the children of the node to which that leads, its Source.
// Functions with Own in their names do not follow it.
//
// An Evaluator evaluates queries for nodes, a Checker rules, and a Viewer the expansion of nodes in
// a session. A Shaper builds the forms that answers have, and a Differ compares subtrees.
//
// # Nodes
//
// A Node is a small value that refers to one state of the vault. It has two names that can be
// stored: its address (Node.ID), which changes when the node is renamed or moved, and its UID,
// which does not. Find accepts both. The children of folders are listed when they are first needed,
// and kept in the Tree; those of notes are computed from the sections of the note (walk.go).
// facts.go has the data of the index about a node, and text.go its place in the text of its note.
//
// A Position is a place in the order of the tree. Pages of a list continue after a Position, which
// stays valid when its node is deleted, because it consists of names and not of pointers. A Tour
// (tour.go) is a walk that follows transclusions; its places are lists of Positions.
//
// # Queries and rules
//
// A query is an Expr. It can be written as text (dsl.go) or as JSON predicates (predicate.go).
// Properties that are in the index are compared at once (operand.go). The text of a node is not in
// the index, so an Expr about it is Unknown until a caller passes the text: an Evaluator first
// finds the nodes that can match without reading any text. Rules of a vault (ruleset.go) select
// their nodes with the same queries.
//
// # Answers
//
// A Shape (shape.go) and a ViewNode (viewnode.go) are the two JSON forms of a node; a Filter
// (filter.go) selects the properties in them. sort.go sorts nodes by a property. diff.go compares
// two subtrees of one state, and versions.go one subtree in two states.
package tree

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	Vault   Kind = "vault"
	Folder  Kind = "folder"
	Note    Kind = "note"
	Section Kind = "section"
)

// A Node is one node of a tree. The zero value is the vault. Nodes of one tree can be compared with
// ==. A Node of another state of the vault has another *index.Note; compare addresses or UIDs
// across states.
type Node struct {
	Folder  string      // path of a folder, with a slash at the end; empty for other kinds
	Note    *index.Note // note of a note or a section; nil for other kinds
	Section int         // number of a section in the note, from 1; 0 for other kinds
}

// Kind returns the kind of the node.
func (n Node) Kind() Kind {
	switch {
	case n.Section > 0:
		return Section
	case n.Note != nil:
		return Note
	case n.Folder != "":
		return Folder
	}
	return Vault
}

// Object returns the object of a note or a section. The node must be one of these.
func (n Node) Object() index.Object { return n.Note.Object(n.Section - 1) }

// section returns the section of the node, which must be one.
func (n Node) section() *index.Section { return &n.Note.Sections[n.Section-1] }

// ID returns the address of the node: `/`, `projects/`, `projects/website` or
// `projects/website#goals`.
func (n Node) ID() string {
	switch n.Kind() {
	case Vault:
		return "/"
	case Folder:
		return n.Folder
	}
	return n.Object().ID()
}

// A Tree is a vault at one version. It caches the children of folders, so it must be used by one
// goroutine at a time. Create it with New, for one request: the cache is never emptied.
type Tree struct {
	Index *index.Index

	folders map[string]*listing // cache of children, by path; "" for the vault
}

// New returns the tree of a state of a vault.
func New(x *index.Index) *Tree { return &Tree{Index: x, folders: map[string]*listing{}} }

// Root returns the vault itself.
func (t *Tree) Root() Node { return Node{} }

// Find returns the node with an address or a UID. The path of a note can end with `.md`, and any
// address can begin with a slash. A note can also be named by the slug of its title, and a folder
// without its slash if no note has that name. The empty address and `/` are the vault. It does not
// resolve names or aliases as references do.
func (t *Tree) Find(id string) (Node, bool) {
	// A text with the prefix of UIDs that is not a valid UID is looked up as a path.
	if n, ok := t.byUID(id); ok {
		return n, true
	}
	id = strings.TrimPrefix(id, "/")
	if id == "" {
		return Node{}, true
	}
	if strings.HasSuffix(id, "/") {
		return t.folder(id)
	}
	if o, ok := t.Index.Find(id); ok {
		if o.Section == nil {
			return Node{Note: o.Note}, true
		}
		n := Node{Note: o.Note, Section: o.Number() + 1}
		return n, isNode(n.section())
	}
	// A fragment that Index.Find does not resolve names no folder either.
	if strings.Contains(id, "#") {
		return Node{}, false
	}
	return t.folder(id + "/")
}

// folder returns the folder with a path, if it exists.
func (t *Tree) folder(path string) (Node, bool) {
	if path == "/" || strings.Contains(path, "//") || isHidden(path) {
		return Node{}, false
	}
	return Node{Folder: path}, t.exists(path)
}

// exists reports whether a folder exists: whether a note or the file of a folder is in it or below
// it.
func (t *Tree) exists(path string) bool {
	for f := range t.Index.FilesAfter(path) {
		if !strings.HasPrefix(f.Path, path) {
			return false
		}
		if IsContent(f) {
			return true
		}
	}
	return false
}

// isHidden reports whether a path is in a top-level folder that trees leave out, because its name
// begins with a dot.
func isHidden(path string) bool { return strings.HasPrefix(path, ".") }

// IsContent reports whether a file makes its folder exist: a note, or the file of a folder.
func IsContent(f *index.File) bool {
	return f.Note != nil || vault.Path(f.Path).Kind() == vault.KindFolder
}

// Parent returns the node above. For the vault it returns false.
func (t *Tree) Parent(n Node) (Node, bool) {
	switch n.Kind() {
	case Vault:
		return Node{}, false
	case Section:
		return Node{Note: n.Note, Section: parentOf(n.section()) + 1}, true
	case Note:
		return Node{Folder: dirOf(n.Note.Path)}, true
	}
	return Node{Folder: dirOf(strings.TrimSuffix(n.Folder, "/"))}, true
}

// dirOf returns the folder of a path, with a slash at the end; "" for the vault.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// Ancestors returns the nodes above, the vault first.
func (t *Tree) Ancestors(n Node) []Node {
	var all []Node
	for above, ok := t.Parent(n); ok; above, ok = t.Parent(above) {
		all = append(all, above)
	}
	slices.Reverse(all)
	return all
}

// Depth returns the number of nodes above.
func (t *Tree) Depth(n Node) int {
	depth := 0
	switch {
	case n.Note != nil:
		depth = 1 + strings.Count(n.Note.Path, "/")
	default:
		return strings.Count(n.Folder, "/")
	}
	for ; n.Section > 0; n, _ = t.Parent(n) {
		depth++
	}
	return depth
}

// Within reports whether a node is top or below it. It does not follow transclusions. Both nodes
// must be of the tree t.
func (t *Tree) Within(n, top Node) bool {
	switch top.Kind() {
	case Vault:
		return true
	case Folder:
		if n.Note != nil {
			return strings.HasPrefix(n.Note.Path, top.Folder)
		}
		return strings.HasPrefix(n.Folder, top.Folder)
	}
	// A parent section comes before its children, so the walk up can stop at the number of top.
	for ; n.Note == top.Note && n.Section > top.Section; n, _ = t.Parent(n) {
	}
	return n == top
}

// CommonAncestor returns the lowest node that is, or is above, each of the nodes. It panics if
// nodes is empty.
func (t *Tree) CommonAncestor(nodes []Node) Node {
	common := nodes[0]
	for _, n := range nodes[1:] {
		for !t.Within(n, common) {
			common, _ = t.Parent(common)
		}
	}
	return common
}

// Type returns the type of the node in the schema of the vault. For a folder or the vault, it is
// the type that its own file declares, else `folder` or `vault`.
func (t *Tree) Type(n Node) string {
	switch n.Kind() {
	case Vault, Folder:
		return cmp.Or(t.folderInfo(n.Folder).Type, string(n.Kind()))
	}
	return n.Object().Type()
}

// Name returns the title of the node (reference/tree.md C3). That of a section is its heading. That
// of a note is the name field of its type, else its field title, else its title heading, else its
// file name. For the vault it is "", unless its own file has a title.
func (t *Tree) Name(n Node) string {
	switch n.Kind() {
	case Vault, Folder:
		return cmp.Or(t.folderInfo(n.Folder).Title, lastOf(n.Folder))
	case Section:
		return cmp.Or(n.section().Title, n.section().Slug)
	}
	if title := titleField(n.Note.Fields); title != "" && t.Index.NameField(n.Object()) == "" {
		return title
	}
	return t.Index.NameOf(n.Object())
}

// titleField returns the value of the field title in one line, whatever the case of its name, or "".
func titleField(fields []index.Field) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, "title") {
			return strings.Join(strings.Fields(Text(f.Value)), " ")
		}
	}
	return ""
}

// lastOf returns the last segment of the path of a folder.
func lastOf(folder string) string {
	folder = strings.TrimSuffix(folder, "/")
	return folder[strings.LastIndexByte(folder, '/')+1:]
}

// Level returns the level of the heading of a section, 0 for other nodes.
func (n Node) Level() int {
	if n.Section == 0 {
		return 0
	}
	return n.section().Level()
}

// Version returns the version that last changed the node: its note, or the children or own file of
// its folder.
func (t *Tree) Version(n Node) uint64 {
	if n.Note != nil {
		return n.Note.Version
	}
	return t.Index.FolderVersion(n.Folder)
}

// Times returns the times of creation and last change of the node, in UTC; zero for a folder. Those
// of a note cover everything in it; those of a section cover its own text only.
func (n Node) Times() index.Times {
	switch n.Kind() {
	case Section:
		return *n.section().Times
	case Note:
		return index.Times{Created: n.Note.Created, Modified: n.Note.Modified}
	}
	return index.Times{}
}

// AtLine returns the node of a note whose own text contains a line. The heading of a section
// belongs to the section. For many lines of one note, use Lines.
func AtLine(n *index.Note, line int) Node { return NewLines(n).Node(line) }

// A Lines maps line numbers of a note to its nodes. Building it takes time in proportion to the
// sections of the note, and each lookup is a binary search.
type Lines struct {
	note *index.Note
	tops []int // by section: position of the last node at or before it; -1 if there is none
}

// NewLines returns the Lines of a note.
func NewLines(n *index.Note) Lines {
	l := Lines{n, make([]int, len(n.Sections))}
	top := -1
	for i := range n.Sections {
		if isNode(&n.Sections[i]) {
			top = i
		}
		l.tops[i] = top
	}
	return l
}

// Node returns the node whose own text contains a line. The heading of a section belongs to the
// section.
func (l Lines) Node(line int) Node {
	before := sort.Search(len(l.tops), func(i int) bool { return l.note.Sections[i].Line() > line })
	if before == 0 {
		return Node{Note: l.note}
	}
	return Node{Note: l.note, Section: l.tops[before-1] + 1}
}

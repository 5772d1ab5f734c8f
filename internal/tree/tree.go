// Package tree reads a vault as a tree of nodes: the vault, its folders, its notes, and the sections of
// these (reference/tree.md, part C). It is pure: it reads one state of the index, and texts that it is given.
package tree

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Kind is what a node is.
type Kind string

// The kinds of nodes.
const (
	Vault   Kind = "vault"
	Folder  Kind = "folder"
	Note    Kind = "note"
	Section Kind = "section"
)

// A Node is one node of a tree. The zero value is the vault. Two nodes of one tree are equal if they are the same.
type Node struct {
	Folder  string      // of a folder: its path, with a slash at the end; else empty
	Note    *index.Note // of a note or a section; else nil
	Section int         // of a section: its position among the sections of the note, from 1; else 0
}

// Kind is what the node is.
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

// Object is the object of a note or a section.
func (n Node) Object() index.Object { return n.Note.Object(n.Section - 1) }

// section is the section of the node.
func (n Node) section() *index.Section { return &n.Note.Sections[n.Section-1] }

// ID is the address of the node: `/`, `projects/`, `projects/website` or `projects/website#goals`.
func (n Node) ID() string {
	switch n.Kind() {
	case Vault:
		return "/"
	case Folder:
		return n.Folder
	}
	return n.Object().ID()
}

// A Tree is a vault at one version. It is for one goroutine: it keeps what it has listed.
type Tree struct {
	Index *index.Index

	folders map[string]*listing // by path, "" for the vault
}

// New returns the tree of a state of a vault.
func New(x *index.Index) *Tree { return &Tree{Index: x, folders: map[string]*listing{}} }

// Root is the vault itself.
func (t *Tree) Root() Node { return Node{} }

// Find returns the node that an address or a uid names. `.md` may be at the end of the path of a note, and a
// slash at the beginning. A note may also be named by the slug of its title, and a folder without its slash
// if there is no note of that name.
func (t *Tree) Find(id string) (Node, bool) {
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
	if strings.Contains(id, "#") {
		return Node{}, false
	}
	return t.folder(id + "/")
}

// folder is the folder of a path, if there is one.
func (t *Tree) folder(path string) (Node, bool) {
	if path == "/" || strings.Contains(path, "//") || isHidden(path) {
		return Node{}, false
	}
	return Node{Folder: path}, t.exists(path)
}

// exists reports whether there is a folder: it has a note or a file of its own, or some folder in it has.
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

// isHidden reports whether a path is in a folder that is in no tree.
func isHidden(path string) bool { return strings.HasPrefix(path, ".") }

// IsContent reports whether a folder with this file is one.
func IsContent(f *index.File) bool {
	return f.Note != nil || vault.Path(f.Path).Kind() == vault.KindFolder
}

// Parent returns the node above. The vault has none.
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

// dirOf is the folder of a path, with a slash at the end; empty for the vault.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// Ancestors are the nodes above, the vault first.
func (t *Tree) Ancestors(n Node) []Node {
	var all []Node
	for above, ok := t.Parent(n); ok; above, ok = t.Parent(above) {
		all = append(all, above)
	}
	slices.Reverse(all)
	return all
}

// Depth is how many nodes are above.
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

// Within reports whether a node is another one or below it.
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
	for ; n.Note == top.Note && n.Section > top.Section; n, _ = t.Parent(n) {
	}
	return n == top
}

// CommonAncestor is the nearest node that is above or the same as each of some nodes, of which there is one at
// least.
func (t *Tree) CommonAncestor(nodes []Node) Node {
	common := nodes[0]
	for _, n := range nodes[1:] {
		for !t.Within(n, common) {
			common, _ = t.Parent(common)
		}
	}
	return common
}

// Type is the type of the node in the schema of the vault: of a folder, what its own file says, else `folder`.
func (t *Tree) Type(n Node) string {
	switch n.Kind() {
	case Vault, Folder:
		return cmp.Or(t.about(n.Folder).Type, string(n.Kind()))
	}
	return n.Object().Type()
}

// Name is what the node is called. That of the vault is empty, unless its own file has a title.
func (t *Tree) Name(n Node) string {
	switch n.Kind() {
	case Vault, Folder:
		return cmp.Or(t.about(n.Folder).Title, lastOf(n.Folder))
	}
	return t.Index.NameOf(n.Object())
}

// lastOf is the last segment of the path of a folder.
func lastOf(folder string) string {
	folder = strings.TrimSuffix(folder, "/")
	return folder[strings.LastIndexByte(folder, '/')+1:]
}

// Level is the level of the heading of a section, 0 of all else.
func (n Node) Level() int {
	if n.Section == 0 {
		return 0
	}
	return n.section().Level
}

// Version is the commit with which the node changed last: its note, or what its folder holds.
func (t *Tree) Version(n Node) uint64 {
	if n.Note != nil {
		return n.Note.Version
	}
	return t.Index.FolderVersion(n.Folder)
}

// Times are when the node was made and last changed; zero of a folder.
func (n Node) Times() index.Times {
	switch n.Kind() {
	case Section:
		return *n.section().Times
	case Note:
		return index.Times{Created: n.Note.Created, Modified: n.Note.Modified}
	}
	return index.Times{}
}

// AtLine is the node of a note in whose own text a line is: a section with its heading, else the note. For many lines
// of one note, use Lines.
func AtLine(n *index.Note, line int) Node { return NewLines(n).Node(line) }

// Lines finds the nodes of a note by the lines of its file.
type Lines struct {
	note *index.Note
	tops []int // by section, the position of the last section up to it that is a node; -1: there is none
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

// Node is the node in whose own text a line is: a section with its heading, else the note.
func (l Lines) Node(line int) Node {
	before := sort.Search(len(l.tops), func(i int) bool { return l.note.Sections[i].Line > line })
	if before == 0 {
		return Node{Note: l.note}
	}
	return Node{Note: l.note, Section: l.tops[before-1] + 1}
}

package orient

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A treeIn is the input of vault_tree.
//
// Depth is the number of levels below the root, and Limit the number of folders in the answer, with
// the root. DirectOnly counts only the notes directly in each folder, and not those below.
type treeIn struct {
	tool.Vault
	// levels of folders below the root
	Depth int `json:"depth,omitempty" default:"2" min:"1" max:"10"`
	// the maximum number of folders, including the root
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"500"`
	// count only the notes directly in a folder, not those in subfolders
	DirectOnly bool `json:"directOnly,omitempty" alias:"direct_only"`
	tool.AsOf
}

// A treeOut is the answer of vault_tree.
type treeOut struct {
	tool.Aside `json:"-"`
	// the root of the vault, whose path is empty
	Tree *Node `json:"tree"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// A Node is a folder, with its child folders.
type Node struct {
	// in the vault
	Path string `json:"path"`
	// notes in the folder and its subfolders; with directOnly, directly in the folder
	Notes int `json:"noteCount" title:"notes"`
	// direct subfolders, shown or not
	Folders int `json:"childFolders" title:"folders"`
	// the direct subfolders that are shown, by path
	Children []*Node `json:"children"`
}

// tree returns the tool that returns the tree of folders, from the root down to a depth. The number
// of folders in it is limited; a folder that is not shown still counts in the childFolders of its
// parent, so a caller sees where to look further.
func (f tools) tree() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_tree", Family: Family, Title: "Show the folders of a vault",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/tree"},
		Commands: []tool.Command{{Words: "tree"}},
	}, func(ctx context.Context, c auth.Caller, in treeIn) (treeOut, error) {
		var out treeOut
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return treeOut{}, err
		}
		b := treeBuilder{s.Index, in.DirectOnly, in.Limit}
		out.Tree, out.Freshness = b.build(in.Depth), s.freshness.state
		// The total is the number of folders down to the depth, shown or not, including the root.
		total := 1
		for level := range in.Depth {
			total += s.Index.FoldersAt(level + 1)
		}
		truncation{
			code: "TREE_LIMIT_EXCEEDED", what: "folders, including the root,", shown: in.Limit, total: total,
			more: "use a higher limit, or less depth",
		}.warn(&out.Aside)
		return out, nil
	})
}

// A treeBuilder builds a tree of at most left nodes. It reads counts of the index: one for each
// shown folder, and one seek for each child.
type treeBuilder struct {
	idx    *index.Index
	direct bool // count only the notes directly in a folder
	left   int  // number of nodes that can still be added
}

// build returns the tree with the given number of levels below the root. It works level by level,
// so that the limit omits the deepest folders first and, of one level, the last.
func (b *treeBuilder) build(depth int) *Node {
	root := b.node("", b.idx.FolderSum("").Notes)
	level := []*Node{root}
	for range depth {
		var next []*Node
		for _, n := range level {
			b.fill(n)
			next = append(next, n.Children...)
		}
		level = next
	}
	return root
}

// node returns a node without children. notes is the number of notes in the folder and below; with
// direct, it is replaced by the number directly in the folder.
func (b *treeBuilder) node(path string, notes int) *Node {
	b.left--
	if b.direct {
		notes = b.idx.NotesIn(path)
	}
	return &Node{Path: path, Notes: notes, Folders: b.idx.Folders(path), Children: []*Node{}}
}

// fill adds the children of a node, in order of their paths, until the limit is reached.
func (b *treeBuilder) fill(n *Node) {
	if b.left == 0 || n.Folders == 0 {
		return
	}
	for path, notes := range b.idx.FoldersIn(n.Path) {
		n.Children = append(n.Children, b.node(path, notes))
		if b.left == 0 {
			return
		}
	}
}

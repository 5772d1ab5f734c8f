package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A getSubtreeIn is the input of tree_get_subtree. Filters and Paging are a second form of the
// arguments, which the specification has; the tool model lifts their members to the level of the
// others.
type getSubtreeIn struct {
	nodeArg
	// levels below the node; 0 is the node alone
	DepthLimit *int `json:"depthLimit,omitempty" min:"0" alias:"depth_limit" absent:"all levels"`
	propertyLists
	page
	// alternative to includedProperties and excludedProperties
	Filters struct {
		Included []string `json:"includedProperties,omitempty"`
		Excluded []string `json:"excludedProperties,omitempty"`
	} `json:"filters,omitzero" rare:"true"`
	// alternative to limit (as pageSize) and pageToken
	Paging struct {
		PageSize  *int   `json:"pageSize,omitempty"`
		PageToken string `json:"pageToken,omitempty" size:"token"`
	} `json:"paging,omitzero" rare:"true"`
	tool.AsOf
}

// A getSubtreeOut is the output of tree_get_subtree.
type getSubtreeOut struct {
	Node *tree.Shape `json:"node"`
	pageOut
}

// getSubtree returns the tool that returns a node with its descendants, in pages.
func (f tools) getSubtree() *tool.Tool {
	s := spec("get_subtree", "Get a node with its descendants")
	s.Role, s.Kind, s.Lifted = auth.Reader, tool.Read, []string{"filters", "paging"}
	s.Route = tool.Route{Method: "POST", Path: "/view/subtree"}
	s.Commands = []tool.Command{{Words: "node subtree", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getSubtreeIn) (getSubtreeOut, error) {
		var out getSubtreeOut
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		return out, r.subtree(ctx, top, in, &out)
	})
}

// subtree fills one page of a subtree: the next nodes in the order of the tree, with their
// ancestors as skeletons.
//
// The nodes are those of a Tour, which follows references as a reader does. A page ends at the
// limit, or earlier if the answer is full, and has at least one node. So that every page is a tree
// of its own, ancestors that an earlier page had are repeated with their addresses only. If the
// call ends while it walks, it returns the error of the context and no page.
func (r *treeView) subtree(ctx context.Context, top tree.Node, in getSubtreeIn, out *getSubtreeOut) error {
	after, err := in.after()
	if err != nil {
		return err
	}
	depth := endless
	if in.DepthLimit != nil {
		depth = *in.DepthLimit
	}
	g := shapeTree{shaper: r.shaper(in.propertyLists), shapes: map[*tree.Visit]*tree.Shape{}}
	tour := tree.Tour{Tree: r.Tree, Depth: depth}
	going, more, count := state.KeepGoing(ctx), false, 0
	var last *tree.Visit
	for v := range tour.Walk(top, after.place()) {
		if more = count == in.Limit || !going(); more {
			break
		}
		shape := g.shaper.Whole(v.Node)
		shape.ViaReference = v.Via > 0 && g.shaper.Filter.Shows("viaReference")
		if err := r.addWanted(ctx, g.shaper.Filter, v.Node, shape); err != nil {
			return err
		}
		if more = !out.Fits(shape) && count > 0; more {
			break
		}
		g.add(v, shape)
		count, last = count+1, v
	}
	if err := ctx.Err(); err != nil {
		return err // the list is incomplete
	}
	if out.Node = g.top; out.Node == nil {
		out.Node = &tree.Shape{NodeID: top.ID(), Skeleton: true}
	}
	return out.endWalk(count, more, last)
}

// endless is a depth that is greater than that of any node.
const endless = 1 << 30

// endWalk adds the metadata of a page of a tour. The total is omitted, because it would require a
// walk of all nodes.
func (p *pageOut) endWalk(count int, more bool, last *tree.Visit) error {
	p.Note("count", count)
	p.Note("has_more", more)
	if !more {
		return nil
	}
	key, err := markAt(last).text()
	p.Note("next_page_token", tool.Token(key))
	return err
}

// A shapeTree is a tree of shapes to which nodes are added in order, each after its parent.
//
// Visits and not nodes are the keys, because a node can be visited several times, through
// references.
type shapeTree struct {
	shaper tree.Shaper
	shapes map[*tree.Visit]*tree.Shape // the shapes that are in the tree
	top    *tree.Shape                 // nil: empty
}

// add adds a node below its parent.
func (g *shapeTree) add(v *tree.Visit, shape *tree.Shape) {
	g.shapes[v] = shape
	if v.Parent == nil {
		g.top = shape
		return
	}
	parent := g.shape(v.Parent)
	parent.Children = append(parent.Children, shape)
}

// shape returns the shape of a node. A node of an earlier page is added as a skeleton, and with it
// all its ancestors that are not in the tree yet.
func (g *shapeTree) shape(v *tree.Visit) *tree.Shape {
	shape, ok := g.shapes[v]
	if !ok {
		shape = &tree.Shape{NodeID: v.ID(), Skeleton: true}
		g.add(v, shape)
	}
	return shape
}

// A texts reads the texts of nodes. It caches the last file, so a file is read once if its nodes
// are requested one after the other. It is not safe for concurrent use.
//
// The zero value with read set is ready for use. A caller should visit nodes in the order of the
// tree: then the sections of a note follow each other, and each note is parsed once.
type texts struct {
	read    func(context.Context, tree.Node) ([]byte, error) // the text of the file of a node
	file    string                                           // the file of text and extents
	text    []byte
	extents []tree.Extent // of the nodes in text, by section; nil: no file was read yet
}

// load returns the own text of a node, and its text with all its descendants. Both are without the
// blank lines around them, and share the memory of the file's text. A folder without an own file
// has empty texts.
func (t *texts) load(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	file := n.Folder
	if n.Note != nil {
		file = n.Note.Path
	}
	if t.extents == nil || file != t.file {
		text, err := t.read(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		t.file, t.text, t.extents = file, text, tree.Extents(text, markdown.Parse(text))
	}
	e := t.extents[n.Section]
	return tree.Cut(t.text, e.Own), tree.Cut(t.text, e.Content), nil
}

// addWanted adds the texts that the filter names to the shape of a node. Lists do so for each node.
// Unlike addTexts it adds no text that the call does not name.
func (r *treeView) addWanted(ctx context.Context, f tree.Filter, n tree.Node, shape *tree.Shape) error {
	if !f.Wants("body") && !f.Wants("content") {
		return nil
	}
	own, all, err := r.textsOf(ctx, n)
	if err != nil {
		return err
	}
	if f.Wants("body") {
		shape.Body = new(string(own))
	}
	if f.Wants("content") {
		shape.Content = new(string(all))
	}
	return nil
}

// textsOf returns the own text and the whole text of a node, or of the node that it represents.
func (r *treeView) textsOf(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	source, _ := r.Source(n)
	return r.texts.load(ctx, source)
}

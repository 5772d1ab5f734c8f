package tree

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/tool"
	"rookery/internal/tools/state"
	"rookery/internal/tree"
)

//go:embed get_subtree.md
var getSubtreeDoc string

type getSubtreeIn struct {
	naming
	DepthLimit *int `json:"depthLimit,omitempty" min:"0" alias:"depth_limit" absent:"all levels" jsonschema:"levels below the node; 0 is the node alone"`
	lists
	page
	Filters struct {
		Included []string `json:"includedProperties,omitempty"`
		Excluded []string `json:"excludedProperties,omitempty"`
	} `json:"filters,omitzero" rare:"true" jsonschema:"another way to give includedProperties and excludedProperties"`
	Paging struct {
		PageSize  *int   `json:"pageSize,omitempty"`
		PageToken string `json:"pageToken,omitempty" size:"token"`
	} `json:"paging,omitzero" rare:"true" jsonschema:"another way to give limit, as pageSize, and pageToken"`
	tool.AsOf
}

type getSubtreeOut struct {
	Node *tree.Shape `json:"node"`
	paged
}

func (f tools) getSubtree() *tool.Tool {
	s := spec("get_subtree", "Get a node with all below it", getSubtreeDoc)
	s.Role, s.Kind, s.Lifted = auth.Reader, tool.Read, []string{"filters", "paging"}
	s.Route = tool.Route{Method: "POST", Path: "/view/subtree"}
	s.Commands = []tool.Command{{Words: "node subtree", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getSubtreeIn) (getSubtreeOut, error) {
		var out getSubtreeOut
		r, top, err := f.readNode(ctx, c, spot{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		return out, r.subtree(ctx, top, in, &out)
	})
}

// subtree fills in a page of a node and all below it: the next nodes in the order of the tree, and what is above
// them as skeletons.
func (r *reading) subtree(ctx context.Context, top tree.Node, in getSubtreeIn, out *getSubtreeOut) error {
	after, err := in.after()
	if err != nil {
		return err
	}
	depth := endless
	if in.DepthLimit != nil {
		depth = *in.DepthLimit
	}
	var behind *tree.Position
	if after != nil {
		behind = &after.Position
	}
	g := growing{shaper: r.shaper(in.lists), top: top, shapes: map[tree.Node]*tree.Shape{}}
	going, more, last, count := state.Going(ctx), false, tree.Node{}, 0
	for n := range r.WalkTo(top, behind, depth) {
		if more = count == in.Limit || !going(); more {
			break
		}
		shape := g.shaper.Whole(n)
		if err := r.addWanted(ctx, g.shaper.Filter, n, shape); err != nil {
			return err
		}
		if more = !out.Fits(shape) && count > 0; more {
			break
		}
		g.add(n, shape)
		count, last = count+1, n
	}
	if err := ctx.Err(); err != nil {
		return err // what is listed is cut off
	}
	out.Node = g.shape(top)
	return out.endWalk(count, more, last)
}

// endless is a depth that no node has.
const endless = 1 << 30

// endWalk notes what is told of a page of a walk, of which nobody counts all nodes.
func (p *paged) endWalk(count int, more bool, last tree.Node) error {
	p.Note("count", count)
	p.Note("has_more", more)
	if !more {
		return nil
	}
	key, err := mark{Position: last.Position()}.text()
	p.Note("next_page_token", tool.Token(key))
	return err
}

// A growing is a part of a tree that grows node by node, each after those above it.
type growing struct {
	shaper tree.Shaper
	top    tree.Node
	shapes map[tree.Node]*tree.Shape
}

// add adds a node below the one above it.
func (g *growing) add(n tree.Node, shape *tree.Shape) {
	g.shapes[n] = shape
	if n == g.top {
		return
	}
	above, _ := g.shaper.Tree.Parent(n)
	parent := g.shape(above)
	parent.Children = append(parent.Children, shape)
}

// shape is that of a node. One that was on a page before is a skeleton.
func (g *growing) shape(n tree.Node) *tree.Shape {
	shape, ok := g.shapes[n]
	if !ok {
		shape = &tree.Shape{NodeID: n.ID(), Skeleton: true}
		g.add(n, shape)
	}
	return shape
}

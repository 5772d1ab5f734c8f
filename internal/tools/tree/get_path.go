package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A getPathIn is the input of tree_get_path.
type getPathIn struct {
	nodeArg
	tool.AsOf
}

// A step is one node of a path.
//
// The root of the vault has depth 0.
type step struct {
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
	Depth  int    `json:"depth"`
}

// A getPathOut is the output of tree_get_path.
type getPathOut struct {
	// from the root to the node
	Path []step `json:"path"`
	versionOut
}

// getPath returns the tool that lists the nodes from the root of the vault to a node.
func (f tools) getPath() *tool.Tool {
	s := spec("get_path", "Get the path to a node")
	s.Role, s.Kind, s.List = auth.Reader, tool.Read, "path"
	s.Columns = []string{"depth", "nodeId", "name"}
	s.Route = tool.Route{Method: "GET", Path: "/view/path"}
	s.Commands = []tool.Command{{Words: "node path", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getPathIn) (getPathOut, error) {
		out := getPathOut{Path: []step{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		for depth, on := range append(r.Ancestors(n), n) {
			out.Path = append(out.Path, step{on.ID(), r.Name(on), depth})
		}
		return out, nil
	})
}

// A commonAncestorIn is the input of tree_get_common_ancestor.
type commonAncestorIn struct {
	tool.Vault
	// addresses or uids, at most 100
	NodeIDs []string `json:"nodeIds" complete:"id" size:"id" names:"target" alias:"node_ids,ids"`
	tool.AsOf
}

// A commonAncestorOut is the output of tree_get_common_ancestor.
type commonAncestorOut struct {
	// the root / if there is no other
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
	versionOut
}

// commonAncestor returns the tool that returns the nearest common ancestor of nodes. If one of the
// nodes contains all others, it is the answer itself. References are not followed.
func (f tools) commonAncestor() *tool.Tool {
	s := spec("get_common_ancestor", "Get the nearest common ancestor")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/view/ancestor"}
	s.Commands = []tool.Command{{Words: "node ancestor", Args: []string{"nodeIds..."}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in commonAncestorIn) (commonAncestorOut, error) {
		var out commonAncestorOut
		if err := checkBatch("nodeIds", len(in.NodeIDs)); err != nil {
			return out, err
		}
		r, err := f.read(ctx, c, in.Vault, in.AsOf)
		if err != nil {
			return out, err
		}
		out.at(r.view.Version())
		var all []tree.Node
		for _, id := range in.NodeIDs {
			n, err := r.node("nodeIds", id)
			if err != nil {
				return out, err
			}
			all = append(all, n)
		}
		top := r.CommonAncestor(all)
		out.NodeID, out.Name = top.ID(), r.Name(top)
		return out, nil
	})
}

// maxBatch is the maximum number of nodes that a call names or changes.
const maxBatch = 100

// checkBatch returns a fault if the list in an argument is empty or has more than maxBatch entries.
func checkBatch(arg string, n int) error {
	switch {
	case n == 0:
		return invalidParameter("empty", "argument %q must not be empty", arg).With("argument", arg)
	case n > maxBatch:
		return fault.New(fault.BatchTooLarge, "argument %q has more than %d entries", arg, maxBatch).
			With("argument", arg).With("max", maxBatch).With("got", n).
			Fix("split it over several calls of at most %d", maxBatch)
	}
	return nil
}

// A listChildrenIn is the input of tree_list_children.
type listChildrenIn struct {
	nodeArg
	propertyLists
	page
	tool.AsOf
}

// A nodesOut is the output of a tool that lists nodes. Items are in the order of the tree, or in
// that of a sort.
type nodesOut struct {
	Items []*tree.Shape `json:"items"`
	pageOut
}

// itemColumns are the members of a node that a table shows.
var itemColumns = []string{"nodeId", "payloadType", "name", "childrenCount"}

// listChildren returns the tool that lists the children of a node, in pages. For a node that
// represents another one it lists the children of the other, marked as such.
func (f tools) listChildren() *tool.Tool {
	s := spec("list_children", "List the children of a node")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, itemColumns
	s.Route = tool.Route{Method: "GET", Path: "/nodes"}
	s.Commands = []tool.Command{{Words: "node children", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in listChildrenIn) (nodesOut, error) {
		out := nodesOut{Items: []*tree.Shape{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		shaper := r.shaper(in.propertyLists)
		out.Items, err = r.page(ctx, &out.pageOut, nodeList{r.Children(n), in.page, shaper, false})
		if source, _ := r.Source(n); source != n && shaper.Filter.Shows("viaReference") {
			for _, item := range out.Items {
				item.ViaReference = true
			}
		}
		return out, err
	})
}

// A nodeList is a list of nodes in the order of the tree, with the requested page.
//
// All nodes are known before the first page is built, so the total is exact.
type nodeList struct {
	nodes  []tree.Node // all nodes of the list
	page   page
	shaper tree.Shaper
	placed bool // items contain their ancestors
}

// page returns one page of a list of nodes in the order of the tree. A page begins after the
// position of the last node of the previous page, by binary search, so it is right also if that
// node was removed in the meantime. The comparison never reports equality: the search then ends at
// the first node after the position.
func (r *treeView) page(ctx context.Context, out *pageOut, l nodeList) ([]*tree.Shape, error) {
	after, err := l.page.after()
	if err != nil {
		return []*tree.Shape{}, err
	}
	from := 0
	if after != nil {
		from, _ = slices.BinarySearchFunc(l.nodes, after.Position, func(n tree.Node, at tree.Position) int {
			if c := r.Compare(n.Position(), at); c != 0 {
				return c
			}
			return -1
		})
	}
	return takePage(out, l.page, listing[tree.Node]{
		l.nodes, from, func(n tree.Node) (*tree.Shape, error) { return r.item(ctx, l, n) },
		func(n tree.Node) mark { return mark{Position: n.Position()} },
	})
}

// item returns one node of a list, with its texts if the call names them.
func (r *treeView) item(ctx context.Context, l nodeList, n tree.Node) (*tree.Shape, error) {
	item := l.shaper.Item(n)
	if l.placed || l.shaper.Filter.Wants("ancestors") {
		item = l.shaper.WithAncestors(n)
	}
	return item, r.addWanted(ctx, l.shaper.Filter, n, item)
}

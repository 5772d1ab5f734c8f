package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

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

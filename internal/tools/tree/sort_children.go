package tree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A sortChildrenIn is the input of tree_sort_children.
type sortChildrenIn struct {
	tool.Vault
	// address or uid of the node whose children are sorted
	ParentID string `json:"parentId" complete:"id" size:"id" names:"target" alias:"parent_id,nodeId"`
	// property by which they are sorted: severity, title
	ByProp string `json:"byProp" size:"name" alias:"by_prop,by"`
	// asc or desc
	Direction string `json:"direction,omitempty" enum:"asc,desc" default:"asc"`
	// equal children keep their order; false: they are in the order of their addresses
	Stable *bool `json:"stable,omitempty" default:"true"`
	nodeMutation
}

// A sortChildrenOut is the output of tree_sort_children.
type sortChildrenOut struct {
	// addresses of the children, in their order
	Order []string `json:"order"`
	changeOut
}

// sortChildren returns the tool that sorts the children of a node by a property. The order is
// written once; children that are added later are not sorted.
func (f tools) sortChildren() *tool.Tool {
	s := spec("sort_children", "Sort the children of a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	s.Route = tool.Route{Method: "POST", Path: "/nodes/sort"}
	s.Commands = []tool.Command{{Words: "node sort", Args: []string{"parentId", "byProp"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in sortChildrenIn) (sortChildrenOut, error) {
		by, err := in.sorting()
		if err != nil {
			return sortChildrenOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *sortChildrenOut) error {
			parent, err := e.parent("parentId", in.ParentID)
			if err != nil {
				return err
			}
			all := e.tree.OwnChildren(parent)
			order := in.sorted(e, all, by)
			if err := e.reorder(ctx, parent, all, order); err != nil {
				return err
			}
			if _, err := e.finish(ctx, parent, in.DryRun, &out.changeOut); err != nil {
				return err
			}
			out.Order = make([]string, len(order))
			for i, n := range order {
				out.Order[i] = cmp.Or(out.IDMap[n.ID()], n.ID())
			}
			return nil
		})
	})
}

// sorting returns the sorting that the call requests. Texts cannot be sorted by. The path can name
// a member in a field, with dots.
func (in sortChildrenIn) sorting() (tree.Sorting, error) {
	path := strings.Split(bareName(in.ByProp), ".")
	switch first := strings.ToLower(path[0]); {
	case slices.Contains(path, ""):
		return tree.Sorting{}, invalidParameter("property",
			"byProp must be the name of a property").With("argument", "byProp")
	case first == "body" || first == "content":
		return tree.Sorting{}, invalidParameter("property",
			"children cannot be sorted by their texts").With("argument", "byProp")
	}
	return tree.Sorting{Path: path, Descending: in.Direction == "desc"}, nil
}

// sorted returns the children in their new order. Without stable, children that compare as equal
// are sorted by address. Children without the property are last in both directions.
func (in sortChildrenIn) sorted(e *edit, all []tree.Node, by tree.Sorting) []tree.Node {
	from := slices.Clone(all)
	if in.Stable != nil && !*in.Stable {
		slices.SortStableFunc(from, func(a, b tree.Node) int { return strings.Compare(a.ID(), b.ID()) })
	}
	clock := state.Clock(e.tree.Index, e.Now())
	var order []tree.Node
	for _, s := range tree.NewEvaluator(e.tree, clock).Sort(from, by) {
		order = append(order, s.Node)
	}
	return order
}

package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A moveSiblingIn is the input of tree_move_before and tree_move_after.
type moveSiblingIn struct {
	nodeArg
	// address or uid of a sibling
	SiblingID string `json:"siblingId" complete:"id" size:"id" alias:"sibling_id"`
	nodeMutation
}

// A moveSiblingOut is their output.
type moveSiblingOut struct {
	// current address of the node
	NodeID string `json:"nodeId"`
	changeOut
}

// moveBefore returns the tool that moves a node before a sibling.
func (f tools) moveBefore() *tool.Tool {
	s := spec("move_before", "Move a node before a sibling")
	s.Route = tool.Route{Method: "POST", Path: "/nodes/move-before"}
	s.Commands = []tool.Command{{Words: "node before", Args: []string{"nodeId", "siblingId"}}}
	return f.moveSibling(s, 0)
}

// moveAfter returns the tool that moves a node after a sibling.
func (f tools) moveAfter() *tool.Tool {
	s := spec("move_after", "Move a node after a sibling")
	s.Route = tool.Route{Method: "POST", Path: "/nodes/move-after"}
	s.Commands = []tool.Command{{Words: "node after", Args: []string{"nodeId", "siblingId"}}}
	return f.moveSibling(s, 1)
}

// moveSibling returns a tool that moves a node next to a sibling: before it (behind 0) or after it
// (behind 1). A node that is moved next to itself stays where it is. The address of the node
// changes only if it is a section with the same heading as another one, because the slugs of such
// sections are numbered in the order of the text.
func (f tools) moveSibling(s tool.Spec, behind int) *tool.Tool {
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	return tool.New(s, func(ctx context.Context, c auth.Caller, in moveSiblingIn) (moveSiblingOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *moveSiblingOut) error {
			n, above, err := in.siblings(e)
			if err != nil {
				return err
			}
			all := e.tree.OwnChildren(above)
			was, _ := e.node("siblingId", in.SiblingID)
			if was != n {
				order := slices.DeleteFunc(slices.Clone(all), func(o tree.Node) bool { return o == n })
				order = slices.Insert(order, slices.Index(order, was)+behind, n)
				if err := e.reorder(ctx, above, all, order); err != nil {
					return err
				}
			}
			out.NodeID, err = e.finish(ctx, n, in.DryRun, &out.changeOut)
			return err
		})
	})
}

// siblings returns the node and its parent. It returns a fault if the sibling has another parent,
// and CONFLICT if the order that the call changes has changed after the version token.
//
// Nodes are moved among their siblings only; the fault names the tool that moves between parents.
func (in moveSiblingIn) siblings(e *edit) (n, above tree.Node, err error) {
	if n, err = e.node("nodeId", in.NodeID); err != nil {
		return n, above, err
	}
	sibling, err := e.node("siblingId", in.SiblingID)
	if err != nil {
		return n, above, err
	}
	if above, err = e.parentOf("nodeId", n); err != nil {
		return n, above, err
	}
	other, err := e.parentOf("siblingId", sibling)
	if err != nil {
		return n, above, err
	}
	if above != other {
		return n, above, invalidParameter(notSiblings,
			"the nodes do not have the same parent").With("argument", "siblingId").
			With("nodeId", n.ID()).Fix("move it below that node first, with move_node")
	}
	return n, above, e.checkUnchanged(conflictNode(n, above))
}

// conflictNode returns the node to check for conflicts if a node moves among its siblings: a
// section itself, because covers checks its note, or else the parent folder.
func conflictNode(n, above tree.Node) tree.Node {
	if n.Section > 0 {
		return n
	}
	return above
}

// reorder drafts a new order of all children of a node. An unchanged order drafts nothing.
//
// Children of a folder are ordered by the field order of the folder's own file, sections by their
// order in the text. order must contain the same nodes as all.
func (e *edit) reorder(ctx context.Context, above tree.Node, all, order []tree.Node) error {
	if slices.Equal(all, order) {
		return nil
	}
	if above.Note == nil {
		entries := make([]string, len(order))
		for i, n := range order {
			entries[i] = n.Entry()
		}
		return e.putOrder(ctx, above, entries)
	}
	at := make(map[tree.Node]int, len(all))
	for i, n := range all {
		at[n] = i
	}
	siblings := make([]markdown.Sibling, len(order))
	for i, n := range order {
		siblings[i].Child = at[n]
	}
	text, err := e.noteText(ctx, above)
	if err != nil {
		return err
	}
	r, err := markdown.Reorder(text, above.Section, siblings)
	if err != nil {
		return unplaceable(err, above)
	}
	return e.putReordered(ctx, above.Note, marksOf(above.Note), text, r)
}

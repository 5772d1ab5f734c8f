package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A cloneNodeIn is the input of tree_clone_node.
type cloneNodeIn struct {
	nodeArg
	// address or uid of the parent of the clone, which is its last child
	TargetParentID string `json:"targetParentId" complete:"id" size:"id" alias:"target_parent_id,parentId"`
	nodeMutation
}

// A cloneNodeOut is the output of tree_clone_node.
type cloneNodeOut struct {
	// of the clone
	NodeID string `json:"nodeId"`
	// labels of link definitions and footnotes that have another definition in the note of the
	// clone
	FootnoteConflicts []string `json:"footnoteConflicts,omitempty"`
	changeOut
}

// cloneNode returns the tool that copies a node without its children.
//
// For a note or section the copy has its own text, up to its first section; for a folder it has the
// folder's own file, without the order of its children. It is copy_subtree with the mode duplicate
// for a single node; see copier.single.
func (f tools) cloneNode() *tool.Tool {
	s := spec("clone_node", "Copy a node without its children")
	s.Role, s.Kind = auth.Editor, tool.Write
	s.Route = tool.Route{Method: "POST", Path: "/nodes/clone"}
	s.Commands = []tool.Command{{Words: "node clone", Args: []string{"nodeId", "targetParentId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in cloneNodeIn) (cloneNodeOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *cloneNodeOut) error {
			n, err := e.movable("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			to, err := e.parent("targetParentId", in.TargetParentID)
			if err != nil {
				return err
			}
			c := copier{edit: e, ctx: ctx, from: n, to: to, single: true}
			if err := c.duplicate(); err != nil {
				return err
			}
			out.FootnoteConflicts = c.conflicts
			var made []string
			return c.complete(in.DryRun, &out.changeOut, &out.NodeID, &made)
		})
	})
}

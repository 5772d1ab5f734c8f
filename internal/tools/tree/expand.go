package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// An expandIn is the input of the tools that expand or collapse one node.
type expandIn struct {
	nodeArg
	sessionMutation
}

// An expandOut is their output, with the new state of the node.
type expandOut struct {
	NodeID        string `json:"nodeId"`
	IsExpanded    bool   `json:"isExpanded"`
	ChildrenCount int    `json:"childrenCount"`
	versionOut
}

// expandNode returns the tool that expands one node in the view of the session.
func (f tools) expandNode() *tool.Tool {
	s := viewSpec("expand_node", "Expand a node in the view")
	s.Route.Path, s.Idempotent = "/view/expand", true
	s.Commands = []tool.Command{{Words: "view expand", Args: []string{"nodeId"}}}
	return f.opening(s, func(bool) bool { return true })
}

// collapseNode returns the tool that collapses one node in the view of the session.
func (f tools) collapseNode() *tool.Tool {
	s := viewSpec("collapse_node", "Collapse a node in the view")
	s.Route.Path, s.Idempotent = "/view/collapse", true
	s.Commands = []tool.Command{{Words: "view collapse", Args: []string{"nodeId"}}}
	return f.opening(s, func(bool) bool { return false })
}

// toggleNode returns the tool that expands a collapsed node, and collapses an expanded one. Unlike
// the others, it is not idempotent.
func (f tools) toggleNode() *tool.Tool {
	s := viewSpec("toggle_node", "Expand or collapse a node in the view")
	s.Route.Path = "/view/toggle"
	s.Commands = []tool.Command{{Words: "view toggle", Args: []string{"nodeId"}}}
	return f.opening(s, func(was bool) bool { return !was })
}

// viewSpec returns the Spec of a tool that changes the view of a session.
//
// Such a tool needs the editor role, is audited and has idempotency keys, but makes no commit of
// the log.
func viewSpec(short, title string) tool.Spec {
	s := spec(short, title)
	s.Role, s.Kind, s.Route.Method, s.Unversioned = auth.Editor, tool.View, "POST", true
	return s
}

// opening returns a tool that expands or collapses one node. next returns the new state from the
// old one.
//
// A state that does not change adds no rule, so repeated calls do not fill the view.
func (f tools) opening(s tool.Spec, next func(was bool) bool) *tool.Tool {
	return tool.New(s, func(ctx context.Context, c auth.Caller, in expandIn) (expandOut, error) {
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.NodeID}, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *expandOut) error {
			n, err := t.node("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			was := t.viewer().Expanded(n)
			out.NodeID, out.IsExpanded, out.ChildrenCount = n.ID(), next(was), t.ChildrenCount(n)
			if was == out.IsExpanded {
				return nil
			}
			return t.rule(n, tree.Rule{Expanded: out.IsExpanded})
		})
	})
}

// A rootArg is the part of an input that names the root of a subtree.
type rootArg struct {
	tool.Vault
	// address or uid of the top node; / is the whole vault
	RootNodeID string `json:"rootNodeId" complete:"id" size:"id" names:"target" alias:"root_node_id,rootId"`
}

// An expandAllIn is the input of tree_expand_all and tree_collapse_all.
type expandAllIn struct {
	rootArg
	sessionMutation
}

// An expandAllOut is the output of the tools that expand or collapse a subtree.
type expandAllOut struct {
	NodeID string `json:"nodeId"`
	// affected nodes: the node and its descendants
	Affected int `json:"affected"`
	versionOut
}

// expandAll returns the tool that expands a node and all its descendants.
func (f tools) expandAll() *tool.Tool {
	s := viewSpec("expand_all", "Expand a node and its descendants in the view")
	s.Route.Path, s.Idempotent = "/view/expand-all", true
	s.Commands = []tool.Command{{Words: "view expand-all", Args: []string{"rootNodeId"}}}
	return f.openingAll(s, true)
}

// collapseAll returns the tool that collapses a node and all its descendants.
func (f tools) collapseAll() *tool.Tool {
	s := viewSpec("collapse_all", "Collapse a node and its descendants in the view")
	s.Route.Path, s.Idempotent = "/view/collapse-all", true
	s.Commands = []tool.Command{{Words: "view collapse-all", Args: []string{"rootNodeId"}}}
	return f.openingAll(s, false)
}

// openingAll returns a tool that expands or collapses a node and all its descendants.
//
// It adds one recursive rule, whatever the size of the subtree; see sessionEdit.rule.
func (f tools) openingAll(s tool.Spec, expanded bool) *tool.Tool {
	return tool.New(s, func(ctx context.Context, c auth.Caller, in expandAllIn) (expandAllOut, error) {
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.RootNodeID}, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *expandAllOut) error {
			return t.all("rootNodeId", in.RootNodeID, tree.Rule{Expanded: expanded}, out)
		})
	})
}

// A setExpansionIn is the input of tree_set_expansion_recursive.
type setExpansionIn struct {
	nodeArg
	// true expands, false collapses
	Expanded bool `json:"expanded"`
	// levels to expand or collapse, including the node; deeper nodes are collapsed
	MaxDepth *int `json:"maxDepth,omitempty" min:"0" alias:"max_depth" absent:"all levels"`
	sessionMutation
}

// setExpansion returns the tool that expands or collapses a node and its descendants down to a
// depth.
func (f tools) setExpansion() *tool.Tool {
	s := viewSpec("set_expansion_recursive", "Expand or collapse a node down to a depth")
	s.Route.Path, s.Idempotent = "/view/expansion", true
	s.Commands = []tool.Command{{Words: "view expansion", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in setExpansionIn) (expandAllOut, error) {
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.NodeID}, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *expandAllOut) error {
			return t.all("nodeId", in.NodeID, expansion(in.Expanded, in.MaxDepth), out)
		})
	})
}

// expansion returns the rule that expands or collapses a number of levels below a node; nil means
// all. A rule with MaxDepth 0 has no limit, so 0 levels is a rule that collapses the node.
func expansion(expanded bool, levels *int) tree.Rule {
	switch {
	case levels == nil:
		return tree.Rule{Expanded: expanded}
	case *levels == 0 || !expanded:
		return tree.Rule{} // deeper nodes are collapsed by every rule
	}
	return tree.Rule{Expanded: true, MaxDepth: *levels}
}

// all drafts a rule for a node and all its descendants. The descendants are counted by a walk;
// their rules are not read. out.Affected counts nodes whose state was right already too.
func (t *sessionEdit) all(arg, id string, r tree.Rule, out *expandAllOut) error {
	n, err := t.node(arg, id)
	if err != nil {
		return err
	}
	out.NodeID = n.ID()
	for range t.Walk(n, nil) {
		out.Affected++
	}
	r.Recursive = true
	return t.rule(n, r)
}

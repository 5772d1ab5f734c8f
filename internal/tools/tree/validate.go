package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A validateTreeIn is the input of tree_validate_tree.
type validateTreeIn struct {
	tool.Vault
	// structure, schema, links, order, default for all, or one of rookery.yaml
	RulesetID string `json:"rulesetId,omitempty" default:"default" alias:"ruleset_id,ruleset"`
	// check this node and its descendants
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" alias:"root_node_id,rootId"`
	page
	tool.AsOf
}

// A validateOut is the output of tree_validate_tree.
type validateOut struct {
	// in the order of the tree
	Violations []tree.Violation `json:"violations"`
	pageOut
}

// violationColumns are the members of a violation that a table shows.
var violationColumns = []string{"severity", "ruleId", "nodeId", "path", "message"}

// validateTree returns the tool that checks the nodes of a subtree by a set of rules, in pages.
//
// Each page checks the whole subtree again, since a rule can concern several nodes.
func (f tools) validateTree() *tool.Tool {
	s := spec("validate_tree", "Check nodes by a set of rules")
	s.Role, s.Kind, s.List, s.Columns = auth.Reader, tool.Read, "violations", violationColumns
	s.Route = tool.Route{Method: "GET", Path: "/rules"}
	s.Commands = []tool.Command{{Words: "node validate", Args: []string{"rulesetId?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in validateTreeIn) (validateOut, error) {
		out := validateOut{Violations: []tree.Violation{}}
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "rootNodeId", in.RootNodeID}, &out)
		if err != nil {
			return out, err
		}
		all, err := r.violations(ctx, in.RulesetID, slices.Collect(r.Walk(top, nil)))
		if err != nil {
			return out, err
		}
		return out, out.take(in.page, all)
	})
}

// take adds one page of violations. The page token contains the number of violations on earlier
// pages. It is stored in the member for the section of a mark. If the vault changes between two
// pages, violations may be missing or occur twice, unless the call names a version.
func (v *validateOut) take(p page, all []tree.Violation) error {
	after, err := p.after()
	if err != nil {
		return err
	}
	from := 0
	if after != nil {
		from = min(after.Section, len(all))
	}
	last := from
	for ; last < len(all) && last < from+p.Limit && (v.Fits(all[last]) || last == from); last++ {
		v.Violations = append(v.Violations, all[last])
	}
	key := ""
	if last < len(all) {
		if key, err = (mark{Position: tree.Position{Section: last}}).text(); err != nil {
			return err
		}
	}
	v.Paged(len(v.Violations), len(all), last < len(all), key)
	return nil
}

// violations returns the violations of a set of rules by nodes. It reads texts only if the rules
// need them.
//
// nodes should be in the order of the tree, so that each file is read once. A set that the vault
// does not have is INVALID_PARAMETER.
func (r *treeView) violations(ctx context.Context, set string, nodes []tree.Node) ([]tree.Violation, error) {
	k, err := tree.NewChecker(r.Tree, r.view.Clock, set)
	if err != nil {
		return nil, err
	}
	if k.NeedsText() {
		r.view.Prefetch(ctx, func(yield func(string) bool) {
			for _, n := range nodes {
				if n.Kind() == tree.Note && !yield(n.Note.Path) {
					return
				}
			}
		})
	}
	all, file, text := []tree.Violation{}, "", []byte(nil)
	going := state.KeepGoing(ctx)
	for _, n := range nodes {
		if !going() {
			return nil, ctx.Err()
		}
		if path := string(fileOf(n)); k.NeedsText() && path != file {
			if text, err = r.text(ctx, n); err != nil {
				return nil, err
			}
			file = path
		}
		all = append(all, k.Check(n, text)...)
	}
	return all, nil
}

// A lintPayloadIn is the input of tree_lint_payload.
type lintPayloadIn struct {
	nodeArg
	// as in validate_tree
	RulesetID string `json:"rulesetId,omitempty" default:"default" alias:"ruleset_id,ruleset"`
	tool.AsOf
}

// A lintOut is the output of tree_lint_payload.
type lintOut struct {
	Violations []tree.Violation `json:"violations"`
	versionOut
}

// lintPayload returns the tool that checks one node by a set of rules. It does not check the
// descendants of the node. Its list has no pages.
func (f tools) lintPayload() *tool.Tool {
	s := spec("lint_payload", "Check one node by a set of rules")
	s.Role, s.Kind, s.List, s.Columns = auth.Reader, tool.Read, "violations", violationColumns
	s.Route = tool.Route{Method: "GET", Path: "/rules/lint"}
	s.Commands = []tool.Command{{Words: "node lint", Args: []string{"nodeId", "rulesetId?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in lintPayloadIn) (lintOut, error) {
		out := lintOut{Violations: []tree.Violation{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		out.Violations, err = r.violations(ctx, in.RulesetID, []tree.Node{n})
		return out, err
	})
}

// Package tree has the tools of the tree family: a vault as a tree of folders, notes and sections, as
// spec/agent-interface.md promises them.
package tree

import (
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is what the tools have in common. Names of arguments and of members are those of the document, and so
// are failures in the bare form: {code, message, reason, retryAfter, details}.
var Family = &tool.Family{
	Name: "tree", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Bare: bare, Also: also,
	Groups: map[string]string{
		"node":     "Read and change the nodes of a vault: folders, notes and sections",
		"view":     "Show the view of a session: expanded nodes and visible properties",
		"bookmark": "Bookmark nodes",
		"snapshot": "Label versions of subtrees, compare and restore them",
	},
}

// A failure is the bare form of a fault.
type failure struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Reason     any            `json:"reason,omitempty"`
	RetryAfter int            `json:"retryAfter,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
}

// bare has the status as its code, and the finer word as its reason.
func bare(f *fault.Fault) any {
	return failure{
		string(f.Status()), f.Message, f.Details["reason"], retryAfter(f), f.Details,
	}
}

// also adds to a failure what the document calls otherwise than other families do.
func also(f *fault.Fault) map[string]any {
	if s := retryAfter(f); s > 0 {
		return map[string]any{"retryAfter": s}
	}
	return nil
}

// wrong is INVALID_PARAMETER with a finer word for what is wrong.
func wrong(reason, format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("reason", reason)
}

// Tools are the tools of the family, over these tenants.
func Tools(t *team.Teams) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{
		f.getNode(), f.listChildren(), f.getPath(), f.getSubtree(), f.commonAncestor(), f.search(), f.searchAdvanced(),
		f.selectNodes(), f.queryByTag(), f.getTags(), f.updateProperty(), f.updatePayload(), f.updateNodes(),
		f.tagNode(), f.untagNode(), f.addChild(), f.removeNode(), f.moveNode(), f.moveBefore(), f.moveAfter(),
		f.sortChildren(), f.copySubtree(), f.cloneNode(), f.validateTree(), f.lintPayload(), f.diffSubtree(),
		f.getView(), f.expandNode(), f.collapseNode(), f.toggleNode(), f.expandAll(), f.collapseAll(), f.setExpansion(),
		f.setFilters(), f.exportView(), f.importView(), f.bookmark(), f.listBookmarks(), f.removeBookmark(),
		f.snapshotCreate(), f.snapshotList(), f.snapshotGet(), f.snapshotDelete(),
		f.snapshotRestore(), f.snapshotDiff(), f.exportSubtree(), f.importMerge(),
	}
}

type tools struct {
	state.Source
}

// spec is a Spec with what all tools of the family have in common. short is the name in the document.
func spec(short, title, doc string) tool.Spec {
	return tool.Spec{
		Name: "tree_" + short, Short: short, Family: Family, Title: title, Doc: strings.TrimSpace(doc) + "\n",
	}
}

// retryAfter is how many seconds a caller waits before it repeats the call; 0: that is not known.
func retryAfter(f *fault.Fault) int { return int((f.RetryAfter + time.Second - 1) / time.Second) }

// Package tree contains the tools of the tree family, which access a vault as a tree of folders,
// notes and sections (spec/agent-interface.md, reference/tree.md part C).
//
// The package internal/tree reads one state of the index as a tree; this package adds what needs a
// vault: calls, texts, drafts and sessions. There are three kinds of tools:
//
//   - Tools that read begin with tools.read or tools.readNode, which return a treeView: the tree at
//     the version of the call with the settings of the caller's session.
//   - Tools that change nodes call change with a function that drafts the change in an edit. The
//     function checks with edit.covers that no affected node changed after the version token,
//     stages texts, and ends with edit.finish, which rewrites references. It may run several times.
//   - Tools that change a session (the view, bookmarks, snapshots) call alter with a function that
//     drafts the change in a sessionEdit. This data is stored beside the log, so no note changes.
//
// Identities. A node has an address, which follows from its place and title, and a uid, which it
// keeps. The uids of sections are not in the text: the log stores them beside it, in the order of
// the sections. So a change that moves text computes the new order of the uids too (marks in
// structure.go), and passes both to the transaction. A copy gets new uids.
//
// References. The text of a reference is a name, so a move or a new title can make it lead
// elsewhere or nowhere. edit.finish compares the addresses of the nodes before and after the draft,
// and rewrites the references of the whole vault to those that changed. For text that comes from
// another note, edit.passages records where it was, because short names are resolved from there.
//
// Nodes that represent others. A node whose text is one transclusion shows the children of its
// source. Tools that change such a node, or add a child to it, change the source (edit.source).
//
// Larger parts: import_merge.go, merge_json.go, merge_patch.go and merge_place.go merge an export;
// restore.go and restore_section.go restore a snapshot; patch.go and patch_sections.go set
// properties; copy.go and move_node.go copy and move, structure.go has what they share; page.go has
// the pages of lists, and get_subtree.go and get_view.go those of trees.
//
// Each tool has a file with its input (xIn), its output (xOut) and a method of tools that returns
// it. Numbers of sections count the headings of a note without its title, from 1; lines count from
// 1; positions of children count from 0.
package tree

import (
	"embed"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. The names of arguments and members, and the format of a
// failure in the bare form, are those of the specification: {code, message, reason, retryAfter,
// details}.
var Family = &tool.Family{
	Name: "tree", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Bare: bareForm, Also: extraMembers,
	Groups: map[string]string{
		"node":     "Read and change the nodes of a vault: folders, notes and sections",
		"view":     "Show the view of a session: expanded nodes and visible properties",
		"bookmark": "Bookmark nodes",
		"snapshot": "Label versions of subtrees, compare and restore them",
	},
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// A failure is a fault in the bare form.
//
// The members and their names are those of the specification, not those of the product's envelope.
// RetryAfter is in seconds.
type failure struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Reason     any            `json:"reason,omitempty"`
	RetryAfter int            `json:"retryAfter,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
}

// bareForm converts a fault to the bare form. The code is its status; the more specific word is the
// reason.
func bareForm(f *fault.Fault) any {
	return failure{
		string(f.Status()), f.Message, f.Details["reason"], retryAfter(f), f.Details,
	}
}

// extraMembers returns the members that the specification adds to a failure, or nil.
func extraMembers(f *fault.Fault) map[string]any {
	if s := retryAfter(f); s > 0 {
		return map[string]any{"retryAfter": s}
	}
	return nil
}

// invalidParameter returns an INVALID_PARAMETER fault with a reason, which is more specific than
// the code. The reason is stable and meant for programs; the message is for people.
func invalidParameter(reason, format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("reason", reason)
}

// Tools returns the tools of the family for these tenants.
func Tools(t *tenant.Registry) []*tool.Tool {
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

// A tools contains the dependencies of the tools of the family. It is safe for concurrent use.
type tools struct {
	state.Source
}

// spec returns a Spec with the parts that all tools of the family share. short is the name in the
// specification. The tool's name in the product has the prefix tree_.
func spec(short, title string) tool.Spec {
	return tool.Spec{Name: "tree_" + short, Short: short, Family: Family, Title: title}
}

// retryAfter returns the number of seconds after which a caller can repeat the call, rounded up, or
// 0 if it is not known.
func retryAfter(f *fault.Fault) int { return int((f.RetryAfter + time.Second - 1) / time.Second) }

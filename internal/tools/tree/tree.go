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
// Larger parts: import_merge.go, merge.go and merge_place.go merge an export; restore.go and
// restore_section.go restore a snapshot; patch.go sets properties; copy.go and move_node.go copy
// and move, structure.go has what they share; tree.go has the pages of lists, and view.go those of
// trees.
//
// A file has a tool, or some related ones, each with its input (xIn), its output (xOut) and a
// method of tools that returns it. Numbers of sections count the headings of a note without its
// title, from 1; lines count from 1; positions of children count from 0.
package tree

import (
	"embed"
	"encoding/json"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
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

// A nodeMutation is the part of an input that controls how a change is carried out.
//
// Every change needs a version token, so that an agent never overwrites what it has not read. The
// token is that of any answer; the change is refused if one of the nodes that it affects changed
// after it. Changes of other nodes do not matter, so several agents can work in one vault with
// tokens of different ages, unless the vault is configured to be strict.
type nodeMutation struct {
	// versionToken of an answer (v42); required: CONFLICT if an affected node changed since
	VersionToken string `json:"versionToken,omitempty" means:"version" digest:"-" size:"token" alias:"version_token,if_version"`
	// any text; a repeated call has one effect
	IdempotencyKey string `json:"idempotencyKey,omitempty" means:"key" rare:"true" max:"255" alias:"idempotency_key"`
	// show the plan, change nothing
	DryRun bool `json:"dryRun,omitempty" means:"dry" rare:"true" alias:"dry_run"`

	tool.Marked
}

// A loggedMutation is a nodeMutation in the form in which it is logged. The idempotency key is
// specific to the agent. The version is empty: the version token is compared later, when the
// changed nodes are known.
//
// It implements mutation.Mutation. The agent and the key are separated by a NUL byte.
type loggedMutation struct {
	*nodeMutation
	agent string // the agent to which the idempotency key belongs
}

// logged returns the mutation in its logged form.
func (m *nodeMutation) logged(c auth.Caller) loggedMutation { return loggedMutation{m, c.Agent} }

// Version returns "", because the version token is checked by edit.covers.
func (l loggedMutation) Version() string { return "" }

// Key returns the idempotency key with the agent as its prefix, or "" if there is none.
func (l loggedMutation) Key() string {
	if l.IdempotencyKey == "" {
		return ""
	}
	return l.agent + "\x00" + l.IdempotencyKey
}

// Dry reports whether the call is a dry run.
func (l loggedMutation) Dry() bool { return l.DryRun }

// A page is the part of an input that selects a page of a list. The tool model fills in the default
// of the limit.
type page struct {
	// items of a page
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200" means:"limit" alias:"pageSize,page_size"`
	// nextPageToken of the page before
	PageToken string `json:"pageToken,omitempty" size:"token" means:"token" alias:"page_token"`
}

// propertyLists are the properties that a call includes and excludes.
//
// A path names a property or a member in it, with dots between the names; see tree.Filter.
type propertyLists struct {
	// show only these properties and their subproperties: status, payload.address.city, body
	Included []string `json:"includedProperties,omitempty" alias:"included,included_properties" max:"512"`
	// exclude these properties and their subproperties
	Excluded []string `json:"excludedProperties,omitempty" alias:"excluded,excluded_properties" max:"512"`
}

// filter returns the property lists of the call or, if both are empty, those of the session.
func (l propertyLists) filter(s session) tree.Filter {
	if own := (tree.Filter{Included: l.Included, Excluded: l.Excluded}); !own.IsEmpty() {
		return own
	}
	return s.filter
}

// A versionOut is the part of every output with the version token.
//
// It has the version twice: as a member, as the specification has it, and in the meta, as all tools
// of the product do.
type versionOut struct {
	tool.Aside `json:"-"`
	// for the versionToken of a mutation
	VersionToken string `json:"versionToken"`
}

// at sets the version of the answer.
func (v *versionOut) at(version string) {
	v.VersionToken = version
	v.Note("version", version)
}

// setToken sets the version token from the metadata, where a mutation stores the version.
func (v *versionOut) setToken() { v.VersionToken, _ = v.Meta["version"].(string) }

// A pageOut is the part of the output of every list with pages.
type pageOut struct {
	// for the pageToken of the next page; absent on the last
	NextPageToken string `json:"nextPageToken,omitempty"`
	versionOut
}

// SetNextToken sets the token of the next page.
func (p *pageOut) SetNextToken(token string) { p.NextPageToken = token }

// A mark is the position at which a page ends: a node, and the key by which it is sorted. It is
// valid even after the node was removed.
//
// Its JSON is the content of page tokens, so the names of its members must stay the same. It names
// the node by its place and not by its uid, because a place can still be compared with others after
// the node is gone. A list in the order of the tree has only the Position, a sorted list the Key
// too, and a walk that follows references Via.
type mark struct {
	tree.Position
	Key *tree.SortKey   `json:"k,omitempty"`
	Via []tree.Position `json:"v,omitempty"` // of the references that were followed to the node
}

// markAt returns the mark of a visit in a tour.
func markAt(v *tree.Visit) mark {
	place := v.Place()
	return mark{Position: place[len(place)-1], Via: place[:len(place)-1]}
}

// place returns the position after which the page begins, or nil for the first page.
func (m *mark) place() []tree.Position {
	if m == nil {
		return nil
	}
	return append(slices.Clip(m.Via), m.Position)
}

// text returns the mark as the text of a page token.
func (m mark) text() (string, error) {
	data, err := json.Marshal(m)
	return string(data), err
}

// after returns the mark after which the page begins, or nil for the first page. It returns
// INVALID_PARAMETER for a token that cannot be parsed. The token is bound to the arguments of its
// call by the tool model, so the key is of a list of this kind.
func (p page) after() (*mark, error) {
	text, err := tool.ReadToken("pageToken", p.PageToken, Family)
	if err != nil || text == "" {
		return nil, err
	}
	var m mark
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil, fault.New(fault.InvalidParameter, "pageToken is from another list").With("argument", "pageToken").
			Fix("use nextPageToken of the previous page")
	}
	return &m, nil
}

// A listing is a sequence that is returned in pages.
//
// It is used for lists whose nodes are all known; walks through a tree have pages of their own, see
// pageOut.endWalk.
type listing[T any] struct {
	all  []T                          // the whole list
	from int                          // index at which the page begins
	show func(T) (*tree.Shape, error) // returns an entry as a page shows it
	mark func(T) mark                 // returns the position of an entry
}

// takePage returns one page of a list, and adds the metadata of a list to the output. A page has at
// least one item if the list has one after from, however large it is.
func takePage[T any](out *pageOut, p page, l listing[T]) ([]*tree.Shape, error) {
	items := []*tree.Shape{}
	last := l.from
	for ; last < len(l.all) && len(items) < p.Limit; last++ {
		item, err := l.show(l.all[last])
		if err != nil {
			return items, err
		}
		if !out.Fits(item) && len(items) > 0 {
			break
		}
		items = append(items, item)
	}
	return items, out.end(len(items), len(l.all), last, func(i int) mark { return l.mark(l.all[i]) })
}

// end adds the metadata of a page: the number of its items, the total, and the position after its
// last item. An empty list gets the warning NO_RESULTS.
func (p *pageOut) end(count, total, last int, at func(i int) mark) error {
	key := ""
	if last < total && last > 0 {
		var err error
		if key, err = at(last - 1).text(); err != nil {
			return err
		}
	}
	p.Paged(count, total, last < total, key)
	if total == 0 {
		p.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return nil
}

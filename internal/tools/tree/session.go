package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A session contains the settings of an agent's session: the expanded nodes and the visible
// properties.
//
// It is stored for each principal, agent and session, beside the log (docs/design/0086). A session
// that was never changed has the zero value.
type session struct {
	rules    tree.Rules
	filter   tree.Filter // the visible properties
	shown    tree.Filter // for views; empty: filter applies
	expanded *bool       // state of the nodes without a rule; nil: not set
}

// session returns the session of a call. It reads one item of the table.
func (f tools) session(ctx context.Context, c auth.Caller, v state.View) (session, error) {
	view, err := kept.Of(v.Vault).View(ctx, ownerOf(c), c.Session)
	return sessionOf(view.View), err
}

// sessionOf returns the session settings of a stored view.
func sessionOf(v kept.View) session { return session{v.Rules, v.Filter, v.Shown, v.Expanded} }

// otherwise returns the state of the nodes without a rule: expanded unless the session says
// otherwise.
func (s session) otherwise() bool { return s.expanded == nil || *s.expanded }

// ownerOf returns the owner of views and bookmarks: the principal with the agent.
func ownerOf(c auth.Caller) kept.Owner { return kept.Owner{Principal: c.Principal, Agent: c.Agent} }

// A sessionMutation is the part of an input that controls how a change of a session is carried out.
//
// Such a call needs a version token too. It is compared with the version at which the view was
// changed last, so an edit of notes does not make it stale.
type sessionMutation struct {
	// versionToken of an answer (v42); required: CONFLICT if the view of the session changed since
	VersionToken string `json:"versionToken,omitempty" means:"version" digest:"-" size:"token" alias:"version_token,if_version"`
	// any text; a repeated call has one effect
	IdempotencyKey string `json:"idempotencyKey,omitempty" means:"key" rare:"true" max:"255" alias:"idempotency_key"`

	tool.Marked
}

// A sessionEdit is a draft of a change to the data of a session or agent.
//
// It is for one run of fn in alter. The tree is the newest state of the vault; it is read once for
// a call.
type sessionEdit struct {
	*tree.Tree
	store kept.Store
	draft *kept.Draft
	owner kept.Owner    // the caller
	view  kept.ViewItem // the view of the session, as stored; zero if the call is apart
	vault string        // its name
}

// A sessionCall contains the arguments of alter.
//
// Bookmarks are compared with the view like other changes of the session; snapshots, which belong
// to the whole vault, are apart.
type sessionCall struct {
	caller          auth.Caller
	vault           string
	sessionMutation *sessionMutation
	targets         []string // ids that the call names, for the audit log
	independent     bool     // independent of the view: its changes are no conflict
}

// A versionSetter is an output that stores the version of the answer.
type versionSetter[Out any] interface {
	*Out
	at(version string)
}

// changeSession runs fn, which drafts a change to the data of a session or agent and fills the
// output. The data is not in the log. The version token is checked first. A repeated call with the
// same idempotency key returns the first output.
//
// The changed items, the idempotency key and the audit entry are written in one commit of the
// table, so none of them exists without the others. fn may run several times, if the items changed
// in between. A vault that is read-only or in the trash refuses the call. Unlike change, alter does
// not compare the token with nodes, but with the last change of the view. The version of the answer
// is that of the vault, which the call does not advance.
func changeSession[Out any, P versionSetter[Out]](
	ctx context.Context, f tools, in sessionCall, fn func(context.Context, *sessionEdit, *Out) error,
) (out Out, err error) {
	v, err := f.Vault(ctx, in.caller, in.vault)
	if err != nil {
		return out, err
	}
	x, err := v.ReadWritable(ctx)
	if err != nil {
		return out, err
	}
	store := kept.Of(v)
	call, err := in.call(v, x)
	if err != nil {
		return out, err
	}
	replayed, err := store.Update(ctx, call, func(ctx context.Context, d *kept.Draft) (any, error) {
		var fresh Out
		t := &sessionEdit{Tree: tree.New(x), store: store, draft: d, owner: call.Owner, vault: v.Name}
		if err := t.begin(ctx, in); err != nil {
			return nil, err
		}
		if err := fn(ctx, t, &fresh); err != nil {
			return nil, err
		}
		P(&fresh).at(eventlog.Version(x.Version()))
		out = fresh
		return tool.EncodeReplay(&out), nil
	})
	if err == nil && replayed != nil {
		// An earlier call with the same key has an answer; that of this run, if any, is discarded.
		out = *new(Out)
		err = tool.DecodeReplay(replayed, &out)
	}
	return out, err
}

// call returns the call in the form that the store expects, with its audit entry. x is the state of
// the vault that the call reads; its version is in the entry, since the call makes no commit.
func (in sessionCall) call(v *repo.Vault, x *index.Index) (kept.Call, error) {
	digest := in.sessionMutation.Request()
	version := eventlog.Version(x.Version())
	entry, err := audit.EntryOp(audit.Action{
		Caller: in.caller, Operation: in.sessionMutation.Operation(), Vault: v.Name, Targets: in.targets,
		Version: version, At: v.Now(),
	})
	return kept.Call{
		Owner: ownerOf(in.caller), Key: in.sessionMutation.IdempotencyKey, Request: digest[:], Audit: []table.Op{entry},
	}, err
}

// begin checks the version token and reads the view of the session. It returns CONFLICT if the view
// changed after the token. If the call is apart from the view, any existing version is accepted.
//
// An apart call still needs a token of an existing version, so that the rule is the same for all
// changes.
func (t *sessionEdit) begin(ctx context.Context, in sessionCall) error {
	newest := t.Index.Version()
	seq, err := since(newest, in.sessionMutation.VersionToken)
	if err != nil {
		return err
	}
	if in.independent {
		return nil
	}
	if t.view, err = t.store.View(ctx, t.owner, in.caller.Session); err != nil {
		return err
	}
	if seq < t.view.Seq {
		return conflict(newest, "the view of the session changed after the versionToken").With("changed", "view")
	}
	return nil
}

// node returns the node that an argument names, or NOT_FOUND.
func (t *sessionEdit) node(arg, id string) (tree.Node, error) { return nodeIn(t.Tree, arg, id) }

// viewer returns a Viewer with the current rules of the session.
func (t *sessionEdit) viewer() *tree.Viewer {
	return tree.NewViewer(t.Tree, t.view.Rules, sessionOf(t.view.View).otherwise())
}

// set drafts the view of the session. It returns QUOTA_EXCEEDED if the view has too many rules.
//
// It sets the version to which later tokens are compared. The store replaces the view only if it is
// as it was read.
func (t *sessionEdit) set(v kept.View) error {
	if len(v.Rules) > tree.MaxRules {
		return fault.New(fault.QuotaExceeded, "a view has at most %d expansion rules", tree.MaxRules).
			With("max", tree.MaxRules).Try("tree_collapse_all", fault.Args{"rootNodeId": "/"}).
			Fix("expand or collapse a node with its descendants: this replaces the rules of its descendants")
	}
	v.Seq = t.Index.Version()
	return t.store.SetView(t.draft, t.view, v)
}

// rule drafts an additional rule for a node. A recursive rule replaces those of the node's
// descendants, and those of nodes that no longer exist, so that these do not fill the view.
func (t *sessionEdit) rule(n tree.Node, r tree.Rule) error {
	r.UID = t.UID(n)
	v := t.view.View
	v.Rules = slices.Clone(v.Rules).Add(r, func(uid string) bool {
		below, ok := t.Find(uid)
		return !ok || t.Within(below, n)
	})
	return t.set(v)
}

// A setFiltersIn is the input of tree_set_filters. Two empty lists make all properties visible
// again.
type setFiltersIn struct {
	tool.Vault
	// view: only for views; session: for all answers that show properties
	Scope string `json:"scope,omitempty" enum:"view,session" default:"session"`
	// show only these properties and their subproperties
	Included []string `json:"included,omitempty" alias:"includedProperties,included_properties" max:"512"`
	// exclude these properties and their subproperties
	Excluded []string `json:"excluded,omitempty" alias:"excludedProperties,excluded_properties" max:"512"`
	// false adds to the lists of the session
	ReplaceExisting *bool `json:"replaceExisting,omitempty" default:"true" alias:"replace_existing"`
	sessionMutation
}

// A setFiltersOut is the output of tree_set_filters, with the lists of the given scope after the
// call.
type setFiltersOut struct {
	Scope string `json:"scope"`
	// that the session shows; empty: all
	Included []string `json:"includedProperties"`
	// that the session does not show
	Excluded []string `json:"excludedProperties"`
	versionOut
}

// setFilters returns the tool that sets the visible properties of the session.
func (f tools) setFilters() *tool.Tool {
	s := viewSpec("set_filters", "Set the visible properties")
	s.Route.Path, s.Idempotent = "/view/filters", true
	s.Commands = []tool.Command{{Words: "view filters"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in setFiltersIn) (setFiltersOut, error) {
		for arg, list := range map[string][]string{"included": in.Included, "excluded": in.Excluded} {
			if err := checkLists(arg, list); err != nil {
				return setFiltersOut{}, err
			}
		}
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, nil, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *setFiltersOut) error {
			return t.setFilters(in, out)
		})
	})
}

// checkLists returns a fault if a list has more than maxBatch entries. An empty list is valid, and
// means that all properties are shown or that none is excluded.
func checkLists(arg string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return checkBatch(arg, len(list))
}

// setFilters drafts new property lists of the session.
//
// The scope view has lists of its own, which take precedence over those of the session in views.
// Lists that are joined to the existing ones are limited like given ones.
func (t *sessionEdit) setFilters(in setFiltersIn, out *setFiltersOut) error {
	v := t.view.View
	lists := &v.Filter
	if in.Scope == "view" {
		lists = &v.Shown
	}
	next := tree.Filter{Included: in.Included, Excluded: in.Excluded}
	if in.ReplaceExisting != nil && !*in.ReplaceExisting {
		next = tree.Filter{
			Included: joined(lists.Included, in.Included), Excluded: joined(lists.Excluded, in.Excluded),
		}
		for arg, list := range map[string][]string{"included": next.Included, "excluded": next.Excluded} {
			if err := checkLists(arg, list); err != nil {
				return err
			}
		}
	}
	*lists = next
	out.Scope = in.Scope
	out.Included, out.Excluded = append([]string{}, next.Included...), append([]string{}, next.Excluded...)
	return t.set(v)
}

// joined returns the texts of both lists without duplicates, in the order of their first
// occurrence. It does not change the lists.
func joined(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

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

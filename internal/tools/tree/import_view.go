package tree

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An importViewIn is the input of tree_import_view. The view comes from tree_export_view, perhaps
// of another vault or of an earlier state, so nodes that it contains may not exist.
type importViewIn struct {
	tool.Vault
	// the output of export_view, as an object or as text
	ViewJSON tool.JSON `json:"viewJson" alias:"view_json"`
	// maps types in the JSON to types of the vault
	PayloadTypes map[string]string `json:"payloadTypes,omitempty" alias:"payload_types"`
	// how the top node is found: by nodeId (address or uid), by path (names from the root,
	// separated by /), or current (that of the view that was imported last, otherwise the root)
	RootLookup string `json:"rootLookupStrategy,omitempty" enum:"nodeId,path,current" default:"nodeId" alias:"root_lookup_strategy"`
	sessionMutation
}

// An importViewOut is the output of tree_import_view.
type importViewOut struct {
	RootNodeID string `json:"rootNodeId"`
	// nodes whose state was set from the JSON
	Restored int `json:"restored"`
	// nodes of the JSON that are not in the vault, at most 100
	Ignored []string `json:"ignored"`
	versionOut
}

// importView returns the tool that replaces the view of the session by an exported one. It changes
// which nodes are expanded and which properties are visible, and never a note.
func (f tools) importView() *tool.Tool {
	s := viewSpec("import_view", "Import a view into the session")
	s.Route.Path, s.Idempotent = "/view/import", true
	s.Commands = []tool.Command{{Words: "view import"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in importViewIn) (importViewOut, error) {
		view, err := readView(in.ViewJSON)
		if err != nil {
			return importViewOut{}, err
		}
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{view.root}, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *importViewOut) error {
			i := viewImporter{sessionEdit: t, in: in, out: out}
			return i.run(view)
		})
	})
}

// viewMembers are the members of a JSON object by their names in lower case, because case is
// ignored.
type viewMembers map[string]any

// membersOf returns the members of a JSON object. ok is false for other values.
func membersOf(v any) (viewMembers, bool) {
	raw, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	all := make(viewMembers, len(raw))
	for name, v := range raw {
		all[strings.ToLower(name)] = v
	}
	return all, true
}

// read stores a member in to, and reports whether it has the right type. A missing member or null
// is not stored and counts as right.
//
// to must be a pointer to a string, bool, int, []any or []string. An integer must be a whole
// number.
func (m viewMembers) read(name string, to any) (ok bool) {
	v := m[strings.ToLower(name)]
	if v == nil {
		return true
	}
	switch to := to.(type) {
	case *string:
		*to, ok = v.(string)
	case *bool:
		*to, ok = v.(bool)
	case *int:
		var n float64
		n, ok = v.(float64)
		*to, ok = int(n), ok && n == float64(int(n))
	case *[]any:
		*to, ok = v.([]any)
	case *[]string:
		var all []any
		all, ok = v.([]any)
		for _, v := range all {
			text, is := v.(string)
			*to, ok = append(*to, text), ok && is
		}
	}
	return ok
}

// A givenView is the view in the JSON.
type givenView struct {
	root     string // address or path of names of the root
	filter   tree.Filter
	expanded bool // state of the nodes without a rule
	top      *givenNode
}

// A givenNode is a node in the JSON.
//
// A node without isExpanded is expanded. An id is required; uid and name are used if they are
// there.
type givenNode struct {
	id, uid, name, payloadType string
	expanded                   bool
	count                      int // number of its children; -1: not given
	children                   []*givenNode
}

// readView parses the JSON of a view. A missing defaultExpanded is true. The JSON can also be a
// text that contains JSON.
func readView(data tool.JSON) (*givenView, error) {
	var given any // parse the JSON only once
	err := json.Unmarshal(data, &given)
	if text, is := given.(string); is && err == nil {
		err = json.Unmarshal([]byte(text), &given)
	}
	m, ok := membersOf(given)
	if err != nil || !ok {
		return nil, badView("view_json", "viewJson is not a JSON object")
	}
	v := &givenView{expanded: true}
	for name, to := range map[string]any{
		"rootNodeId": &v.root, "includedProperties": &v.filter.Included, "excludedProperties": &v.filter.Excluded,
		"defaultExpanded": &v.expanded,
	} {
		if !m.read(name, to) {
			return nil, badView("view_json", "%s of viewJson has the wrong type", name)
		}
	}
	if v.root == "" {
		return nil, badView("missing_root", "viewJson has no rootNodeId")
	}
	top, found := m["view"]
	if !found {
		return nil, badView("missing_view", "viewJson has no view")
	}
	v.top, err = readNode(top)
	return v, err
}

// badView returns an INVALID_PARAMETER fault about viewJson.
func badView(reason, format string, args ...any) *fault.Fault {
	return invalidParameter(reason, format, args...).With("argument", "viewJson").
		Fix("give the output of export_view with includeViewRoot")
}

// readNode parses a node with its descendants.
func readNode(given any) (*givenNode, error) {
	m, ok := membersOf(given)
	if !ok {
		return nil, badView("view_json", "a node of viewJson is not a JSON object")
	}
	n := &givenNode{expanded: true, count: -1}
	var children []any
	for name, to := range map[string]any{
		"nodeId": &n.id, "uid": &n.uid, "payloadType": &n.payloadType, "isExpanded": &n.expanded,
		"childrenCount": &n.count, "children": &children,
	} {
		if !m.read(name, to) {
			return nil, badView("view_json", "%s of a node in viewJson has the wrong type", name)
		}
	}
	n.name, _ = m["name"].(string) // not checked: a field can have this name
	if n.id == "" {
		return nil, badView("missing_node_id", "a node of viewJson has no nodeId")
	}
	for _, given := range children {
		child, err := readNode(given)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// A viewImporter imports a view into a session.
//
// It adds as few rules as possible, because the number of rules of a view is limited: one for the
// default of the root, and one for each node whose state differs from that.
type viewImporter struct {
	*sessionEdit
	in  importViewIn
	out *importViewOut

	expanded bool       // the state of nodes that the JSON does not contain
	rules    tree.Rules // the rules for the nodes below the root
}

// run drafts the imported view of the session.
//
// Rules of the session for nodes outside the root stay. Those below it are replaced, and so are the
// property lists. If the root is the whole vault, its default becomes that of the session.
func (i *viewImporter) run(v *givenView) error {
	if err := i.checkTypes(v.top); err != nil {
		return err
	}
	top, err := i.top(v)
	if err != nil {
		return err
	}
	i.out.RootNodeID, i.out.Ignored, i.expanded = top.ID(), []string{}, v.expanded
	i.restore(top, v.top)
	next := i.view.View
	below := func(uid string) bool {
		n, ok := i.Find(uid)
		return !ok || i.Within(n, top)
	}
	next.Rules = append(tree.Rules{}, next.Rules...).
		Add(tree.Rule{UID: i.UID(top), Expanded: v.expanded, Recursive: true}, below)
	next.Rules = append(next.Rules, i.rules...)
	next.Filter, next.Shown, next.Root = v.filter, tree.Filter{}, i.UID(top)
	if top == i.Root() {
		next.Expanded = new(v.expanded)
	}
	return i.set(next)
}

// checkTypes returns a fault if the type of a node does not exist in the vault, neither by its own
// name nor by the one that payloadTypes maps it to. It also checks the descendants. The types have
// no other effect: a view does not contain the properties of nodes.
func (i *viewImporter) checkTypes(n *givenNode) error {
	name := n.payloadType
	if given, ok := i.in.PayloadTypes[name]; ok {
		name = given
	}
	if _, ok := i.Index.Schema().Type(name); !ok && name != "" && !builtIn[name] {
		return invalidParameter("unknown_payload_type",
			"a type of viewJson is not in the vault").With("argument", "payloadTypes").
			With("nodeId", n.id).Fix("map it to a type of the vault in payloadTypes")
	}
	for _, child := range n.children {
		if err := i.checkTypes(child); err != nil {
			return err
		}
	}
	return nil
}

// builtIn are the types that exist without a schema.
var builtIn = map[string]bool{
	string(tree.Vault): true, string(tree.Folder): true, vault.Page: true, vault.Section: true, vault.Daily: true,
}

// top returns the root of the imported view, which the lookup strategy determines.
//
// It is found by address or uid, by names from the root, or as the root of the view that was
// imported last.
func (i *viewImporter) top(v *givenView) (tree.Node, error) {
	switch i.in.RootLookup {
	case "current":
		if n, ok := i.Find(i.view.Root); ok && i.view.Root != "" {
			return n, nil
		}
		return i.Root(), nil
	case "path":
		return i.named(v.root)
	}
	n, ok := i.Find(v.root)
	if !ok {
		return n, fault.New(fault.NotFound, "the vault does not have the rootNodeId of viewJson").
			With("argument", "viewJson").
			Fix("find it by path, or use the rootLookupStrategy current")
	}
	return n, nil
}

// named returns the node at a path of names, separated by slashes, from the root of the vault. An
// empty path is the root itself.
func (i *viewImporter) named(path string) (tree.Node, error) {
	n := i.Root()
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		next, ok := i.child(n, name)
		if !ok {
			return n, fault.New(fault.NotFound, "no node has the path of names in rootNodeId of viewJson").
				With("argument", "viewJson").With("below", n.ID())
		}
		n = next
	}
	return n, nil
}

// child returns the first child of a node with a name. Case is ignored.
func (i *viewImporter) child(n tree.Node, name string) (tree.Node, bool) {
	for _, c := range i.Children(n) {
		if strings.EqualFold(i.Name(c), name) {
			return c, true
		}
	}
	return n, false
}

// maxIgnored is the maximum number of listed nodes that the vault does not have.
const maxIgnored = 100

// restore adds the rules for a node and its descendants from the JSON. n is the node that given
// matches.
//
// Children of the JSON that the vault does not have are listed as ignored; their descendants are
// neither looked up nor listed. A node whose state is the default gets no rule.
func (i *viewImporter) restore(n tree.Node, given *givenNode) {
	i.out.Restored++
	children, nodes := i.found(n, given)
	if rule, ok := i.commonRule(n, given, nodes); ok && allCollapsed(children, rule.MaxDepth == 1) {
		i.out.Restored += len(nodes)
		i.rules = append(i.rules, rule)
		return
	}
	if given.expanded != i.expanded {
		i.rules = append(i.rules, tree.Rule{UID: i.UID(n), Expanded: given.expanded})
	}
	for j, child := range children {
		i.restore(nodes[j], child)
	}
}

// found returns the children in the JSON that match a node of the vault, with these nodes. The
// others are listed as ignored.
func (i *viewImporter) found(n tree.Node, given *givenNode) (children []*givenNode, nodes []tree.Node) {
	var named map[string]tree.Node
	if i.in.RootLookup == "path" && len(given.children) > 0 {
		named = i.childrenByName(n)
	}
	for _, child := range given.children {
		if next, ok := i.lookup(n, child, named); ok {
			children, nodes = append(children, child), append(nodes, next)
			continue
		}
		if len(i.out.Ignored) < maxIgnored {
			i.out.Ignored = append(i.out.Ignored, child.id)
		}
	}
	return children, nodes
}

// commonRule returns one rule that replaces the rules of all children of a node, if all of them
// differ from the default. Rules per view are limited, and folders can have many notes. ok is false
// if a child has children itself or is not in the JSON.
//
// For a folder of a thousand collapsed notes it replaces as many rules by one. The rule also
// applies to nodes that are added later.
func (i *viewImporter) commonRule(n tree.Node, given *givenNode, nodes []tree.Node) (rule tree.Rule, ok bool) {
	source, _ := i.Source(n)
	all := i.Children(n)
	if source != n || len(all) < 2 || len(all) != len(nodes) || !given.expanded {
		return rule, false
	}
	for j, child := range all {
		if nodes[j] != child || i.ChildrenCount(child) > 0 {
			return rule, false
		}
	}
	rule = tree.Rule{UID: i.UID(n), Expanded: true, Recursive: true}
	if i.expanded {
		rule.MaxDepth = 1 // deeper nodes are collapsed
	}
	return rule, true
}

// allCollapsed reports whether all nodes of the JSON are collapsed or, if collapsed is false, all
// are expanded.
func allCollapsed(nodes []*givenNode, collapsed bool) bool {
	return !slices.ContainsFunc(nodes, func(n *givenNode) bool { return n.expanded == collapsed })
}

// childrenByName returns the first child of a node with each name. The keys are in lower case.
func (i *viewImporter) childrenByName(n tree.Node) map[string]tree.Node {
	all := map[string]tree.Node{}
	for _, child := range i.Children(n) {
		name := strings.ToLower(i.Name(child))
		if _, twice := all[name]; !twice {
			all[name] = child
		}
	}
	return all
}

// lookup returns the node below another one that a node of the JSON matches: by uid, by address, or
// by name. named contains the children by name, or is nil.
//
// The node must be below source, so that a stale uid does not change the state of a node elsewhere.
func (i *viewImporter) lookup(above tree.Node, given *givenNode, named map[string]tree.Node) (tree.Node, bool) {
	source, _ := i.Source(above)
	for _, id := range []string{given.uid, given.id} {
		if n, ok := i.Find(id); ok && id != "" && i.Within(n, source) {
			return n, true
		}
	}
	n, ok := named[strings.ToLower(given.name)]
	return n, ok && given.name != ""
}

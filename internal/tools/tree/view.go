package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A getViewIn is the input of tree_get_view.
type getViewIn struct {
	tool.Vault
	// address or uid of the top node
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" alias:"root_node_id,rootId"`
	// include the lists of properties and the default state
	IncludeViewRoot bool `json:"includeViewRoot,omitempty" alias:"include_view_root"`
	// whether nodes without a state in the session are expanded
	DefaultExpanded *bool `json:"defaultExpanded,omitempty" alias:"default_expanded" absent:"as in the session, else true"`
	// levels below the node; 0 is the node alone
	DepthLimit *int `json:"depthLimit,omitempty" min:"0" alias:"depth_limit" absent:"all levels that are expanded"`
	propertyLists
	page
	tool.AsOf
}

// A viewSettings contains the settings of a view that can accompany its nodes.
//
// The members are pointers, so that empty lists and false are distinguished from absent settings.
type viewSettings struct {
	RootNodeID      string    `json:"rootNodeId,omitempty"`
	Included        *[]string `json:"includedProperties,omitempty"`
	Excluded        *[]string `json:"excludedProperties,omitempty"`
	DefaultExpanded *bool     `json:"defaultExpanded,omitempty"`
}

// A getViewOut is the output of tree_get_view. The members of wrapping are present only if the call
// asks for them.
type getViewOut struct {
	viewSettings
	// the top node: nodeId, payloadType, its fields, isExpanded, childrenCount, and children if it
	// is expanded
	View tool.Object `json:"view"`
	pageOut
}

// getView returns the tool that returns the visible part of a subtree, in pages.
func (f tools) getView() *tool.Tool {
	s := spec("get_view", "Get the view of a node")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/view"}
	s.Commands = []tool.Command{{Words: "view get", Args: []string{"rootNodeId?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getViewIn) (getViewOut, error) {
		var out getViewOut
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "rootNodeId", in.RootNodeID}, &out)
		if err != nil {
			return out, err
		}
		v := r.viewing(top, in.propertyLists, in.DefaultExpanded)
		if in.DepthLimit != nil {
			v.depth = *in.DepthLimit
		}
		if in.IncludeViewRoot {
			out.viewSettings = v.settings()
		}
		return out, v.page(ctx, in.page, &out)
	})
}

// A viewBuilder is the view of a subtree.
//
// A view shows a node, and the children of nodes that are expanded. It is used to fill one page or
// one export. Whether a node is expanded follows from the nearest rule of the session above it and
// from otherwise; see tree.Viewer.
type viewBuilder struct {
	*treeView
	shaper    tree.Shaper
	otherwise bool                           // state of the nodes without a rule
	top       tree.Node                      // the root of the view
	depth     int                            // maximum depth below top
	exports   bool                           // isExpanded follows the rules for leaves too
	nodes     map[*tree.Visit]*tree.ViewNode // the nodes that are in the view
	root      *tree.ViewNode                 // nil: empty
}

// viewing returns the view of a node with the settings of the call and its session. expanded, if it
// is not nil, replaces the default of the session.
//
// Property lists are taken from the call, then from those of the session for views, then from those
// of the session: the first that is not empty is used alone, and lists are not combined. depth and
// exports have their defaults; a caller changes them before it fills the view.
func (r *treeView) viewing(top tree.Node, l propertyLists, expanded *bool) *viewBuilder {
	s := r.session
	if !s.shown.IsEmpty() {
		s.filter = s.shown
	}
	otherwise := s.otherwise()
	if expanded != nil {
		otherwise = *expanded
	}
	viewer := r.viewer(otherwise)
	return &viewBuilder{
		treeView: r, shaper: tree.Shaper{Tree: r.Tree, Filter: l.filter(s), Viewer: viewer}, otherwise: otherwise,
		top: top, depth: endless, nodes: map[*tree.Visit]*tree.ViewNode{},
	}
}

// settings returns the settings of the view.
func (v *viewBuilder) settings() viewSettings {
	f := v.shaper.Filter
	return viewSettings{
		v.top.ID(), new(append([]string{}, f.Included...)), new(append([]string{}, f.Excluded...)), &v.otherwise,
	}
}

// page fills one page of the view: the next nodes in the order of the tree, with their ancestors as
// skeletons.
//
// As in subtree, a page has at least one node, and ancestors of earlier pages are skeletons.
func (v *viewBuilder) page(ctx context.Context, p page, out *getViewOut) error {
	after, err := p.after()
	if err != nil {
		return err
	}
	more, count := false, 0
	var last *tree.Visit
	going, tour := state.KeepGoing(ctx), v.tour()
	for n := range tour.Walk(v.top, after.place()) {
		if more = count == p.Limit || !going(); more {
			break
		}
		shape, err := v.shape(ctx, n)
		if err != nil {
			return err
		}
		if more = !out.Fits(shape) && count > 0; more {
			break
		}
		v.add(n, shape)
		count, last = count+1, n
	}
	if err := ctx.Err(); err != nil {
		return err // the list is incomplete
	}
	if err := out.endWalk(count, more, last); err != nil {
		return err
	}
	out.View, err = v.object()
	return err
}

// tour returns the Tour of the nodes that the view shows.
func (v *viewBuilder) tour() tree.Tour {
	return tree.Tour{Tree: v.Tree, Depth: v.depth, Opens: v.shaper.Viewer.Expanded}
}

// object returns the root with the added nodes as JSON.
func (v *viewBuilder) object() (tool.Object, error) {
	if v.root == nil {
		v.root = &tree.ViewNode{NodeID: v.top.ID(), Skeleton: true}
	}
	data, err := v.root.MarshalJSON()
	return tool.Object(data), err
}

// shape returns a node as the view shows it.
//
// A node that is expanded but shows no children, because it has none or the depth ends there, is
// reported as collapsed; an export keeps the rule instead, so that an import restores it.
func (v *viewBuilder) shape(ctx context.Context, n *tree.Visit) (*tree.ViewNode, error) {
	node := v.shaper.View(n.Node)
	node.ViaReference = n.Via > 0 && v.shaper.Filter.Shows("viaReference")
	// A reader expects children below an expanded node, and an import the state that was set.
	if node.IsExpanded != nil && !v.exports {
		node.IsExpanded = new(v.tour().HasChildren(n))
	}
	var texts tree.Shape
	err := v.addWanted(ctx, v.shaper.Filter, n.Node, &texts)
	node.Body, node.Content = texts.Body, texts.Content
	return node, err
}

// add adds a node below its parent.
func (v *viewBuilder) add(n *tree.Visit, shape *tree.ViewNode) {
	v.nodes[n] = shape
	if n.Parent == nil {
		v.root = shape
		return
	}
	parent := v.node(n.Parent)
	parent.Children = append(parent.Children, shape)
}

// node returns the view node of a visit. A node of an earlier page is added as a skeleton.
func (v *viewBuilder) node(n *tree.Visit) *tree.ViewNode {
	shape, ok := v.nodes[n]
	if !ok {
		shape = &tree.ViewNode{NodeID: n.ID(), Skeleton: true}
		v.add(n, shape)
	}
	return shape
}

// An exportViewIn is the input of tree_export_view.
type exportViewIn struct {
	rootArg
	// false: only the nodes, which cannot be imported
	IncludeViewRoot *bool `json:"includeViewRoot,omitempty" default:"true" alias:"include_view_root"`
}

// An exportViewOut is the output of tree_export_view.
type exportViewOut struct {
	// for viewJson of import_view: rootNodeId, includedProperties, excludedProperties,
	// defaultExpanded and view
	View tool.Object `json:"viewJson"`
	versionOut
}

// exportView returns the tool that exports the view of the session in the format that import_view
// reads. It has no pages.
func (f tools) exportView() *tool.Tool {
	s := spec("export_view", "Export the view of a session")
	s.Role, s.Kind, s.Unversioned = auth.Reader, tool.Read, true
	s.Route = tool.Route{Method: "GET", Path: "/view/export"}
	s.Commands = []tool.Command{{Words: "view export", Args: []string{"rootNodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in exportViewIn) (exportViewOut, error) {
		var out exportViewOut
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, tool.AsOf{}, "rootNodeId", in.RootNodeID}, &out)
		if err != nil {
			return out, err
		}
		v := r.viewing(top, propertyLists{}, nil)
		if err := v.build(ctx, &out); err != nil {
			return out, err
		}
		out.View, err = v.exported(in.IncludeViewRoot == nil || *in.IncludeViewRoot)
		return out, err
	})
}

// build adds all nodes of the view. It returns BATCH_TOO_LARGE if they do not fit into an answer.
// If the call ends first, it returns the error of the context.
func (v *viewBuilder) build(ctx context.Context, out *exportViewOut) error {
	going := state.KeepGoing(ctx)
	v.exports = true
	for n := range v.tour().Walk(v.top, nil) {
		if !going() {
			break
		}
		shape, err := v.shape(ctx, n)
		if err != nil {
			return err
		}
		if !out.Fits(shape) {
			return fault.New(fault.BatchTooLarge, "the view is too large for one answer").
				Fix("collapse nodes, exclude properties, or export a smaller subtree")
		}
		v.add(n, shape)
	}
	return ctx.Err()
}

// An exportedView is a view in the format that import_view reads.
type exportedView struct {
	viewSettings
	View tool.Object `json:"view"`
}

// exported returns the view as JSON, with its settings if wrapped is set.
func (v *viewBuilder) exported(wrapped bool) (tool.Object, error) {
	view, err := v.object()
	if err != nil || !wrapped {
		return view, err
	}
	data, err := tool.Marshal(exportedView{v.settings(), view})
	return tool.Object(data), err
}

// A getSubtreeIn is the input of tree_get_subtree. Filters and Paging are a second form of the
// arguments, which the specification has; the tool model lifts their members to the level of the
// others.
type getSubtreeIn struct {
	nodeArg
	// levels below the node; 0 is the node alone
	DepthLimit *int `json:"depthLimit,omitempty" min:"0" alias:"depth_limit" absent:"all levels"`
	propertyLists
	page
	// alternative to includedProperties and excludedProperties
	Filters struct {
		Included []string `json:"includedProperties,omitempty"`
		Excluded []string `json:"excludedProperties,omitempty"`
	} `json:"filters,omitzero" rare:"true"`
	// alternative to limit (as pageSize) and pageToken
	Paging struct {
		PageSize  *int   `json:"pageSize,omitempty"`
		PageToken string `json:"pageToken,omitempty" size:"token"`
	} `json:"paging,omitzero" rare:"true"`
	tool.AsOf
}

// A getSubtreeOut is the output of tree_get_subtree.
type getSubtreeOut struct {
	Node *tree.Shape `json:"node"`
	pageOut
}

// getSubtree returns the tool that returns a node with its descendants, in pages.
func (f tools) getSubtree() *tool.Tool {
	s := spec("get_subtree", "Get a node with its descendants")
	s.Role, s.Kind, s.Lifted = auth.Reader, tool.Read, []string{"filters", "paging"}
	s.Route = tool.Route{Method: "POST", Path: "/view/subtree"}
	s.Commands = []tool.Command{{Words: "node subtree", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getSubtreeIn) (getSubtreeOut, error) {
		var out getSubtreeOut
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		return out, r.subtree(ctx, top, in, &out)
	})
}

// subtree fills one page of a subtree: the next nodes in the order of the tree, with their
// ancestors as skeletons.
//
// The nodes are those of a Tour, which follows references as a reader does. A page ends at the
// limit, or earlier if the answer is full, and has at least one node. So that every page is a tree
// of its own, ancestors that an earlier page had are repeated with their addresses only. If the
// call ends while it walks, it returns the error of the context and no page.
func (r *treeView) subtree(ctx context.Context, top tree.Node, in getSubtreeIn, out *getSubtreeOut) error {
	after, err := in.after()
	if err != nil {
		return err
	}
	depth := endless
	if in.DepthLimit != nil {
		depth = *in.DepthLimit
	}
	g := shapeTree{shaper: r.shaper(in.propertyLists), shapes: map[*tree.Visit]*tree.Shape{}}
	tour := tree.Tour{Tree: r.Tree, Depth: depth}
	going, more, count := state.KeepGoing(ctx), false, 0
	var last *tree.Visit
	for v := range tour.Walk(top, after.place()) {
		if more = count == in.Limit || !going(); more {
			break
		}
		shape := g.shaper.Whole(v.Node)
		shape.ViaReference = v.Via > 0 && g.shaper.Filter.Shows("viaReference")
		if err := r.addWanted(ctx, g.shaper.Filter, v.Node, shape); err != nil {
			return err
		}
		if more = !out.Fits(shape) && count > 0; more {
			break
		}
		g.add(v, shape)
		count, last = count+1, v
	}
	if err := ctx.Err(); err != nil {
		return err // the list is incomplete
	}
	if out.Node = g.top; out.Node == nil {
		out.Node = &tree.Shape{NodeID: top.ID(), Skeleton: true}
	}
	return out.endWalk(count, more, last)
}

// endless is a depth that is greater than that of any node.
const endless = 1 << 30

// endWalk adds the metadata of a page of a tour. The total is omitted, because it would require a
// walk of all nodes.
func (p *pageOut) endWalk(count int, more bool, last *tree.Visit) error {
	p.Note("count", count)
	p.Note("has_more", more)
	if !more {
		return nil
	}
	key, err := markAt(last).text()
	p.Note("next_page_token", tool.Token(key))
	return err
}

// A shapeTree is a tree of shapes to which nodes are added in order, each after its parent.
//
// Visits and not nodes are the keys, because a node can be visited several times, through
// references.
type shapeTree struct {
	shaper tree.Shaper
	shapes map[*tree.Visit]*tree.Shape // the shapes that are in the tree
	top    *tree.Shape                 // nil: empty
}

// add adds a node below its parent.
func (g *shapeTree) add(v *tree.Visit, shape *tree.Shape) {
	g.shapes[v] = shape
	if v.Parent == nil {
		g.top = shape
		return
	}
	parent := g.shape(v.Parent)
	parent.Children = append(parent.Children, shape)
}

// shape returns the shape of a node. A node of an earlier page is added as a skeleton, and with it
// all its ancestors that are not in the tree yet.
func (g *shapeTree) shape(v *tree.Visit) *tree.Shape {
	shape, ok := g.shapes[v]
	if !ok {
		shape = &tree.Shape{NodeID: v.ID(), Skeleton: true}
		g.add(v, shape)
	}
	return shape
}

// A texts reads the texts of nodes. It caches the last file, so a file is read once if its nodes
// are requested one after the other. It is not safe for concurrent use.
//
// The zero value with read set is ready for use. A caller should visit nodes in the order of the
// tree: then the sections of a note follow each other, and each note is parsed once.
type texts struct {
	read    func(context.Context, tree.Node) ([]byte, error) // the text of the file of a node
	file    string                                           // the file of text and extents
	text    []byte
	extents []tree.Extent // of the nodes in text, by section; nil: no file was read yet
}

// load returns the own text of a node, and its text with all its descendants. Both are without the
// blank lines around them, and share the memory of the file's text. A folder without an own file
// has empty texts.
func (t *texts) load(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	file := n.Folder
	if n.Note != nil {
		file = n.Note.Path
	}
	if t.extents == nil || file != t.file {
		text, err := t.read(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		t.file, t.text, t.extents = file, text, tree.Extents(text, markdown.Parse(text))
	}
	e := t.extents[n.Section]
	return tree.Cut(t.text, e.Own), tree.Cut(t.text, e.Content), nil
}

// addWanted adds the texts that the filter names to the shape of a node. Lists do so for each node.
// Unlike addTexts it adds no text that the call does not name.
func (r *treeView) addWanted(ctx context.Context, f tree.Filter, n tree.Node, shape *tree.Shape) error {
	if !f.Wants("body") && !f.Wants("content") {
		return nil
	}
	own, all, err := r.textsOf(ctx, n)
	if err != nil {
		return err
	}
	if f.Wants("body") {
		shape.Body = new(string(own))
	}
	if f.Wants("content") {
		shape.Content = new(string(all))
	}
	return nil
}

// textsOf returns the own text and the whole text of a node, or of the node that it represents.
func (r *treeView) textsOf(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	source, _ := r.Source(n)
	return r.texts.load(ctx, source)
}

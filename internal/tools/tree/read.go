package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A nodeArg is the part of an input that names one node, by its address or uid. Addresses are
// accepted in all forms of tree.Tree.Find, so a caller need not know the exact spelling that an
// answer would have, for example whether a note ends with .md.
type nodeArg struct {
	tool.Vault
	// address or uid: /, projects/, projects/website, projects/website#goals
	NodeID string `json:"nodeId" complete:"id" size:"id" names:"target" alias:"node_id,id"`
}

// A getNodeIn is the input of tree_get_node.
type getNodeIn struct {
	nodeArg
	propertyLists
	tool.AsOf
}

// A getNodeOut is the output of tree_get_node. Node contains the body, unless a list of properties
// excludes it.
type getNodeOut struct {
	Node *tree.Shape `json:"node"`
	// the vault first
	Ancestors []tree.NodeName `json:"ancestors"`
	versionOut
}

// getNode returns the tool that returns one node with its ancestors.
func (f tools) getNode() *tool.Tool {
	s := spec("get_node", "Get a node")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/nodes/{nodeId}"}
	s.Commands = []tool.Command{{Words: "node get", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in getNodeIn) (getNodeOut, error) {
		var out getNodeOut
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		shaper := r.shaper(in.propertyLists)
		out.Node, out.Ancestors = shaper.Whole(n), shaper.Ancestors(n)
		return out, r.addTexts(ctx, shaper.Filter, n, out.Node)
	})
}

// A treeView is a call that reads the tree of a vault.
//
// It is for one call and one goroutine. The tree does not change while the call runs, because it is
// of one immutable state of the index. Nodes of two treeViews must not be mixed, even if they are
// of the same version, since a node refers to one state; compare addresses or uids instead.
type treeView struct {
	*tree.Tree
	view    state.View
	session session // settings of the caller's session
	texts   texts   // reads the texts of nodes
}

// read returns the tree of the vault at the version of the call, with the session of the caller.
// The session is always the current one, also if the call reads an older version.
func (f tools) read(ctx context.Context, c auth.Caller, name tool.Vault, at tool.AsOf) (*treeView, error) {
	v, err := f.ViewAt(ctx, c, name.Vault, at)
	if err != nil {
		return nil, err
	}
	s, err := f.session(ctx, c, v)
	r := &treeView{Tree: tree.New(v.Index), view: v, session: s}
	r.texts.read = r.text
	return r, err
}

// A nodeRef is the vault, the version and the node that a call reads. arg is the argument that
// names the node.
type nodeRef struct {
	vault tool.Vault
	at    tool.AsOf
	arg   string
	id    string // address or uid of the node
}

// readNode reads the tree of a call, writes its version to the output, and returns the node that
// the call names.
func (f tools) readNode(
	ctx context.Context, c auth.Caller, s nodeRef, out interface{ at(version string) },
) (*treeView, tree.Node, error) {
	r, err := f.read(ctx, c, s.vault, s.at)
	if err != nil {
		return nil, tree.Node{}, err
	}
	out.at(r.view.Version())
	n, err := r.node(s.arg, s.id)
	return r, n, err
}

// node returns the node that an argument names, or NOT_FOUND.
func (r *treeView) node(arg, id string) (tree.Node, error) { return nodeIn(r.Tree, arg, id) }

// nodeIn returns the node of a tree that an argument names. It returns NOT_FOUND, with the most
// similar addresses, if there is none.
//
// An id is an address or a uid; addresses are accepted in the forms of tree.Tree.Find. The similar
// addresses are calls to try.
func nodeIn(t *tree.Tree, arg, id string) (tree.Node, error) {
	n, ok := t.Find(id)
	if ok {
		return n, nil
	}
	failed := fault.New(fault.NotFound, "there is no such node").With("argument", arg)
	for _, near := range t.Index.Nearest(id) {
		failed = failed.Try("tree_get_node", fault.Args{"nodeId": near})
	}
	return n, failed
}

// shaper returns a Shaper with the property lists of the call and its session. Nodes without a rule
// are expanded.
func (r *treeView) shaper(l propertyLists) tree.Shaper {
	return tree.Shaper{Tree: r.Tree, Filter: l.filter(r.session), Viewer: r.viewer(true)}
}

// viewer returns a Viewer with the rules of the session. otherwise is the state of the nodes
// without a rule.
func (r *treeView) viewer(otherwise bool) *tree.Viewer {
	return tree.NewViewer(r.Tree, r.session.rules, otherwise)
}

// text returns the text of the file that contains a node, or nil if it has none. Of a folder this
// is its own file. The caller must not change it. The text of each file may be read several times;
// use r.texts for several nodes of one file.
func (r *treeView) text(ctx context.Context, n tree.Node) ([]byte, error) {
	if n.Note != nil {
		return r.view.Vault.Text(ctx, n.Note.Body)
	}
	f, ok := r.Index.File(n.Folder + vault.FolderFile)
	if !ok {
		return nil, nil
	}
	return r.view.Vault.Text(ctx, f.Body)
}

// addTexts adds the body of a node to its shape, if the filter shows it, and the content, if the
// filter names it. The body is shown by default, the content only on request, because it repeats
// the descendants.
func (r *treeView) addTexts(ctx context.Context, shown tree.Filter, n tree.Node, shape *tree.Shape) error {
	if !shown.Shows("body") && !shown.Wants("content") {
		return nil
	}
	own, all, err := r.textsOf(ctx, n)
	if err != nil {
		return err
	}
	if shown.Shows("body") {
		shape.Body = new(string(own))
	}
	if shown.Wants("content") {
		shape.Content = new(string(all))
	}
	return nil
}

// A oneNodeIn is the input of the tools that take only a node and the state in which they read it.
type oneNodeIn struct {
	nodeArg
	tool.AsOf
}

// A step is one node of a path.
//
// The root of the vault has depth 0.
type step struct {
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
	Depth  int    `json:"depth"`
}

// A getPathOut is the output of tree_get_path.
type getPathOut struct {
	// from the root to the node
	Path []step `json:"path"`
	versionOut
}

// getPath returns the tool that lists the nodes from the root of the vault to a node.
func (f tools) getPath() *tool.Tool {
	s := spec("get_path", "Get the path to a node")
	s.Role, s.Kind, s.List = auth.Reader, tool.Read, "path"
	s.Columns = []string{"depth", "nodeId", "name"}
	s.Route = tool.Route{Method: "GET", Path: "/view/path"}
	s.Commands = []tool.Command{{Words: "node path", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in oneNodeIn) (getPathOut, error) {
		out := getPathOut{Path: []step{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		for depth, on := range append(r.Ancestors(n), n) {
			out.Path = append(out.Path, step{on.ID(), r.Name(on), depth})
		}
		return out, nil
	})
}

// A commonAncestorIn is the input of tree_get_common_ancestor.
type commonAncestorIn struct {
	tool.Vault
	// addresses or uids, at most 100
	NodeIDs []string `json:"nodeIds" complete:"id" size:"id" names:"target" alias:"node_ids,ids"`
	tool.AsOf
}

// A commonAncestorOut is the output of tree_get_common_ancestor.
type commonAncestorOut struct {
	// the root / if there is no other
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
	versionOut
}

// commonAncestor returns the tool that returns the nearest common ancestor of nodes. If one of the
// nodes contains all others, it is the answer itself. References are not followed.
func (f tools) commonAncestor() *tool.Tool {
	s := spec("get_common_ancestor", "Get the nearest common ancestor")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/view/ancestor"}
	s.Commands = []tool.Command{{Words: "node ancestor", Args: []string{"nodeIds..."}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in commonAncestorIn) (commonAncestorOut, error) {
		var out commonAncestorOut
		if err := checkBatch("nodeIds", len(in.NodeIDs)); err != nil {
			return out, err
		}
		r, err := f.read(ctx, c, in.Vault, in.AsOf)
		if err != nil {
			return out, err
		}
		out.at(r.view.Version())
		var all []tree.Node
		for _, id := range in.NodeIDs {
			n, err := r.node("nodeIds", id)
			if err != nil {
				return out, err
			}
			all = append(all, n)
		}
		top := r.CommonAncestor(all)
		out.NodeID, out.Name = top.ID(), r.Name(top)
		return out, nil
	})
}

// maxBatch is the maximum number of nodes that a call names or changes.
const maxBatch = 100

// checkBatch returns a fault if the list in an argument is empty or has more than maxBatch entries.
func checkBatch(arg string, n int) error {
	switch {
	case n == 0:
		return invalidParameter("empty", "argument %q must not be empty", arg).With("argument", arg)
	case n > maxBatch:
		return fault.New(fault.BatchTooLarge, "argument %q has more than %d entries", arg, maxBatch).
			With("argument", arg).With("max", maxBatch).With("got", n).
			Fix("split it over several calls of at most %d", maxBatch)
	}
	return nil
}

// A listChildrenIn is the input of tree_list_children.
type listChildrenIn struct {
	nodeArg
	propertyLists
	page
	tool.AsOf
}

// A nodesOut is the output of a tool that lists nodes. Items are in the order of the tree, or in
// that of a sort.
type nodesOut struct {
	Items []*tree.Shape `json:"items"`
	pageOut
}

// itemColumns are the members of a node that a table shows.
var itemColumns = []string{"nodeId", "payloadType", "name", "childrenCount"}

// listChildren returns the tool that lists the children of a node, in pages. For a node that
// represents another one it lists the children of the other, marked as such.
func (f tools) listChildren() *tool.Tool {
	s := spec("list_children", "List the children of a node")
	s.Role, s.Kind, s.Columns = auth.Reader, tool.Read, itemColumns
	s.Route = tool.Route{Method: "GET", Path: "/nodes"}
	s.Commands = []tool.Command{{Words: "node children", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in listChildrenIn) (nodesOut, error) {
		out := nodesOut{Items: []*tree.Shape{}}
		r, n, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		shaper := r.shaper(in.propertyLists)
		out.Items, err = r.page(ctx, &out.pageOut, nodeList{r.Children(n), in.page, shaper, false})
		if source, _ := r.Source(n); source != n && shaper.Filter.Shows("viaReference") {
			for _, item := range out.Items {
				item.ViaReference = true
			}
		}
		return out, err
	})
}

// A nodeList is a list of nodes in the order of the tree, with the requested page.
//
// All nodes are known before the first page is built, so the total is exact.
type nodeList struct {
	nodes  []tree.Node // all nodes of the list
	page   page
	shaper tree.Shaper
	placed bool // items contain their ancestors
}

// page returns one page of a list of nodes in the order of the tree. A page begins after the
// position of the last node of the previous page, by binary search, so it is right also if that
// node was removed in the meantime. The comparison never reports equality: the search then ends at
// the first node after the position.
func (r *treeView) page(ctx context.Context, out *pageOut, l nodeList) ([]*tree.Shape, error) {
	after, err := l.page.after()
	if err != nil {
		return []*tree.Shape{}, err
	}
	from := 0
	if after != nil {
		from, _ = slices.BinarySearchFunc(l.nodes, after.Position, func(n tree.Node, at tree.Position) int {
			if c := r.Compare(n.Position(), at); c != 0 {
				return c
			}
			return -1
		})
	}
	return takePage(out, l.page, listing[tree.Node]{
		l.nodes, from, func(n tree.Node) (*tree.Shape, error) { return r.item(ctx, l, n) },
		func(n tree.Node) mark { return mark{Position: n.Position()} },
	})
}

// item returns one node of a list, with its texts if the call names them.
func (r *treeView) item(ctx context.Context, l nodeList, n tree.Node) (*tree.Shape, error) {
	item := l.shaper.Item(n)
	if l.placed || l.shaper.Filter.Wants("ancestors") {
		item = l.shaper.WithAncestors(n)
	}
	return item, r.addWanted(ctx, l.shaper.Filter, n, item)
}

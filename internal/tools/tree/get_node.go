package tree

import (
	"context"

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

package tree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A sortChildrenIn is the input of tree_sort_children.
type sortChildrenIn struct {
	tool.Vault
	// address or uid of the node whose children are sorted
	ParentID string `json:"parentId" complete:"id" size:"id" names:"target" alias:"parent_id,nodeId"`
	// property by which they are sorted: severity, title
	ByProp string `json:"byProp" size:"name" alias:"by_prop,by"`
	// asc or desc
	Direction string `json:"direction,omitempty" enum:"asc,desc" default:"asc"`
	// equal children keep their order; false: they are in the order of their addresses
	Stable *bool `json:"stable,omitempty" default:"true"`
	nodeMutation
}

// A sortChildrenOut is the output of tree_sort_children.
type sortChildrenOut struct {
	// addresses of the children, in their order
	Order []string `json:"order"`
	changeOut
}

// sortChildren returns the tool that sorts the children of a node by a property. The order is
// written once; children that are added later are not sorted.
func (f tools) sortChildren() *tool.Tool {
	s := spec("sort_children", "Sort the children of a node")
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	s.Route = tool.Route{Method: "POST", Path: "/nodes/sort"}
	s.Commands = []tool.Command{{Words: "node sort", Args: []string{"parentId", "byProp"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in sortChildrenIn) (sortChildrenOut, error) {
		by, err := in.sorting()
		if err != nil {
			return sortChildrenOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *sortChildrenOut) error {
			parent, err := e.parent("parentId", in.ParentID)
			if err != nil {
				return err
			}
			all := e.tree.OwnChildren(parent)
			order := in.sorted(e, all, by)
			if err := e.reorder(ctx, parent, all, order); err != nil {
				return err
			}
			if _, err := e.finish(ctx, parent, in.DryRun, &out.changeOut); err != nil {
				return err
			}
			out.Order = make([]string, len(order))
			for i, n := range order {
				out.Order[i] = cmp.Or(out.IDMap[n.ID()], n.ID())
			}
			return nil
		})
	})
}

// sorting returns the sorting that the call requests. Texts cannot be sorted by. The path can name
// a member in a field, with dots.
func (in sortChildrenIn) sorting() (tree.Sorting, error) {
	path := strings.Split(bareName(in.ByProp), ".")
	switch first := strings.ToLower(path[0]); {
	case slices.Contains(path, ""):
		return tree.Sorting{}, invalidParameter("property",
			"byProp must be the name of a property").With("argument", "byProp")
	case first == "body" || first == "content":
		return tree.Sorting{}, invalidParameter("property",
			"children cannot be sorted by their texts").With("argument", "byProp")
	}
	return tree.Sorting{Path: path, Descending: in.Direction == "desc"}, nil
}

// sorted returns the children in their new order. Without stable, children that compare as equal
// are sorted by address. Children without the property are last in both directions.
func (in sortChildrenIn) sorted(e *edit, all []tree.Node, by tree.Sorting) []tree.Node {
	from := slices.Clone(all)
	if in.Stable != nil && !*in.Stable {
		slices.SortStableFunc(from, func(a, b tree.Node) int { return strings.Compare(a.ID(), b.ID()) })
	}
	clock := state.Clock(e.tree.Index, e.Now())
	var order []tree.Node
	for _, s := range tree.NewEvaluator(e.tree, clock).Sort(from, by) {
		order = append(order, s.Node)
	}
	return order
}

// A moveSiblingIn is the input of tree_move_before and tree_move_after.
type moveSiblingIn struct {
	nodeArg
	// address or uid of a sibling
	SiblingID string `json:"siblingId" complete:"id" size:"id" alias:"sibling_id"`
	nodeMutation
}

// A moveSiblingOut is their output.
type moveSiblingOut struct {
	// current address of the node
	NodeID string `json:"nodeId"`
	changeOut
}

// moveBefore returns the tool that moves a node before a sibling.
func (f tools) moveBefore() *tool.Tool {
	s := spec("move_before", "Move a node before a sibling")
	s.Route = tool.Route{Method: "POST", Path: "/nodes/move-before"}
	s.Commands = []tool.Command{{Words: "node before", Args: []string{"nodeId", "siblingId"}}}
	return f.moveSibling(s, 0)
}

// moveAfter returns the tool that moves a node after a sibling.
func (f tools) moveAfter() *tool.Tool {
	s := spec("move_after", "Move a node after a sibling")
	s.Route = tool.Route{Method: "POST", Path: "/nodes/move-after"}
	s.Commands = []tool.Command{{Words: "node after", Args: []string{"nodeId", "siblingId"}}}
	return f.moveSibling(s, 1)
}

// moveSibling returns a tool that moves a node next to a sibling: before it (behind 0) or after it
// (behind 1). A node that is moved next to itself stays where it is. The address of the node
// changes only if it is a section with the same heading as another one, because the slugs of such
// sections are numbered in the order of the text.
func (f tools) moveSibling(s tool.Spec, behind int) *tool.Tool {
	s.Role, s.Kind, s.Idempotent = auth.Editor, tool.Destroy, true
	return tool.New(s, func(ctx context.Context, c auth.Caller, in moveSiblingIn) (moveSiblingOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *moveSiblingOut) error {
			n, above, err := in.siblings(e)
			if err != nil {
				return err
			}
			all := e.tree.OwnChildren(above)
			was, _ := e.node("siblingId", in.SiblingID)
			if was != n {
				order := slices.DeleteFunc(slices.Clone(all), func(o tree.Node) bool { return o == n })
				order = slices.Insert(order, slices.Index(order, was)+behind, n)
				if err := e.reorder(ctx, above, all, order); err != nil {
					return err
				}
			}
			out.NodeID, err = e.finish(ctx, n, in.DryRun, &out.changeOut)
			return err
		})
	})
}

// siblings returns the node and its parent. It returns a fault if the sibling has another parent,
// and CONFLICT if the order that the call changes has changed after the version token.
//
// Nodes are moved among their siblings only; the fault names the tool that moves between parents.
func (in moveSiblingIn) siblings(e *edit) (n, above tree.Node, err error) {
	if n, err = e.node("nodeId", in.NodeID); err != nil {
		return n, above, err
	}
	sibling, err := e.node("siblingId", in.SiblingID)
	if err != nil {
		return n, above, err
	}
	if above, err = e.parentOf("nodeId", n); err != nil {
		return n, above, err
	}
	other, err := e.parentOf("siblingId", sibling)
	if err != nil {
		return n, above, err
	}
	if above != other {
		return n, above, invalidParameter(notSiblings,
			"the nodes do not have the same parent").With("argument", "siblingId").
			With("nodeId", n.ID()).Fix("move it below that node first, with move_node")
	}
	return n, above, e.checkUnchanged(conflictNode(n, above))
}

// conflictNode returns the node to check for conflicts if a node moves among its siblings: a
// section itself, because covers checks its note, or else the parent folder.
func conflictNode(n, above tree.Node) tree.Node {
	if n.Section > 0 {
		return n
	}
	return above
}

// reorder drafts a new order of all children of a node. An unchanged order drafts nothing.
//
// Children of a folder are ordered by the field order of the folder's own file, sections by their
// order in the text. order must contain the same nodes as all.
func (e *edit) reorder(ctx context.Context, above tree.Node, all, order []tree.Node) error {
	if slices.Equal(all, order) {
		return nil
	}
	if above.Note == nil {
		entries := make([]string, len(order))
		for i, n := range order {
			entries[i] = n.Entry()
		}
		return e.putOrder(ctx, above, entries)
	}
	at := make(map[tree.Node]int, len(all))
	for i, n := range all {
		at[n] = i
	}
	siblings := make([]markdown.Sibling, len(order))
	for i, n := range order {
		siblings[i].Child = at[n]
	}
	text, err := e.noteText(ctx, above)
	if err != nil {
		return err
	}
	r, err := markdown.Reorder(text, above.Section, siblings)
	if err != nil {
		return unplaceable(err, above)
	}
	return e.putReordered(ctx, above.Note, marksOf(above.Note), text, r)
}

// entries returns the names of the children of a folder, in order, as the field order lists them:
// `website` for a note, `archive/` for a folder. They are those before the call.
func (e *edit) entries(folder tree.Node) []string {
	children := e.tree.Children(folder)
	all := make([]string, len(children))
	for i, n := range children {
		all[i] = n.Entry()
	}
	return all
}

// insertEntry drafts the order of a folder with a new child at a position from 0. All children are
// listed afterwards, also those that the order did not list before.
func (e *edit) insertEntry(ctx context.Context, folder tree.Node, entry string, at int) error {
	all := e.entries(folder)
	if at > len(all) {
		return badPosition(len(all))
	}
	return e.putOrder(ctx, folder, slices.Insert(all, at, entry))
}

// putOrder drafts the field order in the folder's own file. An empty order removes the field. The
// file is created if it does not exist. A note or folder that the order names need not exist.
func (e *edit) putOrder(ctx context.Context, folder tree.Node, entries []string) error {
	file := vault.Path(folder.Folder + vault.FolderFile)
	text, _, err := e.Text(ctx, file)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		text, err = markdown.UnsetFields(text, []string{"order"})
	} else {
		text, err = markdown.SetFields(text, []markdown.Field{{Key: "order", Value: anyOf(entries)}})
	}
	if err != nil {
		return unwritable(err, "frontmatter_invalid")
	}
	return e.Put(ctx, file, text)
}

// leaveOrder drafts the removal of a child from the order of its folder, if it is listed. A name
// that the order still lists after its node is gone would do no harm, but would apply to a later
// node with that name.
func (e *edit) leaveOrder(ctx context.Context, n tree.Node) error {
	above, _ := e.tree.Parent(n)
	listed := e.tree.Order(above)
	if !slices.Contains(listed, n.Entry()) {
		return nil
	}
	return e.putOrder(ctx, above, slices.DeleteFunc(slices.Clone(listed), func(name string) bool {
		return name == n.Entry()
	}))
}

// joinOrder drafts a new child as the last one of a folder, if the folder has an order. Children
// that an order does not list come after those that it lists, so in a folder with an order all
// children are listed then.
func (e *edit) joinOrder(ctx context.Context, folder tree.Node, entry string) error {
	if len(e.tree.Order(folder)) == 0 {
		return nil
	}
	all := slices.DeleteFunc(e.entries(folder), func(name string) bool { return name == entry })
	return e.putOrder(ctx, folder, append(all, entry))
}

// entryOf returns the name of a path as the field order of its folder lists it. The path is that of
// a note, with or without .md, or that of a folder, with a slash at its end.
func entryOf(path string) string {
	id, isFolder := strings.CutSuffix(path, "/")
	id = strings.TrimSuffix(id, ".md")
	id = id[strings.LastIndexByte(id, '/')+1:]
	if isFolder {
		return id + "/"
	}
	return id
}

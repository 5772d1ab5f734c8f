package tree

import (
	"cmp"
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxNamed is the maximum number of addresses in each list of an answer.
//
// The counters beside the lists are complete.
const maxNamed = 1000

// A removeNodeIn is the input of tree_remove_node.
type removeNodeIn struct {
	nodeArg
	// remove a folder with its contents
	Recursive bool `json:"recursive,omitempty"`
	nodeMutation
}

// A removeNodeOut is the output of tree_remove_node.
type removeNodeOut struct {
	// addresses of the removed nodes, the first 1000
	Removed      []string `json:"removed"`
	RemovedTotal int      `json:"removedTotal"`
	// addresses of the nodes with references to removed nodes that lead to nothing now, the first
	// 1000
	DanglingRefs []string `json:"danglingRefs"`
	// addresses of the nodes with references to removed nodes that lead to another node now, such as
	// a section with the same heading, the first 1000
	Redirected []string `json:"redirectedRefs"`
	// paths in the trash, for 30 days, the first 1000; raven_restore restores them
	TrashPaths []string `json:"trashPaths"`
	changeOut
}

// removeNode returns the tool that moves a node and its descendants to the trash.
func (f tools) removeNode() *tool.Tool {
	s := spec("remove_node", "Remove a node")
	s.Role, s.Kind = auth.Editor, tool.Destroy
	s.Route = tool.Route{Method: "DELETE", Path: "/nodes/{nodeId}"}
	s.Commands = []tool.Command{{Words: "node remove", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in removeNodeIn) (removeNodeOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *removeNodeOut) error {
			e.moves = true
			n, err := e.node("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			if err := in.run(ctx, e, n, out); err != nil {
				return err
			}
			if _, err = e.finish(ctx, tree.Node{}, in.DryRun, &out.changeOut); err != nil {
				return err
			}
			return e.refsTo(ctx, n, out)
		})
	})
}

// run drafts the removal. A folder with children is a fault unless recursive is set.
//
// The call covers the node, all notes and folders below it, and the parent folder of a note or
// folder, so it is refused if any of these changed after the version token. It counts the nodes
// before it removes them.
func (in removeNodeIn) run(ctx context.Context, e *edit, n tree.Node, out *removeNodeOut) error {
	above, err := e.parentOf("nodeId", n)
	if err != nil {
		return err
	}
	out.Removed, out.TrashPaths = []string{}, []string{}
	if n.Kind() == tree.Folder && e.tree.ChildrenCount(n) > 0 && !in.Recursive {
		return invalidParameter("folder_not_empty", "the folder has %d children", e.tree.ChildrenCount(n)).
			With("nodeId", n.ID()).Fix("repeat the call with recursive true")
	}
	touched := []tree.Node{n}
	if n.Section == 0 {
		touched = append(touched, above)
	}
	going := state.KeepGoing(ctx)
	for below := range e.tree.Walk(n, nil) {
		if !going() {
			return ctx.Err()
		}
		if out.RemovedTotal++; out.RemovedTotal <= maxNamed {
			out.Removed = append(out.Removed, below.ID())
		}
		if below.Section == 0 && below != n {
			touched = append(touched, below)
		}
	}
	if err := e.checkUnchanged(touched...); err != nil {
		return err
	}
	if n.Section > 0 {
		return e.removeSection(ctx, n, out)
	}
	return e.removeFiles(ctx, n, out)
}

// refsTo lists the remaining nodes that refer to removed ones, by their addresses after the call: those
// with a reference that leads to nothing now, and those with one that leads to another node, because
// that has the name of a removed one now.
//
// References are reported and not changed, since their target may be restored.
func (e *edit) refsTo(ctx context.Context, n tree.Node, out *removeNodeOut) error {
	dangling, redirected := newAddressList(&out.DanglingRefs), newAddressList(&out.Redirected)
	going := state.KeepGoing(ctx)
	refs, now := e.tree.Index.Resolver(), e.Index().Resolver()
	for below := range e.tree.Walk(n, nil) {
		// The backlinks of a note include those of its sections.
		if below.Note == nil || below.Section > 0 && below != n {
			continue
		}
		for link := range refs.Backlinks(below.ID(), index.Location{}) {
			if !going() {
				return ctx.Err()
			}
			from := tree.AtLine(link.Source.Note, link.Ref.Line())
			if e.tree.Within(from, n) {
				continue
			}
			list := dangling
			if source, ok := e.Index().Note(link.Source.Note.Path); ok {
				if to := now.From(source, link.Ref.Target); to.ID != "" && !to.FragmentMissing {
					list = redirected
				}
			}
			list.add(cmp.Or(out.IDMap[from.ID()], from.ID()))
		}
	}
	return nil
}

// An addressList adds addresses to a list of an answer: each once, and at most maxNamed.
type addressList struct {
	all  *[]string
	seen map[string]bool
}

// newAddressList empties a list of an answer, and returns an addressList for it.
func newAddressList(all *[]string) addressList {
	*all = []string{}
	return addressList{all, map[string]bool{}}
}

// add adds an address.
func (l addressList) add(id string) {
	if !l.seen[id] && len(*l.all) < maxNamed {
		l.seen[id], *l.all = true, append(*l.all, id)
	}
}

// removeSection drafts the removal of a section to the trash, where it is stored as a note with its
// former address.
//
// Definitions that only the removed text had, and that the rest of the note uses, stay in the note.
// The note in the trash has the frontmatter that mutation.TrashText adds, from which raven_restore
// knows where the section was.
func (e *edit) removeSection(ctx context.Context, n tree.Node, out *removeNodeOut) error {
	text, err := e.noteText(ctx, n)
	if err != nil {
		return err
	}
	cut, s, err := markdown.CutSection(text, n.Section)
	if err != nil {
		return unplaceable(err, n)
	}
	if err := e.putReordered(ctx, n.Note, marksOf(n.Note), text, cut); err != nil {
		return err
	}
	kept, err := mutation.TrashText(n.Object(), append(s.Text, '\n'))
	if err != nil {
		return err
	}
	return e.moveToTrash(ctx, vault.Path(mutation.TrashName(n.Object())), kept, out)
}

// moveToTrash drafts a file in the trash, and lists its path there, which contains the version too
// if the name is taken. At most maxNamed paths are listed.
func (e *edit) moveToTrash(ctx context.Context, path vault.Path, text []byte, out *removeNodeOut) error {
	at, err := e.Trash(ctx, path, text)
	if len(out.TrashPaths) < maxNamed {
		out.TrashPaths = append(out.TrashPaths, string(at))
	}
	return err
}

// removeFiles drafts the removal of a note, or of all files of a folder, to the trash. It returns
// BATCH_TOO_LARGE if the texts do not fit into one commit.
func (e *edit) removeFiles(ctx context.Context, n tree.Node, out *removeNodeOut) error {
	var has sizeBudget
	for _, path := range e.filesOf(n) {
		text, _, err := e.Text(ctx, path)
		if err != nil {
			return err
		}
		if err := has.add(text); err != nil {
			return err
		}
		if err := e.Remove(ctx, path); err != nil {
			return err
		}
		if err := e.moveToTrash(ctx, path, text, out); err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the path of a note, or the paths of all files in a folder. The order is that of
// the paths.
func (e *edit) filesOf(n tree.Node) (all []vault.Path) {
	if n.Note != nil {
		return []vault.Path{vault.Path(n.Note.Path)}
	}
	for f := range e.tree.FilesIn(n.Folder) {
		all = append(all, vault.Path(f.Path))
	}
	return all
}

package tree

import (
	"context"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The modes of a copy.
const (
	copyDuplicate = "duplicate"
	copyReference = "reference"
)

// A copySubtreeIn is the input of tree_copy_subtree. The source and the target must be of kinds
// that fit: sections go below notes and sections, notes and folders below folders.
type copySubtreeIn struct {
	tool.Vault
	// address or uid of the node to copy with its descendants
	SourceID string `json:"sourceId" complete:"id" size:"id" names:"target" alias:"source_id,nodeId"`
	// address or uid of the parent of the copy, which is its last child
	TargetParentID string `json:"targetParentId" complete:"id" size:"id" alias:"target_parent_id,parentId"`
	// duplicate copies the text; reference creates a node that represents the source
	Mode string `json:"mode,omitempty" enum:"duplicate,reference" default:"duplicate"`
	nodeMutation
}

// A copySubtreeOut is the output of tree_copy_subtree.
type copySubtreeOut struct {
	// of the copy
	NodeID string `json:"nodeId"`
	// addresses of all new nodes, in the order of the tree
	Created []string `json:"created"`
	// mode reference: the node that the copy represents
	Reference *tree.Reference `json:"reference,omitempty"`
	// labels of link definitions and footnotes that have another definition in the note of the copy
	FootnoteConflicts []string `json:"footnoteConflicts,omitempty"`
	changeOut
}

// copySubtree returns the tool that copies a node with its descendants, or adds a reference to it.
func (f tools) copySubtree() *tool.Tool {
	s := spec("copy_subtree", "Copy a node with its descendants")
	s.Role, s.Kind = auth.Editor, tool.Write
	s.Route = tool.Route{Method: "POST", Path: "/nodes/copy"}
	s.Commands = []tool.Command{{Words: "node copy", Args: []string{"sourceId", "targetParentId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in copySubtreeIn) (copySubtreeOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *copySubtreeOut) error {
			n, err := e.movable("sourceId", in.SourceID)
			if err != nil {
				return err
			}
			to, err := e.parent("targetParentId", in.TargetParentID)
			if err != nil {
				return err
			}
			c := copier{edit: e, ctx: ctx, from: n, to: to}
			if in.Mode == copyReference {
				err = c.reference(out)
			} else {
				err = c.duplicate()
			}
			if err != nil {
				return err
			}
			out.FootnoteConflicts = c.conflicts
			return c.complete(in.DryRun, &out.changeOut, &out.NodeID, &out.Created)
		})
	})
}

// A copier is a copy of a node to a position below another node.
//
// The steps are: draft the text at its new place (duplicate or reference), then done. References
// inside the copy to something that is copied too must lead to the copy; insertions carry the map
// of addresses for that (insertion.ids). The nodes of a copy get new uids, and the ids that the
// text declares are removed from a copied section, because an id must be unique.
type copier struct {
	*edit
	ctx      context.Context
	from, to tree.Node // the source, and the target below which the copy goes
	single   bool      // copy only the node, without the nodes below it

	made      vault.Path // the note that is, or contains, the copy; empty for a folder
	folder    string     // path of the copy, if it is a folder
	line      int        // line of the heading of the copy
	count     int        // number of sections in the copy
	conflicts []string   // labels of footnotes whose definitions differ in the two notes
}

// duplicate drafts a copy of the text. It returns a fault if the kind of the source cannot be below
// the target.
func (c *copier) duplicate() error {
	if !c.single {
		if err := tooMany(c.countNodes(c.from)); err != nil {
			return err
		}
	}
	switch {
	case c.from.Section > 0 && c.to.Note != nil:
		return c.section()
	case c.from.Section > 0 || c.to.Note != nil:
		return invalidParameter(kindMismatch, "a copy of a %s cannot be below a %s", c.from.Kind(), c.to.Kind()).
			With("nodeId", c.from.ID())
	case c.from.Note != nil:
		return c.note()
	}
	return c.files()
}

// section drafts a copy of a section, and records the new addresses of its sections for the
// references in it.
//
// The ids of the insertion are filled only after the section was placed, when the new addresses are
// known. The references themselves are rewritten in finish.
func (c *copier) section() error {
	text, err := c.noteText(c.ctx, c.from)
	if err != nil {
		return err
	}
	s, err := markdown.SubtreeAt(text, c.from.Section)
	if err == nil && c.single {
		s, err = s.Own()
	}
	if err == nil {
		s, err = s.WithoutIDs()
	}
	if err != nil {
		return unplaceable(err, c.from)
	}
	c.count = s.Sections()
	a := &insertion{Subtree: s, from: c.from.Note, ids: map[string]string{}}
	if err := c.place(a); err != nil {
		return err
	}
	copied, _ := c.Index().Note(c.to.Note.Path)
	first := sectionAt(copied, c.line)
	// The sections of the copy follow each other in the order of the original.
	for i := range c.count {
		if was, is := c.from.Section-1+i, first+i; was < len(c.from.Note.Sections) && is < len(copied.Sections) {
			a.ids[c.from.Note.Object(was).ID()] = copied.Object(is).ID()
		}
	}
	return nil
}

// place drafts a section as the last one below the target. It sets the fields about the result that
// done needs.
func (c *copier) place(a *insertion) error {
	target, err := c.noteText(c.ctx, c.to)
	if err != nil {
		return err
	}
	r, err := markdown.PlaceSections(target, c.to.Section, -1, &a.Subtree)
	if err != nil {
		return unplaceable(err, c.from)
	}
	c.made, c.line, c.conflicts = vault.Path(c.to.Note.Path), newLine(r), r.Conflicts
	return c.putReordered(c.ctx, c.to.Note, marksOf(c.to.Note), target, r, a)
}

// maxCopies is the maximum number of names that are tried for a copy.
const maxCopies = 100

// freeName returns a path in the target folder that is free: with the given name or, if it is
// taken, with -copy, -copy-2 and so on.
//
// It gives up after maxCopies names and returns the DUPLICATE_ID fault of the last.
func (c *copier) freeName(name string) (vault.Path, error) {
	for i := 0; ; i++ {
		at := name
		if i > 0 {
			at += "-copy"
		}
		if i > 1 {
			at += fmt.Sprint("-", i)
		}
		path, err := c.freePath(c.to, at, "targetParentId")
		if !fault.Is(err, fault.DuplicateID) || i > maxCopies {
			return path, err
		}
	}
}

// note drafts a copy of a note.
//
// A single copy is cut at the first section. Its references to sections of the source stay
// references to the source, because the copy does not have these sections: each address is mapped
// to itself for them, and that of the note to the copy.
func (c *copier) note() error {
	text, err := c.noteText(c.ctx, c.from)
	if err != nil {
		return err
	}
	ids := map[string]string{}
	if c.single {
		d := markdown.Parse(text)
		own := strings.TrimRight(string(text[:tree.Extents(text, d)[0].Own.End]), " \t\r\n")
		text = append([]byte(own), lineBreak(text)...)
		for i := range c.from.Note.Sections {
			id := c.from.Note.Object(i).ID()
			ids[id] = id
		}
	}
	if c.made, err = c.freeName(c.from.Entry()); err != nil {
		return err
	}
	ids[c.from.Note.ID] = c.made.ID()
	c.recordOrigin(c.made.ID(), &insertion{from: c.from.Note, ids: ids})
	if err := c.joinOrder(c.ctx, c.to, entryOf(string(c.made))); err != nil {
		return err
	}
	return c.Put(c.ctx, c.made, text)
}

// files drafts a copy of a folder. All files keep their paths relative to the folder. It returns
// BATCH_TOO_LARGE if the texts do not fit into one commit.
func (c *copier) files() error {
	path, err := c.freeName(strings.TrimSuffix(c.from.Entry(), "/"))
	if err != nil {
		return err
	}
	c.folder = path.ID() + "/"
	if err := c.joinOrder(c.ctx, c.to, entryOf(c.folder)); err != nil {
		return err
	}
	if c.single {
		return c.folderFile()
	}
	ids, going := map[string]string{}, state.KeepGoing(c.ctx)
	files, has := c.filesOf(c.from), sizeBudget(0)
	for _, at := range files {
		ids[at.ID()] = vault.Path(c.folder + string(at[len(c.from.Folder):])).ID()
	}
	for _, at := range files {
		if !going() {
			return c.ctx.Err()
		}
		text, _, err := c.Text(c.ctx, at)
		if err != nil {
			return err
		}
		if err := has.add(text); err != nil {
			return err
		}
		to := vault.Path(c.folder + string(at[len(c.from.Folder):]))
		if n, ok := c.tree.Index.Note(string(at)); ok {
			c.recordOrigin(to.ID(), &insertion{from: n, ids: ids})
		}
		if err := c.Put(c.ctx, to, text); err != nil {
			return err
		}
	}
	return nil
}

// folderFile drafts a copy of a folder's own file, without its order. The order names children that
// the copy does not have. A folder without an own file gets one, since it would not exist
// otherwise.
func (c *copier) folderFile() error {
	text, exists, err := c.Text(c.ctx, vault.Path(c.from.Folder+vault.FolderFile))
	if err != nil {
		return err
	}
	if !exists {
		text, err = markdown.Compose([]markdown.Field{{Key: "title", Value: c.tree.Name(c.from)}}, "")
	} else {
		text, err = markdown.UnsetFields(text, []string{"order"})
	}
	if err != nil {
		return unwritable(err, "frontmatter_invalid")
	}
	return c.Put(c.ctx, vault.Path(c.folder+vault.FolderFile), text)
}

// reference drafts a node that represents the source: its text is one transclusion of the source.
// It returns a fault if the source is a folder, or if the reference would be a cycle.
//
// If the source represents another node itself, the new node represents that one, so references
// never form a chain.
func (c *copier) reference(out *copySubtreeOut) error {
	source, err := c.source(c.from)
	if err != nil {
		return err
	}
	c.from = source
	if source.Note == nil {
		return invalidParameter(kindMismatch, "a folder cannot be copied by reference").With("nodeId", source.ID())
	}
	if c.formsCycle(source, map[tree.Node]bool{}) {
		return invalidParameter("reference_cycle", "a reference to a node cannot be below that node").
			With("argument", "targetParentId").With("nodeId", source.ID())
	}
	out.Reference = &tree.Reference{TargetID: source.ID()}
	stub := child{typ: &vault.Type{Name: vault.Section}, title: c.tree.Name(source)}
	line := "![[" + source.ID() + "]]\n"
	if c.to.Note == nil {
		return c.stubNote(stub.title, line)
	}
	target, err := c.noteText(c.ctx, c.to)
	if err != nil {
		return err
	}
	heading, err := stub.section(markdown.LevelBelow(target, c.to.Section))
	if err != nil {
		return unplaceable(err, c.from)
	}
	s, err := markdown.NewSubtree(append(append(heading.Text, '\n'), line...))
	if err != nil {
		return unplaceable(err, c.from)
	}
	c.count = 1
	return c.place(&insertion{Subtree: s})
}

// stubNote drafts a note that represents the source: a title, and line, which is a transclusion of
// the source. It has no frontmatter.
func (c *copier) stubNote(title, line string) (err error) {
	if c.made, err = c.freeName(vault.FileName(title)); err != nil {
		return err
	}
	if err := c.joinOrder(c.ctx, c.to, entryOf(string(c.made))); err != nil {
		return err
	}
	return c.Put(c.ctx, c.made, []byte("# "+oneLine(title)+"\n\n"+line))
}

// formsCycle reports whether the target of the copy is below a node, or below a node that is
// represented by some node below it. seen contains the nodes that were checked.
//
// Such a reference would make a walk that follows references endless. The search stops after
// maxWritten nodes, and then reports false; a walk is limited on its own.
func (c *copier) formsCycle(n tree.Node, seen map[tree.Node]bool) bool {
	if seen[n] || len(seen) > maxWritten {
		return false
	}
	seen[n] = true
	if c.tree.Within(c.to, n) {
		return true
	}
	for below := range c.tree.Walk(n, nil) {
		// Only a node that represents another one can lead out of the subtree.
		if c.tree.Reference(below) == nil {
			continue
		}
		if source, ok := c.tree.Source(below); ok && c.formsCycle(source, seen) {
			return true
		}
	}
	return false
}

// complete completes the draft. It sets the address of the copy and the addresses of all its nodes.
//
// The addresses are those of the draft's index after references were rewritten.
func (c *copier) complete(dry bool, out *changeOut, id *string, created *[]string) error {
	if _, err := c.finish(c.ctx, tree.Node{}, dry, out); err != nil {
		return err
	}
	now := tree.New(c.Index())
	top := tree.Node{Folder: c.folder}
	if c.made != "" {
		n, _ := c.Index().Note(string(c.made))
		top = tree.Node{Note: n}
		if c.line > 0 {
			top.Section = sectionAt(n, c.line) + 1
		}
	}
	*id = top.ID()
	for n := range now.Walk(top, nil) {
		*created = append(*created, n.ID())
	}
	return nil
}

// A cloneNodeIn is the input of tree_clone_node.
type cloneNodeIn struct {
	nodeArg
	// address or uid of the parent of the clone, which is its last child
	TargetParentID string `json:"targetParentId" complete:"id" size:"id" alias:"target_parent_id,parentId"`
	nodeMutation
}

// A cloneNodeOut is the output of tree_clone_node.
type cloneNodeOut struct {
	// of the clone
	NodeID string `json:"nodeId"`
	// labels of link definitions and footnotes that have another definition in the note of the
	// clone
	FootnoteConflicts []string `json:"footnoteConflicts,omitempty"`
	changeOut
}

// cloneNode returns the tool that copies a node without its children.
//
// For a note or section the copy has its own text, up to its first section; for a folder it has the
// folder's own file, without the order of its children. It is copy_subtree with the mode duplicate
// for a single node; see copier.single.
func (f tools) cloneNode() *tool.Tool {
	s := spec("clone_node", "Copy a node without its children")
	s.Role, s.Kind = auth.Editor, tool.Write
	s.Route = tool.Route{Method: "POST", Path: "/nodes/clone"}
	s.Commands = []tool.Command{{Words: "node clone", Args: []string{"nodeId", "targetParentId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in cloneNodeIn) (cloneNodeOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *cloneNodeOut) error {
			n, err := e.movable("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			to, err := e.parent("targetParentId", in.TargetParentID)
			if err != nil {
				return err
			}
			c := copier{edit: e, ctx: ctx, from: n, to: to, single: true}
			if err := c.duplicate(); err != nil {
				return err
			}
			out.FootnoteConflicts = c.conflicts
			var made []string
			return c.complete(in.DryRun, &out.changeOut, &out.NodeID, &made)
		})
	})
}

package tree

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A moveNodeIn is the input of tree_move_node.
type moveNodeIn struct {
	nodeArg
	// address or uid of the new parent, of which it becomes the last child
	NewParentID string `json:"newParentId" complete:"id" size:"id" alias:"new_parent_id,parentId"`
	// convert a section that is moved into a folder to a note, and a note that is moved into a note
	// to a section
	Convert bool `json:"convert,omitempty"`
	nodeMutation
}

// A moveNodeOut is the output of tree_move_node.
type moveNodeOut struct {
	// current address of the node
	NodeID string `json:"nodeId"`
	// labels of link definitions and footnotes that have another definition in the new note
	FootnoteConflicts []string `json:"footnoteConflicts,omitempty"`
	changeOut
}

// moveNode returns the tool that moves a node below another one. The node becomes the last child.
// Its uid and those of its descendants stay the same; references to them are rewritten.
func (f tools) moveNode() *tool.Tool {
	s := spec("move_node", "Move a node below another one")
	s.Role, s.Kind = auth.Editor, tool.Destroy
	s.Route = tool.Route{Method: "POST", Path: "/nodes/move"}
	s.Commands = []tool.Command{{Words: "node move", Args: []string{"nodeId", "newParentId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in moveNodeIn) (moveNodeOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *moveNodeOut) error {
			n, err := e.movable("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			if err := in.run(ctx, e, n, out); err != nil {
				return err
			}
			out.NodeID, err = e.finish(ctx, n, in.DryRun, &out.changeOut)
			return err
		})
	})
}

// run drafts the move. It returns a fault if the kinds do not fit; with convert, it converts
// between note and section.
//
// A move below the node itself is a cycle. A folder can only be moved into a folder.
func (in moveNodeIn) run(ctx context.Context, e *edit, n tree.Node, out *moveNodeOut) error {
	to, err := e.parent("newParentId", in.NewParentID)
	if err != nil {
		return err
	}
	if e.tree.Within(to, n) {
		return invalidParameter(isCycle,
			"a node cannot move below itself").With("argument", "newParentId").With("nodeId", n.ID())
	}
	isFile, intoFolder := n.Section == 0, to.Note == nil
	switch {
	case !isFile && !intoFolder:
		return e.moveSection(ctx, n, to, out)
	case isFile && intoFolder:
		return e.moveFiles(ctx, n, to)
	case n.Kind() == tree.Folder || !in.Convert:
		return notOfKind(n, to)
	case isFile:
		return e.embed(ctx, n, to, out)
	}
	return e.extract(ctx, n, to)
}

// notOfKind returns the fault for a node that cannot be below another one. For a note or section,
// it says how the node can be converted.
func notOfKind(n, to tree.Node) error {
	f := invalidParameter(kindMismatch, "a %s cannot be below a %s", n.Kind(), to.Kind()).With("nodeId", n.ID())
	if n.Kind() == tree.Folder {
		return f
	}
	return f.Fix("move it with convert true, which converts a section to a note, and a note to a section")
}

// moveSection drafts the move of a section below another section or a note, as the last child.
//
// The section is cut out of its note and inserted at its new place, with the levels that fit there.
// Within one note these are two edits of one text: the positions after the cut must be corrected by
// the number of sections that were cut, and by one if the first section became the title. Between
// two notes the blocks in the section are recorded, so that references to blocks follow.
func (e *edit) moveSection(ctx context.Context, n, to tree.Node, out *moveNodeOut) error {
	if err := e.checkUnchanged(n, to); err != nil {
		return err
	}
	text, err := e.noteText(ctx, n)
	if err != nil {
		return err
	}
	cut, s, err := markdown.CutSection(text, n.Section)
	if err != nil {
		return unplaceable(err, n)
	}
	if err := tooMany(s.Tops()); err != nil {
		return err
	}
	a, m := insertionOf(n, text, s), marksOf(n.Note)
	target, position := cut.Doc, to.Section
	switch {
	case to.Note != n.Note:
		if err := e.putReordered(ctx, n.Note, m, text, cut); err != nil {
			return err
		}
		e.recordTitle(n, cut)
		e.moveBlocks(n.Note, linesOf(text).span(s.At), to.Note.ID)
		if text, err = e.noteText(ctx, to); err != nil {
			return err
		}
		target, m = markdown.Parse(text), marksOf(to.Note)
	default:
		m, a.from, text = m.moved(text, cut, nil), nil, cut.Text
		// The parent comes after the section, so the cut has moved it forward in the text.
		if position > n.Section {
			position -= s.Sections()
		}
		// The first section is no longer counted, because it has become the title.
		if cut.Titled {
			position = max(0, position-1)
			e.recordTitle(n, cut)
		}
	}
	r, err := target.PlaceSections(position, -1, &s)
	if err != nil {
		return unplaceable(err, n)
	}
	out.FootnoteConflicts = r.Conflicts
	return e.putReordered(ctx, to.Note, m, text, r, a)
}

// recordTitle records that the first section of a note has become its title, so that the id of the
// note is its address.
//
// This happens if a note without a title has only one section of level 1 left, and that comes
// first.
func (e *edit) recordTitle(n tree.Node, r markdown.ReorderResult) {
	if !r.Titled {
		return
	}
	for _, first := range e.tree.OwnChildren(tree.Node{Note: n.Note}) {
		if first.Level() == 1 && first != n {
			e.ids[first.ID()] = n.Note.ID
			return
		}
	}
}

// moveFiles drafts the move of a note or folder into another folder. A node that is in the folder
// already is only checked for conflicts. The order of the old folder loses the node; that of the
// new folder gets it at the end.
func (e *edit) moveFiles(ctx context.Context, n, to tree.Node) error {
	above, _ := e.tree.Parent(n)
	if above == to {
		return e.checkUnchanged(n)
	}
	moves, err := e.destinations(ctx, n, to)
	if err != nil {
		return err
	}
	if err := e.leaveOrder(ctx, n); err != nil {
		return err
	}
	if err := e.joinOrder(ctx, to, n.Entry()); err != nil {
		return err
	}
	var has sizeBudget
	for _, m := range moves {
		text, _, err := e.Text(ctx, m.from)
		if err != nil {
			return err
		}
		if err := has.add(text); err != nil {
			return err
		}
		if err := e.Move(ctx, m.from, m.to, text); err != nil {
			return err
		}
	}
	return nil
}

// A destination is the old and the new path of a moved file.
type destination struct{ from, to vault.Path }

// destinations returns the new paths of the files of a note or folder. It returns DUPLICATE_ID if a
// path is taken, and CONFLICT if a file changed after the version token.
//
// For a folder it also records the new addresses of all folders below it, which have no uid if they
// have no own file.
func (e *edit) destinations(ctx context.Context, n, to tree.Node) ([]destination, error) {
	above, _ := e.tree.Parent(n)
	if err := tooMany(e.countNodes(n)); err != nil {
		return nil, err
	}
	touched := []tree.Node{n, above, to}
	if n.Note != nil {
		if err := e.checkKeepsType(n, to); err != nil {
			return nil, err
		}
		if err := e.checkUnchanged(touched...); err != nil {
			return nil, err
		}
		path, err := e.freePath(to, n.Entry(), "newParentId")
		return []destination{{vault.Path(n.Note.Path), path}}, err
	}
	into := to.Folder + n.Entry()
	if e.folderAt(into) {
		return nil, duplicate(into, "newParentId")
	}
	var all []destination
	going := state.KeepGoing(ctx)
	for f := range e.tree.FilesIn(n.Folder) {
		if !going() {
			return nil, ctx.Err()
		}
		path := vault.Path(into + f.Path[len(n.Folder):])
		if len(path) > vault.MaxPath {
			return nil, fault.New(fault.InvalidPath, "a path would have more than %d bytes", vault.MaxPath).
				With("argument", "newParentId")
		}
		if other, taken := e.Folded(path); taken {
			return nil, duplicate(vault.Path(other).ID(), "newParentId")
		}
		all = append(all, destination{vault.Path(f.Path), path})
	}
	// Files below a folder move with it; every note and folder in it must be unchanged.
	for below := range e.tree.Walk(n, nil) {
		switch below.Kind() {
		case tree.Folder:
			e.ids[below.Folder] = into + below.Folder[len(n.Folder):]
		case tree.Section:
			continue
		}
		touched = append(touched, below)
	}
	return all, e.checkUnchanged(touched...)
}

// checkKeepsType returns a fault if a note would lose its type in another folder: the type of a
// daily note follows from its path.
func (e *edit) checkKeepsType(n, to tree.Node) error {
	config := e.tree.Index.Config()
	if _, was := config.IsDaily(vault.Path(n.Note.Path)); n.Note.Type != vault.Daily || !was {
		return nil
	}
	if _, day := config.IsDaily(vault.Path(to.Folder + path.Base(n.Note.Path))); day {
		return nil
	}
	return invalidParameter(kindMismatch, "a daily note would lose its type at a path that is not the path of its day").
		With("nodeId", n.ID())
}

// everyLine spans all lines of a note.
var everyLine = markdown.Span{Start: 1, End: 1 << 30}

// extract drafts the conversion of a section to a note in a folder.
//
// The file name of the note follows from the title of the section. The section and its subsections
// keep their uids: that of the section becomes the uid of the note.
func (e *edit) extract(ctx context.Context, n, to tree.Node) error {
	if err := e.checkUnchanged(n, to); err != nil {
		return err
	}
	text, err := e.noteText(ctx, n)
	if err != nil {
		return err
	}
	cut, s, err := markdown.CutSection(text, n.Section)
	if err != nil {
		return unplaceable(err, n)
	}
	if err := tooMany(s.Tops()); err != nil {
		return err
	}
	a := insertionOf(n, text, s)
	path, err := e.freePath(to, vault.FileName(n.Object().Section.Title), "nodeId")
	if err != nil {
		return err
	}
	note, err := e.noteOf(e.tree.Type(n), s)
	if err != nil {
		return unplaceable(err, n)
	}
	if err := e.putReordered(ctx, n.Note, marksOf(n.Note), text, cut); err != nil {
		return err
	}
	e.recordTitle(n, cut)
	if err := e.joinOrder(ctx, to, entryOf(string(path))); err != nil {
		return err
	}
	e.recordOrigin(path.ID(), a)
	e.moveBlocks(n.Note, linesOf(text).span(s.At), path.ID())
	return e.PutNodes(ctx, path, note, a.traits, a.uids)
}

// noteOf returns the text of the note to which a section is converted. The heading becomes the
// title, with level 1, and the fields of the declaration become the frontmatter. The id in the
// declaration is dropped: the note is identified by its path.
//
// If the text has another heading of level 1, in a list or a quote, the heading would be a section
// and not the title. Then the title is a field of the frontmatter, and the heading is dropped.
func (e *edit) noteOf(typ string, s markdown.Subtree) ([]byte, error) {
	s.Text = s.Standalone()
	whole, err := s.Relevel(1 - s.Level)
	if err != nil {
		return nil, err
	}
	h := markdown.Parse(whole).Headings[0]
	if typ == vault.Section {
		typ = vault.Page
	}
	fields := []markdown.Field{{Key: "type", Value: typ}}
	rest := h.Content
	if h.Declaration != nil {
		rest = h.Declaration.Span.End
		for _, a := range h.Declaration.Fields {
			if a.Key != "id" {
				fields = append(fields, markdown.Field{Key: a.Key, Value: a.Value})
			}
		}
	}
	head := "\n" + strings.TrimRight(string(whole[h.Own.Start:min(h.Content, len(whole))]), "\r\n") + "\n"
	body := ""
	if text := strings.Trim(string(whole[min(rest, len(whole)):]), "\r\n"); text != "" {
		body = "\n" + text + "\n"
	}
	note, err := markdown.Compose(fields, withLineBreaks(head+body, "\n"))
	if err != nil || markdown.Parse(note).Headings[0].Title {
		return note, err
	}
	name := "title"
	if t, ok := e.tree.Index.Schema().Type(typ); ok {
		name = cmp.Or(t.NameField(), name)
	}
	if !slices.ContainsFunc(fields, func(f markdown.Field) bool { return f.Key == name }) {
		fields = append(fields, markdown.Field{Key: name, Value: h.Text})
	}
	return markdown.Compose(fields, withLineBreaks(body, "\n"))
}

// embed drafts the conversion of a note to a section. The note is removed without a copy in the
// trash, because its text is in the section. The sections of the note keep their uids and become
// subsections.
func (e *edit) embed(ctx context.Context, n, to tree.Node, out *moveNodeOut) error {
	above, _ := e.tree.Parent(n)
	if err := e.checkUnchanged(n, above, to); err != nil {
		return err
	}
	text, err := e.noteText(ctx, n)
	if err != nil {
		return err
	}
	target, err := e.noteText(ctx, to)
	if err != nil {
		return err
	}
	d := markdown.Parse(target)
	s, err := e.sectionOf(n, text, d.LevelBelow(to.Section))
	if err != nil {
		return unplaceable(err, n)
	}
	if err := tooMany(s.Tops()); err != nil {
		return err
	}
	r, err := d.PlaceSections(to.Section, -1, &s)
	if err != nil {
		return unplaceable(err, n)
	}
	out.FootnoteConflicts = r.Conflicts
	if err := e.leaveOrder(ctx, n); err != nil {
		return err
	}
	if err := e.Remove(ctx, vault.Path(n.Note.Path)); err != nil {
		return err
	}
	e.moveBlocks(n.Note, everyLine, to.Note.ID)
	a := &insertion{Subtree: s, from: n.Note, uids: n.Note.NodeIDs(), traits: n.Note.TraitIDs()}
	return e.putReordered(ctx, to.Note, marksOf(to.Note), target, r, a)
}

// sectionOf returns the section to which a note is converted, at a heading level. The title becomes
// the heading, and the other fields of the frontmatter become those of the declaration. Headings
// are shifted to the levels below.
func (e *edit) sectionOf(n tree.Node, text []byte, level int) (markdown.Subtree, error) {
	if level > 6 {
		return markdown.Subtree{},
			invalidParameter("heading_depth_exceeded", "the heading would have level %d; the deepest is 6", level)
	}
	body, err := markdown.Demote(text, level+1)
	if err != nil {
		return markdown.Subtree{}, err
	}
	c := child{title: e.tree.Name(n), text: string(body), nested: true}
	typ := n.Note.Type
	if typ == vault.Page || typ == vault.Daily {
		typ = vault.Section
	}
	c.typ = &vault.Type{Name: typ}
	d := markdown.Parse(text)
	if d.Problem != nil {
		return markdown.Subtree{}, invalidParameter("frontmatter_invalid",
			"the frontmatter of the note does not parse").
			With("line", d.Problem.Line)
	}
	if d.Frontmatter != nil {
		for _, f := range d.Frontmatter.Entries {
			if f.Key != "type" && f.Key != "title" {
				c.fields = append(c.fields, markdown.Field{Key: f.Key, Value: f.Value})
			}
		}
	}
	return c.section(level)
}

// recordOrigin records that all lines of the note with this id come from another note, so that its
// references are resolved as they were there.
func (e *edit) recordOrigin(id string, a *insertion) {
	e.passages[id] = append(e.passages[id], relinkPassage(everyLine, a))
}

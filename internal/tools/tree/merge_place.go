package tree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// placeAll creates the new nodes and, with the strategy replace, removes those that the JSON omits.
// It processes the sections of a note from the last to the first, so that a change does not move
// the sections that are still to be processed.
//
// Folders come first; the order among the notes does not matter. A node whose kind differs from
// that of its match is a problem already and is skipped.
func (m *merger) placeAll(ctx context.Context) error {
	var inNotes []*mergeNode
	err := m.top.each(func(g *mergeNode) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !g.matched || g != m.top && g.match.Kind() != g.Kind:
			return nil
		case g.match.Note != nil:
			inNotes = append(inNotes, g)
			return nil
		}
		return m.placeInFolder(ctx, g, g.match.Folder)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(inNotes, func(a, b *mergeNode) int { return b.match.Section - a.match.Section })
	for _, g := range inNotes {
		if err := m.placeInNote(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// replaces reports whether the children of a matched node are replaced by those in the JSON. The
// target itself keeps its other children: only the root of the JSON is merged below it.
func (m *merger) replaces(g *mergeNode) bool {
	return m.in.Strategy == byReplace && g.Children != nil && g != m.top
}

// placeInNote drafts the sections below a note or section in their order: new and existing ones.
//
// The new order has the existing children, then the new ones. With the strategy replace it has the
// children in the order of the JSON; those that the JSON has at another place stay at the end, and
// the others are removed. A merge never moves a section from one parent to another. The order is
// written once for each parent.
func (m *merger) placeInNote(ctx context.Context, g *mergeNode) error {
	there := m.tree.OwnChildren(g.match)
	at := map[tree.Node]int{}
	for i, n := range there {
		at[n] = i
	}
	var order []markdown.Sibling
	keep := func(i int) {
		order, g.final = append(order, markdown.Sibling{Child: i}), append(g.final, m.taken[there[i]])
	}
	if !m.replaces(g) {
		for i := range there {
			keep(i)
		}
	}
	listed := map[int]bool{}
	for _, child := range g.children() {
		if child.matched {
			if i, here := at[child.match]; here && m.replaces(g) {
				listed[i] = true
				keep(i)
			}
			continue
		}
		s, ok := m.section(child, 2)
		if !ok {
			continue
		}
		order, g.final = append(order, markdown.Sibling{New: &s}), append(g.final, child)
	}
	var gone []tree.Node
	for i, n := range there {
		switch {
		// The child is in the order already.
		case !m.replaces(g) || listed[i]:
		case m.taken[n] != nil: // the JSON has it at another place
			keep(i)
		default:
			gone = append(gone, n)
		}
	}
	if err := m.removeSections(ctx, gone); err != nil {
		return err
	}
	if isSameOrder(order, len(there)) {
		return nil
	}
	return m.reorder(ctx, g, order)
}

// isSameOrder reports whether an order contains the existing children, unchanged.
func isSameOrder(order []markdown.Sibling, count int) bool {
	for i, s := range order {
		if s.New != nil || s.Child != i {
			return false
		}
	}
	return len(order) == count
}

// reorder drafts a new order of the sections below a node, and of their identities.
//
// The positions are those of f.text, in which sections after g may already have changed, but none
// before it.
func (m *merger) reorder(ctx context.Context, g *mergeNode, order []markdown.Sibling) error {
	f, err := m.file(ctx, g.match)
	if err != nil {
		return err
	}
	r, err := markdown.Reorder(f.text, g.match.Section, order)
	if err != nil {
		m.problem(g, unwritable(err, "malformed_markdown"))
		return nil
	}
	var news []*insertion
	for _, s := range order {
		if s.New != nil {
			news = append(news, &insertion{Subtree: *s.New})
		}
	}
	f.nodes = f.reorderedIDs(r, news)
	f.text = r.Text
	return nil
}

// reorderedIDs returns the identities of the nodes in the file after its sections were reordered,
// or nil if they are not known. Then they are determined from the text. They are not known if the
// numbers of headings and of identities do not agree, for example because a new body changed the
// headings.
func (f *mergedFile) reorderedIDs(r markdown.ReorderResult, news []*insertion) []index.UID {
	var m marks
	for _, h := range markdown.Parse(f.text).Headings {
		if !tree.IsTop(h) {
			continue
		}
		at := len(m.sections) + 1
		if at >= len(f.nodes) {
			return nil
		}
		m.sections = append(m.sections, lineID[index.UID]{h.Line, f.nodes[at]})
	}
	if len(f.nodes) != len(m.sections)+1 {
		return nil
	}
	ids := slices.Clone(f.nodes[:1])
	for _, s := range m.moved(f.text, r, news).sections {
		ids = append(ids, s.id)
	}
	return ids
}

// section returns a new section with its descendants at a heading level. ok is false after it
// recorded a problem.
func (m *merger) section(g *mergeNode, level int) (s markdown.Subtree, ok bool) {
	text, ok := m.sectionText(g, level)
	if !ok {
		return s, false
	}
	s, err := markdown.NewSubtree(text)
	if err != nil {
		m.problem(g, unwritable(err, "malformed_markdown"))
	}
	return s, err == nil
}

// sectionText returns the Markdown of a new section with its descendants. The boolean is false
// after it recorded a problem.
//
// It descends into the children, and sets the status of each to created. One problem makes the
// whole section invalid.
func (m *merger) sectionText(g *mergeNode, level int) ([]byte, bool) {
	if err := tooDeep(level); err != nil {
		m.problem(g, err)
		return nil, false
	}
	typ := m.typeNamed(g)
	if typ == nil {
		return nil, false
	}
	problems := len(m.problems)
	fields := m.checkFields(g, typ)
	if len(m.problems) > problems {
		return nil, false
	}
	text, err := sectionHead(level, g.title(), typ, fields)
	if err != nil {
		m.problem(g, err)
		return nil, false
	}
	if !m.isBody(g) {
		return nil, false
	}
	if body := g.body(); body != "" {
		text = append(text, "\n"+body+"\n"...)
	}
	return m.withSections(g, text, level+1)
}

// withSections returns a text followed by the sections of a new node. Children that match a node of
// the vault are omitted.
func (m *merger) withSections(g *mergeNode, text []byte, level int) ([]byte, bool) {
	g.status = "created"
	for _, child := range g.children() {
		if child.matched {
			continue
		}
		below, ok := m.sectionText(child, level)
		if !ok {
			return nil, false
		}
		g.final = append(g.final, child)
		text = joinBlocks(text, below)
	}
	return text, true
}

// joinBlocks returns two texts with a blank line between them, if none of them is empty. The first
// must end with a line break.
func joinBlocks(text, below []byte) []byte {
	if len(text) > 0 && len(below) > 0 {
		text = append(text, '\n')
	}
	return append(text, below...)
}

// title returns the title of a new node: its own or, without one, the last part of its address.
func (g *mergeNode) title() string {
	if g.Title != nil && strings.TrimSpace(*g.Title) != "" {
		return *g.Title
	}
	return strings.Trim(g.key(), "#/")
}

// body returns the own text of a new node.
func (g *mergeNode) body() string {
	if g.Body == nil {
		return ""
	}
	return trimmedText(*g.Body)
}

// isBody reports whether the own text of a new node contains no heading and no unclosed fence.
// Otherwise it records a problem.
func (m *merger) isBody(g *mergeNode) bool {
	switch body := g.body(); {
	case hasHeading(body, 0):
		m.problem(g, invalidParameter("body_escapes_section", "a body must not have headings: they would be nodes").
			With("property", "body"))
	case markdown.Unclosed([]byte(body)):
		m.problem(g, invalidParameter("malformed_markdown",
			"the last block of the body is not closed; close its fence").
			With("property", "body"))
	default:
		return true
	}
	return false
}

// removeSections records sections of one note for removal to the trash.
//
// The sections of one call must be of the same note. They are cut out of the text by reorder.
func (m *merger) removeSections(ctx context.Context, gone []tree.Node) error {
	if len(gone) == 0 {
		return nil
	}
	text, _, err := m.Text(ctx, fileOf(gone[0]))
	if err != nil {
		return err
	}
	m.removed = append(m.removed, gone...)
	bins, err := trashItemsOf(text, gone)
	m.bins = append(m.bins, bins...)
	return err
}

// trashItemsOf returns sections of a note in the form in which the trash stores them. text is the
// text of the note; it is parsed once.
func trashItemsOf(text []byte, gone []tree.Node) (all []trashItem, err error) {
	extents := tree.Extents(text, markdown.Parse(text))
	for _, n := range gone {
		e := extents[n.Section]
		kept, err := mutation.TrashText(n.Object(), slices.Clip(text[e.Start:e.Content.End]))
		if err != nil {
			return nil, err
		}
		all = append(all, trashItem{vault.Path(mutation.TrashName(n.Object())), kept})
	}
	return all, nil
}

// placeInFolder drafts the new notes and folders in a folder and, with the strategy replace,
// records those for removal that the JSON omits.
//
// A child that contains a matched node, or is one, is not removed, even if the JSON does not list
// it here.
func (m *merger) placeInFolder(ctx context.Context, g *mergeNode, dir string) error {
	for _, child := range g.children() {
		if !child.matched {
			if err := m.create(ctx, child, dir); err != nil {
				return err
			}
		}
	}
	if !m.replaces(g) || !g.matched {
		return nil
	}
	for _, n := range m.tree.OwnChildren(g.match) {
		if !m.holding[n] {
			m.removed = append(m.removed, n)
		}
	}
	return nil
}

// create drafts a new note or folder with its descendants. Invalid ones are recorded as problems.
// The file name is the last part of the address in the JSON or, if that is a uid, follows from the
// title.
func (m *merger) create(ctx context.Context, g *mergeNode, dir string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if g.Kind == tree.Section || g.Kind == tree.Vault {
		return nil // recorded as a problem already
	}
	name := strings.TrimSuffix(g.key(), "/")
	if _, isUID := index.ParseUID(g.NodeID); isUID {
		name = vault.FileName(g.title())
	}
	path, err := vault.NewPath(dir + name)
	if err != nil {
		m.problem(g, fault.Of(err))
		return nil
	}
	if g.Kind == tree.Folder {
		return m.createFolder(ctx, g, path.ID()+"/")
	}
	if other, taken := m.Folded(path); taken || m.files[path] != nil {
		m.problem(g, fault.New(fault.DuplicateID, "there is a note with that name already").
			With("id", vault.Path(other).ID()).
			With("reason", "already_exists"))
		return nil
	}
	if text, ok := m.noteText(g); ok {
		g.path = string(path)
		m.files[path], m.order = &mergedFile{text: text}, append(m.order, path)
	}
	return nil
}

// noteText returns the Markdown of a new note with its sections. The boolean is false after it
// recorded a problem.
//
// The title becomes a heading unless it equals the file name or is in the name field, or a field if
// the heading would not be the title of the note. The type is written unless it is a page or
// follows from the path.
func (m *merger) noteText(g *mergeNode) ([]byte, bool) {
	typ := m.typeNamed(g)
	if typ == nil {
		return nil, false
	}
	problems := len(m.problems)
	fields := m.checkFields(g, typ)
	if len(m.problems) > problems || !m.isBody(g) {
		return nil, false
	}
	if typ.Name != vault.Page && typ.Name != vault.Daily {
		fields = append([]markdown.Field{{Key: "type", Value: typ.Name}}, fields...)
	}
	heading := ""
	if title := oneLine(g.title()); title != g.key() && !isNamed(fields, typ.NameField(), title) {
		heading = "# " + title + "\n"
		if d := markdown.Parse([]byte(heading)); len(d.Headings) != 1 || d.Headings[0].Text != title {
			m.problem(g, invalidParameter(typeMismatch,
				"a title must be plain text without markup").With("property", "title"))
			return nil, false
		}
	}
	var body []byte
	if own := g.body(); own != "" {
		body = []byte(own + "\n")
	}
	body, ok := m.withSections(g, body, 2)
	if !ok {
		return nil, false
	}
	switch whole := joinBlocks([]byte(heading), body); {
	case heading == "" || markdown.Parse(whole).Headings[0].Title:
		body = whole
	default: // another heading of level 1, in a list or a quote, keeps it from being the title
		name := cmp.Or(typ.NameField(), "title")
		fields = slices.DeleteFunc(fields, func(f markdown.Field) bool { return f.Key == name })
		fields = append(fields, markdown.Field{Key: name, Value: oneLine(g.title())})
	}
	return m.compose(g, fields, body)
}

// isNamed reports whether the field name has the title as its value.
func isNamed(fields []markdown.Field, name, title string) bool {
	return slices.ContainsFunc(fields, func(f markdown.Field) bool { return f.Key == name && f.Value == title })
}

// compose returns the text of a new file. The boolean is false after it recorded a problem.
func (m *merger) compose(g *mergeNode, fields []markdown.Field, body []byte) ([]byte, bool) {
	if len(fields) == 0 {
		return body, true
	}
	text, err := markdown.Compose(fields, mutation.SeparateBody(string(body)))
	if err != nil {
		m.problem(g, unwritable(err, typeMismatch))
	}
	return text, err == nil
}

// createFolder drafts a new folder with its descendants. It writes the folder's own file if that
// has content, or if the JSON has no children of the folder. dir is the path of the folder, with a
// slash at its end. Problems are recorded for the folder and for each of its descendants.
//
// A folder exists if a file is in it, so its own file is written only if it is needed.
func (m *merger) createFolder(ctx context.Context, g *mergeNode, dir string) error {
	problems := len(m.problems)
	typ := m.typeNamed(g)
	if typ == nil {
		return nil
	}
	fields := m.checkFields(g, typ)
	if len(m.problems) > problems {
		return nil
	}
	if title := g.title(); title+"/" != g.key() {
		fields = append([]markdown.Field{{Key: "title", Value: title}}, fields...)
	}
	if g.PayloadType != "" && g.PayloadType != string(tree.Folder) {
		fields = append([]markdown.Field{{Key: "type", Value: typ.Name}}, fields...)
	}
	body := g.body()
	g.status, g.path = "created", dir+vault.FolderFile
	if len(fields) > 0 || body != "" || len(g.children()) == 0 {
		if body != "" {
			body += "\n"
		}
		if len(fields) == 0 {
			fields = append(fields, markdown.Field{Key: "title", Value: g.title()})
		}
		text, ok := m.compose(g, fields, []byte(body))
		if !ok {
			return nil
		}
		path := vault.Path(g.path)
		if _, taken := m.Folded(path); taken {
			m.problem(g, fault.New(fault.DuplicateID, "there is a folder with that name already").
				With("reason", "already_exists"))
			return nil
		}
		m.files[path], m.order = &mergedFile{text: text}, append(m.order, path)
	}
	return m.placeInFolder(ctx, g, dir)
}

// stage stages the whole merge. Removals are first, because a removed file can have the path of a
// new one.
//
// Files whose text did not change are not staged.
func (m *merger) stage(ctx context.Context) error {
	for _, n := range slices.Clone(m.removed) {
		if n.Section == 0 {
			if err := m.removeFiles(ctx, n); err != nil {
				return err
			}
		}
	}
	for _, b := range m.bins {
		if _, err := m.Trash(ctx, b.path, b.text); err != nil {
			return err
		}
	}
	for _, path := range m.order {
		f := m.files[path]
		if f.was != nil && slices.Equal(f.was, f.text) {
			continue
		}
		if err := m.PutNodes(ctx, path, f.text, nil, f.nodes); err != nil {
			return err
		}
	}
	return nil
}

// removeFiles stages the removal of a note, or of a folder with all its files, to the trash. The
// files of folders, with their orders, go there too, as tree_remove_node moves them.
func (m *merger) removeFiles(ctx context.Context, n tree.Node) error {
	for f := range filesBelow(m.tree.Index, n) {
		text, _, err := m.Text(ctx, vault.Path(f.Path))
		if err != nil {
			return err
		}
		if _, err := m.Trash(ctx, vault.Path(f.Path), text); err != nil {
			return err
		}
		if err := m.Remove(ctx, vault.Path(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// sortFolders stages the order of the folders whose children the strategy replace determines.
//
// It runs after the files were staged, because the order is compared with the one that the folder
// would have then.
func (m *merger) sortFolders(ctx context.Context, root *mergeNode) error {
	if m.in.Strategy != byReplace {
		return nil
	}
	after := tree.New(m.Index())
	return root.each(func(g *mergeNode) error {
		if g.Kind != tree.Vault && g.Kind != tree.Folder || g.Children == nil || g.matched && g.match.Kind() != g.Kind {
			return nil
		}
		dir := g.match.Folder
		if !g.matched {
			dir = strings.TrimSuffix(g.path, vault.FolderFile)
		}
		var want []string
		for _, child := range g.children() {
			switch above, _ := m.tree.Parent(child.match); {
			case !child.matched && child.path != "":
				want = append(want, entryOf(addressOf(child.path)))
			case child.matched && above == (tree.Node{Folder: dir}):
				want = append(want, child.match.Key())
			}
		}
		return m.sortFolder(ctx, after, dir, want)
	})
}

// sortFolder stages the order of a folder, if it differs from the current one. Children that want
// does not contain follow in their present order. after is the tree with everything that the merge
// has staged.
func (m *merger) sortFolder(ctx context.Context, after *tree.Tree, dir string, want []string) error {
	var has []string
	for _, n := range after.OwnChildren(tree.Node{Folder: dir}) {
		has = append(has, n.Key())
	}
	listed := map[string]bool{}
	for _, name := range want {
		listed[name] = true
	}
	all := slices.Clone(want)
	for _, name := range has {
		if !listed[name] {
			all = append(all, name)
		}
	}
	if slices.Equal(all, has) {
		return nil
	}
	return m.putOrder(ctx, tree.Node{Folder: dir}, all)
}

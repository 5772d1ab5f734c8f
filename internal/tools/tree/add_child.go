package tree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An addChildIn is the input of tree_add_child. The kind of the new node follows from the parent:
// below a folder it is a note, or a folder if PayloadType is folder; below a note or a section it
// is a section.
type addChildIn struct {
	tool.Vault
	// address or uid of the parent of the new node
	ParentNodeID string `json:"parentNodeId" complete:"id" size:"id" names:"target" alias:"parent_node_id,parentId"`
	// below a folder: folder, page or a type of the schema; below a note or a section: section or a
	// type
	PayloadType string `json:"payloadType" complete:"type" size:"name" alias:"payload_type,type"`
	// title (required), fields, tags, body; for a section also content
	PayloadProps tool.Fields `json:"payloadProps" complete:"type_field" of:"payloadType" alias:"payload_props,props"`
	// file name of a note or a folder, without .md; default: derived from the title
	FileName string `json:"fileName,omitempty" size:"id" alias:"file_name"`
	// place among the children of the parent, from 0; default: last
	Position *int `json:"position,omitempty" minimum:"0"`
	nodeMutation
}

// An addChildOut is the output of tree_add_child. In a dry run NodeID is the address that the node
// would have.
type addChildOut struct {
	// of the new node
	NodeID string `json:"nodeId"`
	changeOut
}

// addChild returns the tool that adds a note or folder to a folder, or a section to a note. If the
// parent represents another node, the new node is added below that one.
func (f tools) addChild() *tool.Tool {
	s := spec("add_child", "Add a node")
	s.Role, s.Kind = auth.Editor, tool.Write
	s.Route = tool.Route{Method: "POST", Path: "/nodes"}
	s.Commands = []tool.Command{{Words: "node add", Args: []string{"parentNodeId", "payloadType"},
		Pairs: "payloadProps"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in addChildIn) (addChildOut, error) {
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		return change(ctx, f, w, func(ctx context.Context, e *edit, out *addChildOut) error {
			e.moves = true
			parent, err := e.parent("parentNodeId", in.ParentNodeID)
			if err != nil {
				return err
			}
			add := in.toNote
			if parent.Note == nil {
				add = in.toFolder
			}
			path, line, err := add(ctx, e, parent)
			if err != nil {
				return err
			}
			if _, err := e.finish(ctx, tree.Node{}, in.DryRun, &out.changeOut); err != nil {
				return err
			}
			if out.NodeID = path; line > 0 {
				out.NodeID = e.addressAt(path, line)
			}
			return nil
		})
	})
}

// A child is a new node, with checked properties.
//
// It is independent of its place: note, folder and section return its text in the three forms.
type child struct {
	typ    *vault.Type
	title  string
	text   string           // the text of its body or content
	nested bool             // the text is a content, which can have headings
	fields []markdown.Field // fields to write, as the type has them
}

// child parses and checks the properties of the new node. It returns INVALID_PARAMETER for a
// property that cannot be set. It reads no text and stages nothing.
//
// Names of properties are accepted in any case and with the prefix payload. The property title sets
// the title; body is a text without headings, content one whose headings become nodes; all others
// are fields of the type. A property that is derived, such as nodeId or kind, is a fault.
func (in addChildIn) child(e *edit, typ *vault.Type) (child, error) {
	c := child{typ: typ}
	given := map[string]any{}
	for name, v := range mutation.TypedFields(in.PayloadProps) {
		bare := bareName(name)
		lower := strings.ToLower(bare)
		var err error
		switch {
		case slices.Contains(internal, lower) || lower == "order":
			return c, invalidParameter(internalProperty, "the property is internal and cannot be set").
				With("property", name).With("internal", internal)
		case lower == "title" || lower == "name" && typ.NameField() == "":
			c.title, err = textOf(name, v)
		case lower == "body" || lower == "content":
			c.text, err = textOf(name, v)
			c.nested = lower == "content"
		default:
			given[spelled(e.tree, tree.Node{}, typ, bare)] = v
		}
		if err != nil {
			return c, err
		}
	}
	return c, c.check(e, given)
}

// textOf returns the value of a property that must be a text. It returns a fault for any other
// type.
func textOf(name string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case vault.Text:
		return string(v), nil
	}
	return "", invalidParameter(typeMismatch, "the property must be a string").With("property", name)
}

// check sets the title and the fields according to the type of the node. It returns a fault if the
// title or a required field is missing, a value is not valid, or the type declares other fields
// only.
//
// The title and the name field of the type set each other: one of the two is enough. A type that
// declares no fields, and the types page and section, accept any field. The fault is that of the
// first problem, in the form of this family.
func (c *child) check(e *edit, given map[string]any) error {
	name := c.typ.NameField()
	if c.title == "" && name != "" && given[name] != nil {
		c.title, _ = textOf(name, given[name])
	}
	c.title = strings.TrimSpace(c.title)
	switch {
	case c.title == "":
		return invalidParameter(requiredField,
			"a node needs a title: payloadProps.title").With("argument", "payloadProps").
			With("field", "title")
	case strings.ContainsAny(c.title, "\r\n"):
		return invalidParameter(typeMismatch, "a title must be one line of text").With("property", "title")
	}
	if name != "" && given[name] == nil {
		given[name] = c.title
	}
	checked := c.typ.Check(given, state.Clock(e.tree.Index, e.Now()))
	problems := slices.Concat(checked.Problems, mutation.WrongTargets(e.tree.Index, c.typ, checked.Fields))
	declares := len(c.typ.Fields)+len(c.typ.Traits) > 0 && c.typ.Name != vault.Page && c.typ.Name != vault.Section
	unknown := slices.DeleteFunc(checked.Unknown, func(name string) bool { return name == "tags" })
	switch missing := c.typ.Missing(given); {
	case len(problems) > 0:
		return unwritable(problems[0], typeMismatch)
	case len(missing) > 0:
		return unwritable(missing[0], requiredField)
	case len(unknown) > 0 && declares:
		return invalidParameter(unknownField, "the type %s declares no such field", c.typ.Name).
			With("property", unknown[0]).With("available", c.typ.FieldNames())
	}
	if c.typ.Name == vault.Section { // the title of a section is its heading
		delete(checked.Fields, name)
	}
	c.fields = mutation.SortedFields(mutation.ByIDs(e.tree.Index, c.typ, checked.Fields))
	return nil
}

// typeOf returns the type of the new node. Types in not are a fault with the reason kind_mismatch;
// a type that is not in the schema is a fault with the nearest names. The kind is checked before
// the schema, so that the reason says that the type exists but does not fit.
func (in addChildIn) typeOf(e *edit, not ...string) (*vault.Type, error) {
	schema := e.tree.Index.Schema()
	if slices.Contains(not, in.PayloadType) {
		return nil, invalidParameter(kindMismatch, "a node of this type cannot be below that parent").
			With("argument", "payloadType")
	}
	typ, ok := schema.Type(in.PayloadType)
	if !ok {
		f := invalidParameter("unknown_payload_type", "there is no such type").With("argument", "payloadType").
			With("available_types", vault.Offered(schema.TypeNames()))
		return nil, f.Suggest(in.PayloadType, schema.TypeNames())
	}
	return typ, nil
}

// toFolder drafts a new note or folder in a folder, and returns its address. The line is always 0.
//
// A folder is created by writing its own file, because a vault has no empty folders. With a
// position, the order of the parent is written too, in the own file of the parent; without one, the
// new node is the last in the order if the parent has an order, and has its default place
// otherwise.
func (in addChildIn) toFolder(ctx context.Context, e *edit, parent tree.Node) (id string, _ int, _ error) {
	folder := in.PayloadType == string(tree.Folder)
	named := in
	if folder {
		named.PayloadType = vault.Page
	}
	typ, err := named.typeOf(e, vault.Section, vault.Daily, string(tree.Vault))
	if err != nil {
		return "", 0, err
	}
	c, err := named.child(e, typ)
	if err != nil {
		return "", 0, err
	}
	name := cmp.Or(strings.TrimSuffix(in.FileName, ".md"), vault.FileName(c.title))
	path, err := e.freePath(parent, name, "fileName")
	if err != nil {
		return "", 0, err
	}
	entry := strings.TrimSuffix(string(path[len(parent.Folder):]), ".md")
	write := c.note
	if id = path.ID(); folder {
		path, id, entry, write = vault.Path(id+"/"+vault.FolderFile), id+"/", entry+"/", c.folder
	}
	text, err := write()
	if err != nil {
		return "", 0, err
	}
	if in.Position != nil {
		if err := e.insertEntry(ctx, parent, entry, *in.Position); err != nil {
			return "", 0, err
		}
	}
	return id, 0, e.Put(ctx, path, text)
}

// freePath returns the path of a new note in a folder. It returns DUPLICATE_ID if a note or folder
// has the name already, and INVALID_PATH if the name is not valid. arg is the argument that the
// fault names.
//
// Names are compared after case folding. A note and a folder of the same name may not be siblings,
// because their addresses would differ only by the slash.
func (e *edit) freePath(folder tree.Node, name, arg string) (vault.Path, error) {
	if name == "" || strings.Contains(name, "/") {
		return "", fault.New(fault.InvalidPath, "a name in a folder must not be empty or contain a slash").
			With("argument", arg)
	}
	path, err := vault.NewPath(folder.Folder + name)
	if err != nil {
		return "", fault.Of(err).With("argument", arg)
	}
	if other, taken := e.Folded(path); taken {
		return "", duplicate(vault.Path(other).ID(), arg)
	}
	if e.folderAt(path.ID() + "/") {
		return "", duplicate(path.ID()+"/", arg)
	}
	return path, nil
}

// folderAt reports whether a folder exists at a path. Case is ignored. The exact name is a lookup;
// only if it fails are the folders beside it compared.
func (e *edit) folderAt(path string) bool {
	if _, ok := e.tree.Find(path); ok {
		return true
	}
	above, _ := e.tree.Parent(tree.Node{Folder: path})
	return slices.ContainsFunc(e.tree.Children(above), func(n tree.Node) bool {
		return n.Kind() == tree.Folder && vault.Fold(n.Folder) == vault.Fold(path)
	})
}

// duplicate returns the DUPLICATE_ID fault for a name that the node id has already.
func duplicate(id, arg string) *fault.Fault {
	return fault.New(fault.DuplicateID, "there is a node with that name already").With("id", id).
		With("argument", arg).With("reason", "already_exists").Fix("choose another name").
		Try("tree_get_node", fault.Args{"nodeId": id})
}

// note returns the text of the new note: frontmatter, title and body.
//
// The title is the first heading of level 1. The text is parsed again to check that the heading is
// the title of the note, since a body with a heading of level 1 would change that.
func (c child) note() ([]byte, error) {
	body := "# " + oneLine(c.title) + "\n"
	if text := strings.Trim(c.text, "\r\n"); text != "" {
		body += "\n" + withLineBreaks(text, "\n") + "\n"
	}
	fields := append([]markdown.Field{{Key: "type", Value: c.typ.Name}}, c.fields...)
	text, err := markdown.Compose(fields, mutation.SeparateBody(body))
	if err != nil {
		return nil, unwritable(err, typeMismatch)
	}
	d := markdown.Parse(text)
	if len(d.Headings) == 0 || !d.Headings[0].Title {
		return nil, invalidParameter("body_escapes_section",
			"the body of a note must not have a heading of level 1, which is its title").
			With("property", "body")
	}
	return text, c.plain(d.Headings[0])
}

// plain returns a fault if the text of the heading h differs from the title, because the title
// contains markup. Markup in a title would make its text differ from the one that the caller gave,
// and later calls by title would not find it.
func (c child) plain(h markdown.Heading) error {
	if h.Text != oneLine(c.title) {
		return invalidParameter(typeMismatch, "a title must be plain text without markup").With("property", "title")
	}
	return nil
}

// folder returns the text of the new folder's own file. The title is a field of its frontmatter,
// because a folder has no heading.
func (c child) folder() ([]byte, error) {
	body := ""
	if text := strings.Trim(c.text, "\r\n"); text != "" {
		body = mutation.SeparateBody(withLineBreaks(text, "\n") + "\n")
	}
	text, err := markdown.Compose(append([]markdown.Field{{Key: "title", Value: c.title}}, c.fields...), body)
	return text, unwritable(err, typeMismatch)
}

// toNote drafts a new section of a note. It returns the path of the note and the line of the
// heading.
//
// The level of the heading follows from the parent and its existing children. The identities of the
// other sections of the note are passed to the log together with the new text. The line is that in
// the drafted text, from which the caller gets the address of the section when all is staged.
func (in addChildIn) toNote(ctx context.Context, e *edit, parent tree.Node) (path string, line int, _ error) {
	typ, err := in.typeOf(e, vault.Page, vault.Daily, string(tree.Folder), string(tree.Vault))
	if err != nil {
		return "", 0, err
	}
	if in.FileName != "" {
		return "", 0, invalidParameter(kindMismatch, "a section has no file name").With("argument", "fileName")
	}
	c, err := in.child(e, typ)
	if err != nil {
		return "", 0, err
	}
	text, err := e.noteText(ctx, parent)
	if err != nil {
		return "", 0, err
	}
	d, at := markdown.Parse(text), -1
	if in.Position != nil {
		if at = *in.Position; at > len(d.Siblings(parent.Section)) {
			return "", 0, badPosition(len(d.Siblings(parent.Section)))
		}
	}
	s, err := c.section(d.LevelBelow(parent.Section))
	if err != nil {
		return "", 0, unplaceable(err, parent)
	}
	r, err := d.PlaceSections(parent.Section, at, &s)
	if err != nil {
		return "", 0, unplaceable(err, parent)
	}
	err = e.putReordered(ctx, parent.Note, marksOf(parent.Note), text, r, &insertion{Subtree: s})
	return parent.Note.Path, newLine(r), err
}

// badPosition returns the fault for a position after the last child.
func badPosition(count int) error {
	return invalidParameter("position", "position must be from 0 to %d here", count).With("argument", "position").
		With("max", count)
}

// section returns the new section with a heading of the given level. It returns a fault if the body
// contains headings or the level is too deep.
//
// The heading is at the beginning of the text, followed by the declaration of the type, if it has
// one, and the body.
func (c child) section(level int) (markdown.Subtree, error) {
	if !c.nested && hasHeading(c.text, 0) {
		return markdown.Subtree{}, invalidParameter("body_escapes_section",
			"a body must not have headings: they would be nodes").
			With("property", "body").Fix("set the property content, whose headings become children")
	}
	if err := tooDeep(level); err != nil {
		return markdown.Subtree{}, err
	}
	text, err := sectionHead(level, c.title, c.typ, c.fields)
	if err != nil {
		return markdown.Subtree{}, err
	}
	if body := strings.Trim(c.text, "\r\n"); body != "" {
		text = append(text, "\n"+withLineBreaks(body, "\n")+"\n"...)
	}
	return markdown.NewSubtree(text)
}

// tooDeep returns a fault if a heading cannot have the level, or nil.
func tooDeep(level int) error {
	if level <= 6 {
		return nil
	}
	return invalidParameter("heading_depth_exceeded", "the heading would have level %d; the deepest is 6", level)
}

// sectionHead returns the heading of a new section, with the declaration of its type and fields.
//
// It parses the result to check that the title stands as plain text in one heading.
func sectionHead(level int, title string, typ *vault.Type, fields []markdown.Field) ([]byte, error) {
	title = oneLine(title)
	text := []byte(strings.Repeat("#", level) + " " + title + "\n")
	if typ.Name != vault.Section {
		text = append(text, "::"+typ.Name+"\n"...)
	}
	d := markdown.Parse(text)
	if len(d.Headings) != 1 || d.Headings[0].Text != title {
		return nil, invalidParameter(typeMismatch, "a title must be plain text without markup, and not empty").
			With("property", "title")
	}
	text, err := markdown.SetArguments(text, d.Headings[0].Slug, fields)
	return text, unwritable(err, typeMismatch)
}

package tree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A mergeNode is a node of the JSON that is merged. Names of members ignore case. A missing member
// changes nothing.
//
// The exported members are parsed; the others are set by the merge: match and matched by matchAll,
// status and path while the texts are changed, and final with the children of a note or section. A
// pointer that is nil means that the JSON does not have the member, which differs from an empty
// one: an empty list of children removes all children with the strategy replace, and no list leaves
// them alone.
type mergeNode struct {
	NodeID      string         `json:"nodeId"`
	UID         string         `json:"uid"`
	Kind        tree.Kind      `json:"kind"`
	PayloadType string         `json:"payloadType"`
	Title       *string        `json:"title"`
	Tags        *[]string      `json:"tags"`
	Payload     map[string]any `json:"payload"`
	Body        *string        `json:"body"`
	Children    *[]*mergeNode  `json:"children"`

	parent  *mergeNode // nil for the node above the root
	match   tree.Node  // node of the vault, if matched is set
	matched bool
	status  string       // created, updated, replaced, skipped or unchanged
	path    string       // path of the file of a new note or folder
	final   []*mergeNode // children after the merge, in order; nil: not in the JSON
}

// The limits of a merge.
const (
	maxMerged      = 10_000 // nodes
	maxMergedDepth = 256    // levels
)

// readMerge parses the JSON of a merge: the output of export_subtree, as an object or as a string
// that contains it.
//
// The JSON can have up to three wrappings: the root with its version, the answer of the tool and
// the envelope. The error is INVALID_PARAMETER about the argument json.
func readMerge(data tool.JSON) (*mergeNode, error) {
	raw := json.RawMessage(data)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	for range 3 { // an answer of export_subtree wraps the JSON in members
		var wrapped struct{ Node, JSON, Data json.RawMessage }
		if json.Unmarshal(raw, &wrapped) != nil {
			break
		}
		for _, inner := range []json.RawMessage{wrapped.Node, wrapped.JSON, wrapped.Data} {
			if inner != nil {
				raw = inner
				break
			}
		}
	}
	var root *mergeNode
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&root); err != nil || root == nil {
		return nil, badMerge("json", "json is not a node in the format of export_subtree")
	}
	count := 0
	return root, root.check(0, &count)
}

// badMerge returns an INVALID_PARAMETER fault about json.
func badMerge(reason, format string, args ...any) *fault.Fault {
	return invalidParameter(reason, format, args...).With("argument", "json").Fix("give the output of export_subtree")
}

// check validates a node and its descendants, and sets their kinds from their addresses. It returns
// BATCH_TOO_LARGE beyond the limits.
//
// The kind follows from the form of the address. Only if nodeId is a uid is the member kind used. A
// root of kind vault is valid.
func (n *mergeNode) check(depth int, count *int) error {
	*count++
	if *count > maxMerged || depth > maxMergedDepth {
		return fault.New(fault.BatchTooLarge, "json has more than %d nodes or %d levels", maxMerged, maxMergedDepth).
			With("argument", "json").With("max", maxMerged).Fix("merge a smaller subtree")
	}
	if n.NodeID == "" {
		return badMerge("missing_node_id", "a node of json has no nodeId")
	}
	kind := kindOf(n.NodeID)
	// A uid does not say of which kind its node is.
	if _, isUID := index.ParseUID(n.NodeID); isUID && n.Kind != "" {
		kind = n.Kind
	}
	if n.Kind != "" && n.Kind != kind {
		return badMerge(kindMismatch, "the address of a node of json does not match its kind").With("nodeId", n.NodeID)
	}
	n.Kind = kind
	if n.Children == nil {
		return nil
	}
	for _, child := range *n.Children {
		if child == nil {
			return badMerge("json", "a node of json is null")
		}
		child.parent = n
		if err := child.check(depth+1, count); err != nil {
			return err
		}
		if !mayContain(n.Kind, child.Kind) {
			return badMerge(kindMismatch, "a node of json cannot be below the one above it").
				With("nodeId", child.NodeID)
		}
	}
	return nil
}

// kindOf returns the kind of the node at an address.
func kindOf(id string) tree.Kind {
	switch {
	case id == "/":
		return tree.Vault
	case strings.Contains(id, "#"):
		return tree.Section
	case strings.HasSuffix(id, "/"):
		return tree.Folder
	}
	return tree.Note
}

// mayContain reports whether a node of the kind below can be a child of a node of the kind above:
// folders and notes below the vault and folders, sections below notes and sections.
func mayContain(above, below tree.Kind) bool {
	inFolder := above == tree.Vault || above == tree.Folder
	return inFolder && (below == tree.Folder || below == tree.Note) || !inFolder && below == tree.Section
}

// each calls do with a node and all its descendants. It stops at the first error and returns it.
func (n *mergeNode) each(do func(*mergeNode) error) error {
	if err := do(n); err != nil {
		return err
	}
	for _, child := range n.children() {
		if err := child.each(do); err != nil {
			return err
		}
	}
	return nil
}

// children returns the children in the JSON, or nil.
func (n *mergeNode) children() []*mergeNode {
	if n.Children == nil {
		return nil
	}
	return *n.Children
}

// key returns the last part of the address: `#goals`, `website`, or `archive/`.
func (n *mergeNode) key() string {
	if _, slug, is := strings.Cut(n.NodeID, "#"); is {
		return "#" + slug
	}
	id := strings.TrimSuffix(strings.TrimSuffix(n.NodeID, "/"), ".md")
	id = id[strings.LastIndexByte(id, '/')+1:]
	if n.Kind == tree.Folder {
		return id + "/"
	}
	return id
}

// A mergedFile is a file of the vault that a merge changes.
//
// nodes are the identities of the nodes in text, in its order; they follow each change of the
// structure. A new file has none, so the index assigns them.
type mergedFile struct {
	was, text []byte      // the text before and after the merge; was is nil for a new file
	nodes     []index.UID // nil: the file is not an existing note

	sections []*sectionPatch // not applied yet
	patched  []*mergeNode    // the nodes of sections
}

// file returns the file of an existing node. Each file is read once. Several nodes of one file
// share the mergedFile, so each sees the changes of those before it.
func (m *merger) file(ctx context.Context, n tree.Node) (*mergedFile, error) {
	path := fileOf(n)
	if f, ok := m.files[path]; ok {
		return f, nil
	}
	text, _, err := m.Text(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &mergedFile{was: text, text: text}
	if n.Note != nil {
		f.nodes = n.Note.NodeIDs()
	}
	m.files[path], m.order = f, append(m.order, path)
	return f, nil
}

// patchAll sets the properties of the matched nodes from the JSON.
//
// Texts are compared with those before the merge, of which known reads one file at a time.
func (m *merger) patchAll(ctx context.Context, root *mergeNode) error {
	known := texts{read: func(ctx context.Context, n tree.Node) ([]byte, error) {
		text, _, err := m.Text(ctx, fileOf(n))
		return text, err
	}}
	err := root.each(func(g *mergeNode) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !g.matched || g.match.Kind() != g.Kind:
			return nil
		case m.in.Strategy == bySkip:
			g.status = "skipped"
			return nil
		}
		own, _, err := known.load(ctx, g.match)
		if err != nil {
			return err
		}
		return m.patchOne(ctx, g, string(own))
	})
	if err != nil {
		return err
	}
	for _, path := range m.order {
		if err := m.patchSections(ctx, m.files[path]); err != nil {
			return err
		}
	}
	return nil
}

// patchSections applies the patches of the sections of a file, together and in the order of the
// text. A property that cannot be set is a problem of its section; if a new text would change the
// sections around it, that is a problem, and the file stays as it is.
func (m *merger) patchSections(ctx context.Context, f *mergedFile) error {
	if len(f.sections) == 0 {
		return nil
	}
	nodes := map[*sectionPatch]*mergeNode{}
	for i, s := range f.sections {
		nodes[s] = f.patched[i]
	}
	slices.SortFunc(f.sections, func(a, b *sectionPatch) int { return a.node.Section - b.node.Section })
	text, broken, err := patchSections(ctx, m.tree, f.text, f.sections)
	if err != nil {
		return err
	}
	if broken != nil {
		m.problem(nodes[broken], invalidParameter("malformed_markdown",
			"the text would change the structure around it; close its fences"))
		return nil
	}
	for _, s := range f.sections {
		for _, failed := range s.faults {
			m.problem(nodes[s], failed)
		}
		if !bytes.Equal(s.text, f.text[s.span.Start:s.span.End]) {
			m.changed(nodes[s])
		}
	}
	f.text = text
	return nil
}

// changed sets the result of a node whose properties changed: replaced with that strategy, and
// updated otherwise.
func (m *merger) changed(g *mergeNode) {
	if g.status = "updated"; m.in.Strategy == byReplace {
		g.status = "replaced"
	}
}

// patchOne sets the properties of one matched node. body is its current own text. The properties of
// sections are set later, all of a note together.
//
// Only properties that differ are set, so a merge of an unchanged export changes no byte. A
// property that cannot be set is a problem.
func (m *merger) patchOne(ctx context.Context, g *mergeNode, body string) error {
	g.status = "unchanged"
	values := m.values(g, body)
	for name := range values {
		if strings.EqualFold(bareName(name), "content") {
			m.problem(g, invalidParameter(internalProperty,
				"the content of a node is its body and its children").With("property", name))
			return nil
		}
	}
	typ, retyped := m.retype(g)
	if len(values) == 0 && !retyped {
		return nil
	}
	f, err := m.file(ctx, g.match)
	if err != nil {
		return err
	}
	p := newPatch(m.edit, values)
	p.typ = typ
	if g.match.Section > 0 {
		s := &sectionPatch{node: g.match, patch: p}
		if retyped {
			s.retype = typ.Name
		}
		f.sections, f.patched = append(f.sections, s), append(f.patched, g)
		return nil
	}
	before := f.text
	if retyped {
		text, err := setType(0, f.text, typ.Name)
		if err != nil {
			m.problem(g, err)
			return nil
		}
		f.text = text
	}
	done := p.apply(m.tree, g.match, f.text)
	for _, failed := range done.failed {
		m.problem(g, failed)
	}
	if f.text = done.text; !bytes.Equal(before, f.text) {
		m.changed(g)
	}
	return nil
}

// values returns the properties whose values in the JSON differ from those of the node. With the
// strategy replace, fields that the JSON omits are removed.
//
// A value of nil removes the property. The title of the vault's root is ignored, because it follows
// from the vault. An absent list of tags is left alone, except by the strategy replace, if the JSON
// has a payload.
func (m *merger) values(g *mergeNode, body string) map[string]any {
	t, n, values := m.tree, g.match, map[string]any{}
	if g.Title != nil && *g.Title != t.Name(n) && n.Kind() != tree.Vault {
		values["title"] = *g.Title
	}
	if g.Body != nil && trimmedText(*g.Body) != trimmedText(body) {
		values["body"] = *g.Body
	}
	if g.Tags != nil && !slices.Equal(*g.Tags, t.Tags(n)) {
		values["tags"] = nil
		if len(*g.Tags) > 0 {
			values["tags"] = anyOf(*g.Tags)
		}
	} else if g.Tags == nil && m.in.Strategy == byReplace && g.Payload != nil && len(t.Tags(n)) > 0 {
		values["tags"] = nil
	}
	if g.Payload == nil {
		return values
	}
	has := valuesOf(t.OwnPayload(n))
	for name, v := range g.Payload {
		if now, ok := has[name]; !ok && v != nil || ok && !sameValue(now, v) {
			values[name] = v
		}
	}
	if m.in.Strategy == byReplace {
		for name := range has {
			if _, listed := g.Payload[name]; !listed {
				values[name] = nil
			}
		}
	}
	return values
}

// trimmedText returns a text with line feeds only, and none at its beginning and end.
func trimmedText(text string) string { return strings.Trim(withLineBreaks(text, "\n"), "\n") }

// anyOf returns a list of texts as the value of a field.
func anyOf(tags []string) []any {
	all := make([]any, len(tags))
	for i, tag := range tags {
		all[i] = tag
	}
	return all
}

// valuesOf returns the values of properties by name.
func valuesOf(all []tree.Property) map[string]any {
	values := map[string]any{}
	for _, p := range all {
		values[p.Name] = p.Value
	}
	return values
}

// sameValue reports whether a value equals the one in the JSON. Both are compared in the form of
// JSON, in which numbers and dates have one form.
func sameValue(now, given any) bool {
	data, err := tool.Marshal(tree.AnswerValue(now))
	var read any
	return err == nil && json.Unmarshal(data, &read) == nil && reflect.DeepEqual(read, given)
}

// retype returns the new type of a node, and whether its type changes. Only the strategy replace
// changes types; otherwise a different type is a problem.
func (m *merger) retype(g *mergeNode) (typ *vault.Type, retyped bool) {
	if g.PayloadType == "" || g.PayloadType == m.tree.Type(g.match) {
		return nil, false
	}
	if m.in.Strategy != byReplace {
		m.problem(g, invalidParameter(kindMismatch,
			"the node has another type, which only the strategy replace changes"))
		return nil, false
	}
	if typ = m.typeNamed(g); typ == nil {
		return nil, false
	}
	return typ, true
}

// typeNamed returns the type that the JSON names, or nil after it recorded a problem.
//
// Without a type in the JSON, a note or folder is a page and a section has the type section. A
// section cannot be a page, nor a note a section.
func (m *merger) typeNamed(g *mergeNode) *vault.Type {
	name := g.PayloadType
	if name == "" || g.Kind == tree.Folder && name == string(tree.Folder) {
		name = map[tree.Kind]string{tree.Section: vault.Section}[g.Kind]
		name = cmp.Or(name, vault.Page)
	}
	typ, ok := m.tree.Index.Schema().Type(name)
	if !ok || (name == vault.Section) != (g.Kind == tree.Section) && (name == vault.Section || name == vault.Page) {
		f := invalidParameter("unknown_payload_type", "the type does not exist, or a node of this kind cannot have it").
			With("available_types", vault.Offered(m.tree.Index.Schema().TypeNames()))
		m.problem(g, f)
		return nil
	}
	return typ
}

// setType returns the text of a file in which the section at a position has another type; 0: the
// note or the folder. A section without a declaration gets one, in the line after its heading, with
// the line break of the file.
func setType(section int, text []byte, typ string) ([]byte, error) {
	if section == 0 {
		out, err := markdown.SetType(text, typ)
		return out, unwritable(err, "frontmatter_invalid")
	}
	d := markdown.Parse(text)
	at := d.HeadingAt(section)
	if at >= 0 && d.Headings[at].Declaration == nil {
		h, eol := d.Headings[at], lineBreak(text)
		line := "::" + typ + eol
		if at := h.Content; at > 0 && text[at-1] != '\n' {
			line = eol + line
		}
		out := slices.Concat(text[:h.Content], []byte(line), text[h.Content:])
		return out, nil
	}
	out, err := markdown.SetDeclaredTypeAt(text, at, typ)
	return out, unwritable(err, typeMismatch)
}

// checkFields returns the fields of a new node, checked by its type. After it recorded a problem it
// returns nil; callers compare the number of problems, because a node can also have no fields.
//
// The checks are those of tree_add_child. Members that are null count as absent.
func (m *merger) checkFields(g *mergeNode, typ *vault.Type) []markdown.Field {
	given := mutation.TypedFields(tool.Fields(maps.Clone(g.Payload)))
	maps.DeleteFunc(given, func(_ string, v any) bool { return v == nil })
	for name := range given {
		lower := strings.ToLower(name)
		if slices.Contains(internal, lower) || lower == "id" && g.Kind == tree.Section ||
			lower == "order" && g.Kind == tree.Folder {
			m.problem(g, invalidParameter(internalProperty,
				"the property is internal and cannot be set").With("property", name))
			return nil
		}
	}
	if g.Tags != nil && len(*g.Tags) > 0 {
		given["tags"] = anyOf(*g.Tags)
	}
	if name := typ.NameField(); name != "" && given[name] == nil && g.Title != nil && typ.Name != vault.Section {
		given[name] = *g.Title
	}
	checked := typ.Check(given, state.Clock(m.tree.Index, m.Now()))
	var problems []*fault.Fault
	problems = append(problems, checked.Problems...)
	problems = append(problems, mutation.WrongTargets(m.tree.Index, typ, checked.Fields)...)
	problems = append(problems, typ.Missing(given)...)
	declares := len(typ.Fields)+len(typ.Traits) > 0 && typ.Name != vault.Page && typ.Name != vault.Section
	unknown := slices.DeleteFunc(checked.Unknown, func(name string) bool { return name == "tags" })
	switch {
	case len(problems) > 0:
		m.problem(g, unwritable(problems[0], typeMismatch))
		return nil
	case len(unknown) > 0 && declares:
		m.problem(g, invalidParameter(unknownField,
			"the type %s declares no such field", typ.Name).With("property", unknown[0]))
		return nil
	}
	return mutation.SortedFields(mutation.ByIDs(m.tree.Index, typ, checked.Fields))
}

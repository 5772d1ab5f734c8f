package tree

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The results for one property of a patch.
const (
	updated   = "updated"
	unchanged = "unchanged"

	// A property that cannot be set has the reason of its fault as the result.
	internalProperty = "internal_property"
	unknownField     = "unknown_field"
	typeMismatch     = "type_mismatch"
	requiredField    = "required"
)

// internal are the properties that no tool can set, in lower case.
var internal = []string{
	"nodeid", "uid", "parent", "children", "payloadtype", "kind",
	"path", "depth", "level", "childrencount", "isexpanded",
	"version", "createdat", "updatedat", "type", "bodybytes", "reference", "ancestors", "payload",
}

// A patch sets properties of nodes. It treats all nodes alike.
//
// A patch is made once for a call and applied to one or more nodes. Names of properties are
// accepted in any case and with the prefix payload. It does not stage anything: it changes texts.
// Values are checked by the type that each node has in the state before the call, or by typ.
type patch struct {
	index  *index.Index
	clock  vault.Clock
	values map[string]any // as the schema reads them; nil removes a field
	typ    *vault.Type    // type that the nodes get at the same time; nil: unchanged

	// alone is set if the text contains only one section, as its first; see piece.alone.
	alone bool
}

// section returns the position of the section of a node in the text that is patched; 0: the node is
// a note or a folder.
func (p patch) section(n tree.Node) int {
	if p.alone {
		return 1
	}
	return n.Section
}

// newPatch returns a patch with the values that a call gives.
func newPatch(e *edit, values map[string]any) patch {
	return patch{index: e.tree.Index, clock: state.Clock(e.tree.Index, e.Now()), values: mutation.TypedFields(values)}
}

// hasContent reports whether the patch sets the content of nodes, and with it their descendants.
func (p patch) hasContent() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(p.values)), func(name string) bool {
		return strings.EqualFold(bareName(name), "content")
	})
}

// A patchResult is the result of a patch of one node.
//
// The text has all properties that could be set; a caller that wants all or none discards it if
// failed is not empty.
type patchResult struct {
	text    []byte            // the text of the file after the patch
	results map[string]string // by name as in the call
	failed  []*fault.Fault    // faults of the properties that were not set
}

// isUpdated reports whether any property was changed.
func (p patchResult) isUpdated() bool {
	return slices.Contains(slices.Collect(maps.Values(p.results)), updated)
}

// apply sets the properties of a node in the text of its file: first fields, then texts, then the
// title. The text can be a draft; a section is located in it by its position.
//
// Each property is set in the result of those before it, and one that fails leaves the text
// unchanged. The order matters within a file: a title can add or remove the heading by which
// sections are counted, and a content replaces the sections below the node.
func (p patch) apply(t *tree.Tree, n tree.Node, text []byte) patchResult {
	out := patchResult{text: text, results: map[string]string{}}
	names := slices.Sorted(maps.Keys(p.values))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(patchRank(a), patchRank(b)) })
	for _, name := range names {
		now, err := p.set(t, n, out.text, name)
		switch {
		case err != nil:
			f := fault.Of(err).With("property", name)
			out.failed = append(out.failed, f)
			out.results[name], _ = f.Details["reason"].(string)
		case bytes.Equal(now, out.text):
			out.results[name] = unchanged
		default:
			out.text, out.results[name] = now, updated
		}
	}
	return out
}

// bareName returns the name of a property without the prefix `payload.`, in any case.
func bareName(name string) string {
	if len(name) > len("payload.") && strings.EqualFold(name[:len("payload.")], "payload.") {
		return name[len("payload."):]
	}
	return name
}

// patchRank returns the rank in which a property is set: those that can move sections are last.
func patchRank(name string) int {
	switch strings.ToLower(bareName(name)) {
	case "body":
		return 1
	case "content":
		return 2
	case "title", "name":
		return 3
	}
	return 0
}

// set returns the text with one property set.
//
// Properties that are derived are refused. Of a section also the id is, which is part of its
// address, and of a folder the order, which the tools that move nodes maintain.
func (p patch) set(t *tree.Tree, n tree.Node, text []byte, given string) ([]byte, error) {
	name, v := bareName(given), p.values[given]
	lower := strings.ToLower(name)
	switch {
	case slices.Contains(internal, lower), lower == "id" && n.Section > 0, lower == "order" && n.Note == nil:
		return nil, invalidParameter(internalProperty, "the property is internal and cannot be set").
			With("internal", internal)
	case lower == "title" || lower == "name":
		return p.setTitle(t, n, text, v)
	case lower == "body" || lower == "content":
		return p.setText(n, text, lower, v)
	}
	return p.setField(t, n, text, name, v)
}

// setText returns the text with a new body or content. nil is the empty text. It returns a fault
// for a value that is not a text.
func (p patch) setText(n tree.Node, text []byte, name string, v any) ([]byte, error) {
	if v == nil {
		v = ""
	}
	s, ok := v.(string)
	if typed, is := v.(vault.Text); is {
		s, ok = string(typed), true
	}
	if !ok {
		return nil, invalidParameter(typeMismatch, "the %s must be a string", name)
	}
	if name == "body" {
		return setBody(text, p.section(n), s)
	}
	return setContent(text, p.section(n), s)
}

// typeOf returns the type of a node. A type that is not in the schema, as that of a folder without
// a type, counts as page and declares no fields.
func (p patch) typeOf(t *tree.Tree, n tree.Node) *vault.Type {
	if p.typ != nil {
		return p.typ
	}
	if typ, ok := p.index.Schema().Type(t.Type(n)); ok {
		return typ
	}
	page, _ := p.index.Schema().Type(vault.Page)
	return page
}

// setField returns the text with a field set, or removed if v is nil. It returns a fault for a
// value that the type does not allow.
//
// A value is checked as the type declares it; a type that declares fields accepts no others.
// References become full ids.
func (p patch) setField(t *tree.Tree, n tree.Node, text []byte, name string, v any) ([]byte, error) {
	typ := p.typeOf(t, n)
	name = spelled(t, n, typ, name)
	if v == nil {
		if f, ok := typ.Field(name); ok && f.Required && !f.HasDefault {
			return nil, invalidParameter(requiredField, "the type %s requires the field", typ.Name).With("field", name)
		}
		return unset(p.section(n), text, name)
	}
	checked := typ.Check(map[string]any{name: v}, p.clock)
	problems := slices.Concat(checked.Problems, mutation.WrongTargets(p.index, typ, checked.Fields))
	declares := len(typ.Fields)+len(typ.Traits) > 0 && typ.Name != vault.Page && typ.Name != vault.Section
	switch {
	case len(problems) > 0:
		return nil, unwritable(problems[0], typeMismatch)
	case len(checked.Unknown) > 0 && declares && name != "tags" && name != "title":
		return nil, invalidParameter(unknownField, "the type %s declares no such field", typ.Name).
			With("available", typ.FieldNames())
	}
	fields := mutation.ByIDs(p.index, typ, checked.Fields)
	return setFields(p.section(n), text, mutation.SortedFields(fields))
}

// spelled returns the name of a field in the spelling of the node or, if it has no such field, of
// its type. Case is ignored. YAML keys are case-sensitive, so a second spelling would be a second
// field.
func spelled(t *tree.Tree, n tree.Node, typ *vault.Type, name string) string {
	fields := t.Fields(n)
	if slices.ContainsFunc(fields, func(f index.Field) bool { return f.Name == name }) {
		return name
	}
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Name
		}
	}
	for _, known := range append(typ.FieldNames(), typ.TraitNames()...) {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}

// setFields returns the text with fields set: in the declaration of a section, or else in the
// frontmatter.
func setFields(section int, text []byte, fields []markdown.Field) ([]byte, error) {
	if section > 0 {
		out, err := markdown.SetArgumentsAt(text, headingAt(text, section), fields)
		return out, unwritable(err, "malformed_markdown")
	}
	out, err := markdown.SetFields(text, fields)
	return out, unwritable(err, "frontmatter_invalid")
}

// unset returns the text without a field.
func unset(section int, text []byte, name string) ([]byte, error) {
	if section > 0 {
		out, err := markdown.UnsetArgumentsAt(text, headingAt(text, section), []string{name})
		return out, unwritable(err, "malformed_markdown")
	}
	out, err := markdown.UnsetFields(text, []string{name})
	return out, unwritable(err, "frontmatter_invalid")
}

// headingAt returns the index of the heading of the section at a position in a text, from 1, or -1
// if there is none. Sections are found by position and never by slug, because declarations can
// repeat an id.
func headingAt(text []byte, section int) int { return markdown.Parse(text).HeadingAt(section) }

// setTitle returns the text with a new title. It sets the heading of a section, every field and
// heading that has the title of a note, and the field of a folder.
//
// Wherever the title is written now it is replaced, so that the places do not contradict each
// other.
func (p patch) setTitle(t *tree.Tree, n tree.Node, text []byte, v any) ([]byte, error) {
	title, ok := v.(string)
	if typed, is := v.(vault.Text); is {
		title, ok = string(typed), true
	}
	title = strings.TrimSpace(title)
	if !ok || title == "" || strings.ContainsAny(title, "\r\n") {
		return nil, invalidParameter(typeMismatch, "a title must be one line of text, and not empty")
	}
	if n.Section > 0 {
		return setHeading(text, headingAt(text, p.section(n)), title)
	}
	fields, heading := titleIn(t, n, p.typeOf(t, n), text)
	var err error
	if heading >= 0 {
		if text, err = setHeading(text, heading, title); err != nil {
			return nil, err
		}
	}
	for _, name := range fields {
		if text, err = p.setField(t, n, text, name, title); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// titleIn returns where the title of a note or folder is written: the fields, and the index of the
// heading, -1 for none. If it is nowhere, it returns the name field of the type, or title.
func titleIn(t *tree.Tree, n tree.Node, typ *vault.Type, text []byte) (fields []string, heading int) {
	heading = -1
	for _, name := range []string{typ.NameField(), "title"} {
		has := slices.ContainsFunc(t.Fields(n), func(f index.Field) bool { return f.Name == name })
		if has && !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	for i, h := range markdown.Parse(text).Headings {
		if h.Title {
			heading = i
		}
	}
	if len(fields) == 0 && heading < 0 {
		return []string{cmp.Or(typ.NameField(), "title")}, heading
	}
	return fields, heading
}

// setHeading returns the text with a new title in the heading at an index.
func setHeading(text []byte, heading int, title string) ([]byte, error) {
	out, err := markdown.SetHeadingAt(text, heading, title)
	return out, unwritable(err, typeMismatch)
}

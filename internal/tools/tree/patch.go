package tree

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
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
		has := slices.ContainsFunc(t.Fields(n), func(f index.Field) bool {
			return f.Name == name || name == "title" && strings.EqualFold(f.Name, name)
		})
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

// A sectionPatch is a patch of one section of a note. It must not set the content of the section.
type sectionPatch struct {
	node   tree.Node
	retype string // the type that the section gets first; empty: unchanged
	patch  patch

	span   markdown.Span  // of the section without the sections below it, in the text of the note
	text   []byte         // the new text of the span
	faults []*fault.Fault // of the properties that cannot be set
}

// patchSections returns the text of a note with patches of its sections, in the order of the note.
// It patches each section in a text of its own, so the time is linear in the length of the note,
// whatever the number of patches. If the patches together would change other sections, it returns
// the first one that does in broken, and no text.
func patchSections(
	ctx context.Context, t *tree.Tree, text []byte, all []*sectionPatch,
) (out []byte, broken *sectionPatch, err error) {
	d := markdown.Parse(text)
	pieces := piecesOf(d, len(text))
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if n := s.node.Section; n >= len(pieces) || pieces[n].line == 0 {
			return nil, s, nil // the text is too large to be parsed completely
		}
		s.apply(t, text, pieces[s.node.Section])
	}
	out = spliced(text, all)
	if sameSections(d, markdown.Parse(out), all) {
		return out, nil, nil
	}
	first := sort.Search(len(all), func(i int) bool {
		some := all[:i+1]
		return ctx.Err() == nil && !sameSections(d, markdown.Parse(spliced(text, some)), some)
	})
	return nil, all[min(first, len(all)-1)], ctx.Err()
}

// A piece is the place of a section in the text of its note.
type piece struct {
	own  markdown.Span // the heading and the text of the section, without the sections below it
	next markdown.Span // the heading after it; empty at the end of the note
	line int           // of its heading
}

// piecesOf returns the places of the sections that are nodes, by their positions from 1. size is
// the length of the text.
func piecesOf(d *markdown.Doc, size int) []piece {
	all, last, position := make([]piece, len(d.Headings)+1), 0, 0
	for _, h := range d.Headings {
		if h.Title {
			continue
		}
		if position++; !tree.IsTop(h) {
			continue
		}
		start := max(h.Own.Start, d.Body) // a byte order mark stays
		if last > 0 {
			all[last].own.End = start
			all[last].next = markdown.Span{Start: start, End: min(h.Content, size)}
		}
		all[position], last = piece{own: markdown.Span{Start: start, End: size}, line: h.Line}, position
	}
	return all
}

// alone returns the section as the first one of a text. The paragraph before it keeps its heading
// from being a title; the heading after it shows whether a patch leaves a block open.
func (p piece) alone(text []byte) (before, section, after []byte) {
	eol := lineBreak(text)
	return []byte("x" + eol + eol), text[p.own.Start:p.own.End], text[p.next.Start:p.next.End]
}

// linesBefore is the number of lines of the first part of piece.alone.
const linesBefore = 2

// apply sets the properties in the section's own text, and sets span, text and faults. If the patch
// would change the lines around the section, the text stays as it is and that is a fault.
func (s *sectionPatch) apply(t *tree.Tree, text []byte, at piece) {
	before, section, after := at.alone(text)
	s.span, s.text = at.own, section
	whole := slices.Concat(before, section, after)
	now := whole
	if s.retype != "" {
		typed, err := setType(1, now, s.retype)
		if err != nil {
			s.faults = append(s.faults, at.placed(fault.Of(err)))
			return
		}
		now = typed
	}
	s.patch.alone = true
	done := s.patch.apply(t, s.node, now)
	for _, f := range done.failed {
		s.faults = append(s.faults, at.placed(f))
	}
	if now = done.text; bytes.HasPrefix(now, before) && bytes.HasSuffix(now[len(before):], after) {
		s.text = now[len(before) : len(now)-len(after)]
		return
	}
	s.faults = append(s.faults, invalidParameter("malformed_markdown", "the text would change the structure around it"))
}

// placed returns a fault with its line in the note.
func (p piece) placed(f *fault.Fault) *fault.Fault {
	if line, ok := f.Details["line"].(int); ok {
		return f.With("line", line-linesBefore-1+p.line)
	}
	return f
}

// spliced returns the text of a note with patched sections, in the order of the note.
func spliced(text []byte, all []*sectionPatch) []byte {
	out, at := make([]byte, 0, len(text)+len(text)/8), 0
	for _, s := range all {
		out = append(append(out, text[at:s.span.Start]...), s.text...)
		at = s.span.End
	}
	return append(out, text[at:]...)
}

// sameSections reports whether a note has the same sections as before. Patched ones can have
// another title and another declaration. The last section can have more headings that are not
// nodes. This is checked for the whole note in addition to each section, because patches together
// can have an effect that none of them has alone.
func sameSections(was, now *markdown.Doc, patched []*sectionPatch) bool {
	if len(now.Headings) < len(was.Headings) || was.Body != now.Body {
		return false
	}
	differs := map[int]bool{}
	for _, s := range patched {
		differs[s.node.Section] = true
	}
	position := 0
	for i, h := range was.Headings {
		o := now.Headings[i]
		if !h.Title {
			position++
		}
		if h.Level != o.Level || h.Title != o.Title || h.Top != o.Top {
			return false
		}
		if !differs[position] && (h.Text != o.Text || (h.Declaration == nil) != (o.Declaration == nil)) {
			return false
		}
	}
	return !slices.ContainsFunc(now.Headings[len(was.Headings):], tree.IsTop)
}

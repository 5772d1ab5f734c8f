package notes

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A noteArg is the part of the input of the tools that read one note: its vault and path.
type noteArg struct {
	tool.Vault
	// inbox/plan.md, with or without .md
	Path string `json:"path" complete:"path"`
}

// A getIn is the input of notes_get.
type getIn struct {
	noteArg
	// omit the frontmatter
	BodyOnly bool `json:"body_only,omitempty" rare:"true"`
	// omit the body
	FrontmatterOnly bool `json:"frontmatter_only,omitempty" rare:"true"`
	tool.AsOf
}

// A getOut is the answer of notes_get. A part that the call omits is absent, not empty.
type getOut struct {
	tool.Aside `json:"-"`
	Path       string `json:"path"`
	// the fields in the order of the text; {} without frontmatter
	Frontmatter tool.Object `json:"frontmatter,omitempty"`
	Body        *string     `json:"body,omitempty"`
}

// get returns the tool that returns one note.
func (f tools) get() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_get", Short: "get_note", Family: Family, Title: "Get a note",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/notes/{path}"},
		Commands: []tool.Command{{Words: "get-note", Args: []string{"path"}}},
	}, f.getNote)
}

// getNote returns the frontmatter and the body of a note, or only one of them.
func (f tools) getNote(ctx context.Context, c auth.Caller, in getIn) (getOut, error) {
	var out getOut
	if in.BodyOnly && in.FrontmatterOnly {
		return out, fault.New(fault.InvalidParameter, "body_only and frontmatter_only exclude each other").
			With("argument", "frontmatter_only").Fix("give one of them, or none")
	}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path = d.Path
	if !in.FrontmatterOnly {
		out.Body = &d.body
	}
	if !in.BodyOnly {
		out.Frontmatter, err = d.frontmatter()
	}
	return out, err
}

// A document is the text of a note, split into frontmatter and body as the specification reads it.
// It is not the parsed note of the index: a quarantined note has a document too.
type document struct {
	*index.Note
	head *markdown.Map // empty if there is no frontmatter or it is not a mapping
	body string        // without trailing space if there is frontmatter
}

// read reads and parses the text of a note.
func read(ctx context.Context, v state.View, n *index.Note) (document, error) {
	text, err := v.Vault.Text(ctx, n.Body)
	if err != nil {
		return document{}, err
	}
	return parse(n, text), nil
}

// parse splits a text into frontmatter and body. Only frontmatter that markdown.StrictHead accepts
// counts; without it, the body is the whole text. The body has no space at its end if there is
// frontmatter, as the specification has it.
func parse(n *index.Note, text []byte) document {
	head, at := markdown.StrictHead(text)
	body := string(text[at:])
	if at > 0 {
		body = strings.TrimRightFunc(body, markdown.IsSpace)
	}
	return document{n, head, body}
}

// bodyOf returns the same body as parse, without parsing the frontmatter. A search reads many
// bodies and no fields.
func bodyOf(text []byte) string {
	at := markdown.StrictBody(text)
	if at == 0 {
		return string(text)
	}
	return strings.TrimRightFunc(string(text[at:]), markdown.IsSpace)
}

// frontmatter returns the frontmatter as a JSON object, with the keys in their order in the text.
func (d document) frontmatter() (tool.Object, error) {
	data, err := d.head.MarshalJSON()
	return tool.Object(data), err
}

// The schema identifiers in answers about one note.
const (
	outlineSchema = "knowtation.note_outline/v1"
	treeSchema    = "knowtation.document_tree/v0"
	facetsSchema  = "knowtation.metadata_facets/v0"
)

// A noteIn is the input of the tools that take only a note and the state in which they read it.
type noteIn struct {
	noteArg
	tool.AsOf
}

// An outlineOut is the answer of notes_outline, in the form of the schema that it names.
type outlineOut struct {
	tool.Aside `json:"-"`
	Schema     string `json:"schema"`
	Path       string `json:"path"`
	// the field title, otherwise the file name as words
	Title *string `json:"title"`
	// the first 500
	Headings []heading `json:"headings"`
	// there are more than 500 headings
	Truncated bool `json:"truncated"`
}

// A heading is one heading of an outline.
type heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
	// h2-plan-0003: level, slug, number in the note
	ID string `json:"id"`
}

// outline returns the tool that lists the headings of a note.
func (f tools) outline() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_outline", Short: "get_note_outline", Family: Family, Title: "Outline a note",
		Role: auth.Reader, Kind: tool.Read, List: "headings",
		Route:    tool.Route{Method: "GET", Path: "/note-outline/{path}"},
		Commands: []tool.Command{{Words: "get-note-outline", Args: []string{"path"}}},
		Columns:  []string{"level", "text", "id"},
	}, f.outlineNote)
}

// outlineNote returns the headings of the note that the call names. The list is empty if the note
// has none.
func (f tools) outlineNote(ctx context.Context, c auth.Caller, in noteIn) (outlineOut, error) {
	out := outlineOut{Schema: outlineSchema, Headings: []heading{}}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path, out.Title = d.Path, d.title()
	all, truncated, err := d.outlined()
	for _, h := range all {
		out.Headings = append(out.Headings, heading{h.Level, h.Text, h.ID})
	}
	out.Truncated = truncated
	return out, err
}

// document reads the note that a call names, and adds the version of the vault to the answer. It
// returns INVALID_PATH or NOT_FOUND for the path.
func (f tools) document(
	ctx context.Context, c auth.Caller, in noteArg, at tool.AsOf, a *tool.Aside,
) (document, error) {
	clean, err := notePath("path", in.Path)
	if err != nil {
		return document{}, err
	}
	v, err := f.ViewAt(ctx, c, in.Vault.Vault, at)
	if err != nil {
		return document{}, err
	}
	n, err := noteAt(v.Index, clean)
	if err != nil {
		return document{}, err
	}
	a.Note("version", v.Version())
	return read(ctx, v, n)
}

// outlined returns the headings of the body, and whether the list is truncated. It returns
// NOTE_TOO_LARGE if the body is too long or its blocks are too many or too deeply nested, with the
// call that reads the note as a fix.
//
// The limits bound the time and the memory of the parse.
func (d document) outlined() (all []markdown.OutlineHeading, truncated bool, err error) {
	all, truncated, err = markdown.Outline([]byte(d.body))
	if errors.Is(err, markdown.ErrOutline) {
		return nil, false, fault.New(fault.NoteTooLarge, "the body of the note exceeds %d UTF-16 units",
			markdown.MaxOutline).With("argument", "path").Try("notes_get", fault.Args{"path": d.Path})
	}
	if errors.Is(err, markdown.ErrCrowded) {
		return nil, false, fault.New(fault.NoteTooLarge, "the note has too many blocks, or they nest too much").
			With("argument", "path").Try("notes_get", fault.Args{"path": d.Path})
	}
	return all, truncated, err
}

var (
	noteEnding = regexp.MustCompile(`(?i)\.(md|markdown)$`)
	wordBreaks = regexp.MustCompile(`[-_]+`)
)

// title returns the field title or, without it, the words of the file name: without its ending, and
// with spaces for dashes and underscores. It returns nil if both are empty.
func (d document) title() *string {
	if v, ok := d.head.Get("title"); ok && v != nil {
		if text := trim(markdown.TextOf(v)); text != "" {
			return &text
		}
	}
	name := noteEnding.ReplaceAllString(path.Base(d.Path), "")
	if name = trim(wordBreaks.ReplaceAllString(name, " ")); name == "" {
		return nil
	}
	return &name
}

// A treeOut is the answer of notes_document_tree, in the form of the schema that it names.
type treeOut struct {
	tool.Aside `json:"-"`
	Schema     string `json:"schema"`
	Path       string `json:"path"`
	// the field title, otherwise the file name as words
	Title *string  `json:"title"`
	Root  treeRoot `json:"root"`
	// there are more than 500 headings
	Truncated bool `json:"truncated"`
}

// A treeRoot is the note above its headings.
type treeRoot struct {
	Children []*HeadingNode `json:"children"`
}

// A HeadingNode is a heading, with the headings below it.
type HeadingNode struct {
	// as in the outline
	ID       string         `json:"id"`
	Level    int            `json:"level"`
	Text     string         `json:"text"`
	Children []*HeadingNode `json:"children"`
}

// tree returns the tool that returns the headings of a note as a tree.
func (f tools) tree() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_document_tree", Short: "get_document_tree", Family: Family,
		Title: "Get the tree of headings of a note", Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/document-tree/{path}"},
		Commands: []tool.Command{{Words: "get-document-tree", Args: []string{"path"}}},
	}, f.treeOfNote)
}

// treeOfNote returns the headings of a note as a tree.
func (f tools) treeOfNote(ctx context.Context, c auth.Caller, in noteIn) (treeOut, error) {
	out := treeOut{Schema: treeSchema, Root: treeRoot{[]*HeadingNode{}}}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path, out.Title = d.Path, d.title()
	all, truncated, err := d.outlined()
	out.Root.Children, out.Truncated = nested(all), truncated
	return out, err
}

// nested returns the headings as a tree. A heading is below the nearest earlier heading with a
// lower level, which can skip levels. It takes linear time.
//
// The root has the level 0, below that of every heading, so it is never removed from the path.
func nested(all []markdown.OutlineHeading) []*HeadingNode {
	root := &HeadingNode{Children: []*HeadingNode{}}
	open := []*HeadingNode{root} // the path to the last heading, from the root
	for _, h := range all {
		n := &HeadingNode{h.ID, h.Level, h.Text, []*HeadingNode{}}
		for open[len(open)-1].Level >= n.Level {
			open = open[:len(open)-1]
		}
		above := open[len(open)-1]
		above.Children = append(above.Children, n)
		open = append(open, n)
	}
	return root.Children
}

// The limits of facets.
const (
	maxFacetValues = 100 // values of one list
	maxFacetUnits  = 256 // UTF-16 code units of one value
)

// A facetsOut is the answer of notes_metadata_facets, in the form of the schema that it names.
type facetsOut struct {
	tool.Aside `json:"-"`
	Schema     string `json:"schema"`
	Path       string `json:"path"`
	// what the frontmatter says
	Facets facets `json:"facets"`
	// what the path says
	Inferred inferred `json:"inferred"`
	// a list has more than 100 values, or a value more than 256 characters
	Truncated bool `json:"truncated"`
}

// facets are the values in the frontmatter of a note that the specification defines. A missing
// value is null, and a missing list is empty.
//
// The names, and which fields are slugs, are those of the specification. Other fields of the
// frontmatter are not facets.
type facets struct {
	// a slug; without the field, that of the folder below projects
	Project *string `json:"project"`
	// slugs
	Tags    []string `json:"tags"`
	Date    *string  `json:"date"`
	Updated *string  `json:"updated"`
	// a slug
	ChainID *string `json:"causal_chain_id"`
	// slugs
	Entity []string `json:"entity"`
	// a slug
	EpisodeID *string `json:"episode_id"`
}

// inferred are the values that follow from the path of a note.
type inferred struct {
	// null at the root of the vault
	Folder *string `json:"folder"`
	// null in every answer
	SourceType *string `json:"source_type"`
}

// facets returns the tool that returns the facets of a note: the metadata in its frontmatter and
// path.
func (f tools) facets() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_metadata_facets", Short: "get_metadata_facets", Family: Family,
		Title: "Get the facets of a note", Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/metadata-facets/{path}"},
		Commands: []tool.Command{{Words: "get-metadata-facets", Args: []string{"path"}}},
	}, f.facetsOfNote)
}

// facetsOfNote returns the facets of the note that the call names.
func (f tools) facetsOfNote(ctx context.Context, c auth.Caller, in noteIn) (facetsOut, error) {
	out := facetsOut{Schema: facetsSchema}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path = d.Path
	out.Facets, out.Inferred, out.Truncated = facetsOf(d.head, d.Path)
	return out, nil
}

// facetsOf returns the facets of a note with this frontmatter at this path, and whether any value
// was truncated. Long values are cut off.
//
// SourceType is nil for every note.
func facetsOf(head *markdown.Map, at string) (facets, inferred, bool) {
	r := facetReader{head: head}
	all := facets{
		Project: r.project(at), Tags: r.slugs("tags"), Date: r.text("date"), Updated: r.text("updated"),
		ChainID: r.slug("causal_chain_id"), Entity: r.slugs("entity"), EpisodeID: r.slug("episode_id"),
	}
	var folder *string
	if dir := path.Dir(at); dir != "." {
		folder = textOrNil(r.cut(dir))
	}
	return all, inferred{Folder: folder}, r.truncated
}

// A facetReader reads facets, and records whether it truncated any.
type facetReader struct {
	head      *markdown.Map
	truncated bool
}

// cut returns a text, truncated to maxFacetUnits UTF-16 code units, the unit of length in
// JavaScript. It does not divide a character.
//
// The cut is made before a text becomes a slug, so that a field of any size costs a bounded time.
func (r *facetReader) cut(s string) string {
	units := 0
	for i, c := range s {
		if units += utf16.RuneLen(c); units > maxFacetUnits {
			r.truncated = true
			return s[:i]
		}
	}
	return s
}

// text returns a field as a text, or nil if the note does not have the field or it is empty.
func (r *facetReader) text(name string) *string {
	v, _ := r.head.Get(name)
	if v == nil {
		return nil
	}
	return textOrNil(r.cut(markdown.TextOf(v)))
}

// slug returns a field as a slug, or nil if it contains no character of a slug.
func (r *facetReader) slug(name string) *string {
	text := r.text(name)
	if text == nil {
		return nil
	}
	return textOrNil(markdown.PlainSlug(*text))
}

// project returns the slug of the project, or nil if there is none. A note without the field
// belongs to the project of its folder; one whose field is empty belongs to none.
func (r *facetReader) project(at string) *string {
	if v, _ := r.head.Get("project"); v != nil {
		return r.slug("project")
	}
	return textOrNil(markdown.PlainSlug(r.cut(index.ProjectFolder(at))))
}

// slugs returns the values of a field as slugs, without empty ones and with duplicates. The field
// is a list or a text with commas. Only the first maxFacetValues values are read. The result is
// never nil.
func (r *facetReader) slugs(name string) []string {
	v, _ := r.head.Get(name)
	values := markdown.TextsOf(v)
	if len(values) > maxFacetValues {
		r.truncated = true
		values = values[:maxFacetValues]
	}
	all := []string{}
	for _, value := range values {
		if slug := markdown.PlainSlug(r.cut(value)); slug != "" {
			all = append(all, slug)
		}
	}
	return all
}

// textOrNil returns a pointer to a text, or nil if it is empty.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

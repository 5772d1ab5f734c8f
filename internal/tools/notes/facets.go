package notes

import (
	"context"
	"path"
	"unicode/utf16"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The limits of facets.
const (
	maxFacetValues = 100 // values of one list
	maxFacetUnits  = 256 // UTF-16 code units of one value
)

// A facetsIn is the input of notes_metadata_facets.
type facetsIn struct {
	noteArg
	tool.AsOf
}

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
func (f tools) facetsOfNote(ctx context.Context, c auth.Caller, in facetsIn) (facetsOut, error) {
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

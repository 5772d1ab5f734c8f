package raven

import (
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A section is a section without a declaration, as a query returns it (reference/raven.md §2.4).
//
// LineEnd and DirectLineEnd have the same value, under the two names that Raven has for it;
// SubtreeLineEnd includes the subsections. All three are null at the end of the note.
type section struct {
	ID              string    `json:"id"`
	FileObjectID    string    `json:"file_object_id"`
	FilePath        string    `json:"file_path"`
	Slug            string    `json:"slug"`
	Title           string    `json:"title"`
	Level           int       `json:"level"`
	LineStart       int       `json:"line_start"`
	LineEnd         *int      `json:"line_end"`
	DirectLineEnd   *int      `json:"direct_line_end"`
	SubtreeLineEnd  *int      `json:"subtree_line_end"`
	ParentSectionID *string   `json:"parent_section_id"`
	FirstSeen       time.Time `json:"first_seen_at"`
	LastModified    time.Time `json:"last_modified_at"`
}

// A link is a Markdown link, as a query returns it.
//
// Positions are offsets in bytes. NormalizedKey is equal for links to the same target.
type link struct {
	SourceID      string `json:"source_id"`
	SourceType    string `json:"source_type"`
	FilePath      string `json:"file_path"`
	Line          int    `json:"line"`
	PositionStart int    `json:"position_start"`
	PositionEnd   int    `json:"position_end"`
	RawTarget     string `json:"raw_target"`
	Display       string `json:"display"`
	IsImage       bool   `json:"is_image"`
	Scheme        string `json:"scheme"`
	Ext           string `json:"ext"`
	NormalizedKey string `json:"normalized_key"`
}

// queryItem returns one result of a query as the answer shows it. If kind is true, it contains its
// kind.
//
// Only a query with several kinds of results needs the kind, which is then the first member of the
// JSON object.
func (d renderer) queryItem(i query.Item, kind bool) (tool.Object, error) {
	var shown any
	switch i.Kind {
	case query.Traits:
		shown = d.trait(i.Trait)
	case query.Links:
		shown = linkOf(i)
	case query.Sections:
		shown = sectionOf(i.Object)
	default:
		shown = d.object(i.Object)
	}
	data, err := tool.Marshal(shown)
	if err != nil || !kind {
		return tool.Object(data), err
	}
	name, err := tool.Marshal(kindNames[i.Kind])
	return tool.Object(`{"kind":` + string(name) + "," + string(data[1:])), err
}

// kindNames are the names of the kinds of results in answers.
var kindNames = map[query.Kind]string{
	query.Objects: "object", query.Traits: "trait", query.Sections: "section", query.Links: "link",
}

// sectionOf returns a section as a query returns it. The object must be a section.
func sectionOf(o index.Object) section {
	s := o.Section
	shown := section{
		ID: o.ID(), FileObjectID: o.Note.ID, FilePath: o.Note.Path, Slug: s.Slug, Title: *headingOf(s),
		Level: s.Level, LineStart: s.Line, LineEnd: orNil(s.LineEnd), DirectLineEnd: orNil(s.LineEnd),
		SubtreeLineEnd: orNil(s.SubtreeEnd), FirstSeen: s.Created, LastModified: s.Modified,
	}
	if above, ok := o.Parent(); ok && above.Section != nil {
		id := above.ID()
		shown.ParentSectionID = &id
	}
	return shown
}

// linkOf returns a Markdown link as a query returns it, with long texts shortened.
func linkOf(i query.Item) link {
	l := i.Link
	return link{
		SourceID: i.Object.ID(), SourceType: i.Object.Type(), FilePath: i.Object.Note.Path, Line: l.Line,
		PositionStart: l.Span.Start, PositionEnd: l.Span.End, RawTarget: tool.Beginning(l.Target, maxListed),
		Display: tool.Beginning(l.Display, maxListed), IsImage: l.Image, Scheme: l.Scheme, Ext: l.Ext,
		NormalizedKey: tool.Beginning(l.Key(i.Object.Note), maxListed),
	}
}

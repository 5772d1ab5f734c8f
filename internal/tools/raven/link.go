package raven

import (
	"bytes"
	"context"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A source is what refers, and where (raven.md §6.8).
type source struct {
	SourceID   string `json:"source_id" jsonschema:"the object that contains it"`
	SourceType string `json:"source_type"`
	FilePath   string `json:"file_path"`
	Line       int    `json:"line"`
}

// A backlink is a reference seen from what it leads to.
type backlink struct {
	source
	Kind        string  `json:"kind" jsonschema:"its form: link, embed, markdown, field"`
	DisplayText *string `json:"display_text"`
	TargetID    string  `json:"target_id" jsonschema:"the id of the target, or of the section in it"`
}

// A quoted backlink has the line too on which the reference stands.
type quotedBacklink struct {
	backlink
	Content string `json:"content" jsonschema:"the line, or the part of a long line around the reference"`
}

func sourceOf(l index.Link) source {
	return source{l.Source.ID(), l.Source.Type(), l.Source.Note.Path, l.Ref.Line}
}

func backlinkOf(l index.Link) backlink {
	b := backlink{source: sourceOf(l), Kind: kindOf(l.Ref, l.To), TargetID: l.To.ID}
	if l.Ref.Display != "" {
		display := tool.Beginning(l.Ref.Display, maxListed)
		b.DisplayText = &display
	}
	return b
}

// backlinks is the list of the references that lead to an object or a day.
func (d renderer) backlinks(id string) state.Listing[index.Link] {
	return state.Listing[index.Link]{
		Behind: state.Ahead(d.refs.Backlinks, id), Spot: index.Link.Spot,
		Count: func() int { return d.refs.CountBacklinks(id) },
	}
}

// outlinks is the list of the references in an object and in what stands in it.
func (d renderer) outlinks(o index.Object) state.Listing[index.Link] {
	return state.Listing[index.Link]{Behind: state.Ahead(d.refs.Outlinks, o), Spot: index.Link.Spot}
}

// A quoter quotes the lines on which references stand. It holds one text at a time, and reads each
// once where the references come in the order of a list.
type quoter struct {
	view view
	path string
	text []byte
	at   int // where the line begins
	no   int // and its number

	err error // the first text that could not be read
}

// line is the line of a reference, without the blanks around it. Of a long one it is the part in
// which the reference stands. After an error it is empty.
func (q *quoter) line(ctx context.Context, l index.Link) string {
	if q.err == nil {
		q.err = q.open(ctx, l.Source.Note)
	}
	if q.err != nil {
		return ""
	}
	q.seek(l.Ref.Line)
	line := q.text[q.at:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	column := l.Ref.Position - q.at
	if l.Ref.Bare || column < 0 || column > len(line) {
		column = 0
	}
	return excerpt(line, column)
}

// sources yields the paths of the notes in which references stand, of one page.
func sources(in tool.Page, l state.Listing[index.Link]) iter.Seq[string] {
	return func(yield func(string) bool) {
		after, err := state.SpotAfter(Family, in)
		if err != nil {
			return // page says so
		}
		n, last := 0, ""
		for link := range l.Behind(after) {
			if n++; n > in.Limit {
				return
			}
			if path := link.Source.Note.Path; path != last && !yield(path) {
				return
			}
			last = link.Source.Note.Path
		}
	}
}

// open reads the text of a note, if it is not that of the reference before.
func (q *quoter) open(ctx context.Context, n *index.Note) error {
	if q.path == n.Path {
		return nil
	}
	text, err := q.view.Vault.Text(ctx, n.Body)
	if err != nil {
		return err
	}
	q.path, q.text, q.at, q.no = n.Path, text, 0, 1
	return nil
}

// seek goes to the beginning of a line.
func (q *quoter) seek(line int) {
	if line < q.no {
		q.at, q.no = 0, 1
	}
	for q.no < line {
		end := bytes.IndexByte(q.text[q.at:], '\n')
		if end < 0 {
			return
		}
		q.at, q.no = q.at+end+1, q.no+1
	}
}

// maxQuote is how many bytes of a line are quoted.
const maxQuote = 500

// excerpt is a line without the blanks around it or, where it is long, the part around a column.
func excerpt(line []byte, column int) string {
	first, last := mutation.WindowAt(line, column, maxQuote)
	return mutation.Ellipsis(strings.Trim(string(line[first:last]), " \t\r\ufeff"), first > 0, last < len(line))
}

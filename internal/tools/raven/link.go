package raven

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A source is the object that contains a reference, and the location of the reference
// (raven.md §6.8).
type source struct {
	// the object that contains it
	SourceID   string `json:"source_id"`
	SourceType string `json:"source_type"`
	FilePath   string `json:"file_path"`
	Line       int    `json:"line"`
}

// A backlink is a reference as a property of its target.
type backlink struct {
	source
	// its form: link, embed, markdown, field
	Kind        string  `json:"kind"`
	DisplayText *string `json:"display_text"`
	// the id of the target, or of the section in it
	TargetID string `json:"target_id"`
}

// A quotedBacklink is a backlink with the line of text that contains it.
type quotedBacklink struct {
	backlink
	// the line, or the part of a long line around the reference
	Content string `json:"content"`
}

// sourceOf returns the source of a link.
func sourceOf(l index.Link) source {
	return source{l.Source.ID(), l.Source.Type(), l.Source.Note.Path, l.Ref.Line}
}

// backlinkOf returns a link as a backlink.
func backlinkOf(l index.Link) backlink {
	b := backlink{source: sourceOf(l), Kind: kindOf(l.Ref, l.To), TargetID: l.To.ID}
	if l.Ref.Display != "" {
		display := tool.Beginning(l.Ref.Display, maxListed)
		b.DisplayText = &display
	}
	return b
}

// backlinks returns the list of the references to an object or day.
func (d renderer) backlinks(id string) state.Listing[index.Link] {
	return state.Listing[index.Link]{
		After: state.ListAfter(d.refs.Backlinks, id), Location: index.Link.Location,
		Count: func() int { return d.refs.CountBacklinks(id) },
	}
}

// outlinks returns the list of the references in an object and its parts.
func (d renderer) outlinks(o index.Object) state.Listing[index.Link] {
	return state.Listing[index.Link]{After: state.ListAfter(d.refs.Outlinks, o), Location: index.Link.Location}
}

// A quoter returns the lines that contain references. It keeps one text in memory, and reads each
// text once if the references come in the order of a list.
//
// The references of one note are in the order of their lines, so the next line is searched from the
// last one found, and quoting all references of a note takes time linear in its text.
type quoter struct {
	view view
	// path and text belong to the note that was read last.
	path string
	text []byte
	at   int // offset of the line that was found last
	no   int // the number of that line

	err error // the first error of reading a text
}

// line returns the line that contains a reference, without spaces around it. Of a long line it
// returns the part around the reference. After an error it returns "".
//
// The caller checks err once, after the last line.
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

// sources yields the paths of the notes whose references are on one page. It is the argument of
// Prefetch, and makes the same walk as the page itself.
func sources(in tool.Page, l state.Listing[index.Link]) iter.Seq[string] {
	return func(yield func(string) bool) {
		after, err := state.LocationAfter(Family, in)
		if err != nil {
			return // Page reports the error
		}
		n, last := 0, ""
		for link := range l.After(after) {
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

// quoted returns a list of links, each converted by show with the line of text that contains it.
func quoted[Item any](
	v view, l state.Listing[index.Link], show func(index.Link, string) Item,
) listing[Item] {
	return func(ctx context.Context, p state.Pager) ([]Item, error) {
		q := quoter{view: v}
		items, err := state.Page(ctx, p, l, func(l index.Link) Item { return show(l, q.line(ctx, l)) })
		return items, cmp.Or(err, q.err)
	}
}

// open reads the text of a note, unless it is the current one.
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

// seek moves to the beginning of a line.
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

// maxQuote is the maximum number of bytes of a line that are quoted.
const maxQuote = 500

// excerpt returns a line without spaces around it or, if it is long, the part around a column.
func excerpt(line []byte, column int) string {
	first, last := mutation.WindowAt(line, column, maxQuote)
	return mutation.Ellipsis(strings.Trim(string(line[first:last]), " \t\r\ufeff"), first > 0, last < len(line))
}

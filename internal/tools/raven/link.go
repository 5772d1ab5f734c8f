package raven

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
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
	return source{l.Source.ID(), l.Source.Type(), l.Source.Note.Path, l.Ref.Line()}
}

// backlinkOf returns a link as a backlink.
func backlinkOf(l index.Link) backlink {
	b := backlink{source: sourceOf(l), Kind: kindOf(l.Ref, l.To), TargetID: l.To.ID}
	if l.Ref.Display != "" {
		b.DisplayText = new(tool.Beginning(l.Ref.Display, maxListed))
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
	q.seek(l.Ref.Line())
	line := q.text[q.at:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	column := l.Ref.Position() - q.at
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

// A backlinksIn is the input of raven_backlinks.
type backlinksIn struct {
	tool.Vault
	// an id, a name or an alias: people/freya, freya, daily/2026-03-02#standup; or a day:
	// 2026-03-02, today
	Target string `json:"target" complete:"id" alias:"reference,id,object_id"`
	tool.AsOf
	tool.Page
}

// A backlinksOut is the output of raven_backlinks. Target is the id of the object or, for a day,
// the id of its daily note, which may not exist.
type backlinksOut struct {
	tool.Aside `json:"-"`
	// the id of the target
	Target string `json:"target"`
	// one for each reference
	Items []quotedBacklink `json:"items"`
}

// page implements listOut.
func (o *backlinksOut) page() (*tool.Aside, *[]quotedBacklink) { return &o.Aside, &o.Items }

// backlinks returns the tool raven_backlinks, which lists the references to an object or a day.
func (f tools) backlinks() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_backlinks", Family: Family, Title: "List backlinks",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/backlinks"},
		Commands: []tool.Command{{Words: "backlinks", Args: []string{"target"}}},
		Columns:  []string{"source_id", "line", "content"},
		Empty: []tool.Empty{
			{Of: "references to {target}"},
		},
	}, listBacklinks)
}

// listBacklinks runs raven_backlinks on one state of the vault.
//
// The texts of the notes on the page are prefetched before the lines are quoted, so that a page
// costs one round trip to the store and not one for each note.
func listBacklinks(
	ctx context.Context, v view, in backlinksIn, out *backlinksOut,
) (_ listing[quotedBacklink], err error) {
	if out.Target, err = locateTarget(v.Index, in.Target, v.Clock); err != nil {
		return nil, err
	}
	list := v.renderer().backlinks(out.Target)
	v.Prefetch(ctx, sources(in.Page, list))
	return quoted(v, list, func(l index.Link, line string) quotedBacklink {
		return quotedBacklink{backlinkOf(l), line}
	}), nil
}

// An outlinksIn is the input of raven_outlinks.
type outlinksIn struct {
	tool.Vault
	// the object whose references are listed: an id, a name or an alias
	Target string `json:"target" complete:"id" alias:"reference,id,object_id"`
	tool.AsOf
	tool.Page
}

// An outlinksOut is the output of raven_outlinks. The references in the sections of a note are
// among those of the note.
type outlinksOut struct {
	tool.Aside `json:"-"`
	// the id of the object
	Source string `json:"source"`
	// one for each reference
	Items []outlink `json:"items"`
}

// page implements listOut.
func (o *outlinksOut) page() (*tool.Aside, *[]outlink) { return &o.Aside, &o.Items }

// An outlink is a reference as a property of its source.
type outlink struct {
	source
	reference
	// the line, or the part of a long line around the reference
	Content string `json:"content"`
}

// outlinks returns the tool raven_outlinks, which lists the references in an object.
func (f tools) outlinks() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_outlinks", Family: Family, Title: "List outlinks",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/outlinks"},
		Commands: []tool.Command{{Words: "outlinks", Args: []string{"target"}}},
		Columns:  []string{"source_id", "line", "target_raw", "target_id", "content"},
		Empty: []tool.Empty{
			{Of: "references in {target}"},
		},
	}, listOutlinks)
}

// listOutlinks runs raven_outlinks on one state of the vault.
//
// All references are in one note, so its text is read once.
func listOutlinks(
	_ context.Context, v view, in outlinksIn, out *outlinksOut,
) (listing[outlink], error) {
	o, err := locate(v.Index, in.Target, v.Clock)
	if err != nil {
		return nil, err
	}
	out.Source = o.ID()
	d := v.renderer()
	return quoted(v, d.outlinks(o), func(l index.Link, line string) outlink {
		return outlink{sourceOf(l), d.reference(l.Ref, l.To), line}
	}), nil
}

// A resolveIn is the input of raven_resolve.
type resolveIn struct {
	tool.Vault
	// the text between the brackets: people/freya, freya, an alias, 2026-03-02; or today, tomorrow,
	// yesterday
	Reference string `json:"reference" complete:"id" alias:"target,id"`
	tool.AsOf
}

// A resolveOut has one of three forms (raven.md §6.8): the target, several candidates, or neither.
//
// A reference that does not resolve is no error: the tool exists to find that out.
type resolveOut struct {
	tool.Aside `json:"-"`
	Resolved   bool `json:"resolved"`
	*Found
	*Candidates
}

// Found is the target of a reference. For a day without a note, ID is that of the daily note it
// would have.
type Found struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// null for a day without a note
	FilePath *string `json:"file_path"`
	// kind of the match: id, path, short_name, name_field, title, alias, suffix, date, section,
	// keyword
	MatchSource string `json:"match_source"`
}

// Candidates are the possible targets of an ambiguous reference.
type Candidates struct {
	Ambiguous bool `json:"ambiguous"`
	// ids of the candidates, at most 200
	Matches []string `json:"matches"`
}

// resolve returns the tool raven_resolve, which finds the target of a reference.
func (f tools) resolve() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_resolve", Family: Family, Title: "Resolve a reference",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/resolve"},
		Commands: []tool.Command{{Words: "resolve", Args: []string{"reference"}}},
	}, func(_ context.Context, v view, in resolveIn) (resolveOut, error) {
		return resolved(v.Index.ResolveArg(in.Reference, v.Clock)), nil
	})
}

// resolved returns a resolution as the answer shows it.
func resolved(to index.Resolution) resolveOut {
	switch {
	case len(to.Matches) > 0:
		return resolveOut{Candidates: &Candidates{true, firstOf(to.Matches, maxCandidates)}}
	case to.ID == "":
		return resolveOut{}
	}
	found := &Found{ID: to.ID, Type: vault.Daily, MatchSource: to.Source}
	if n := to.Object.Note; n != nil {
		found.Type, found.FilePath = to.Object.Type(), &n.Path
	}
	return resolveOut{Resolved: true, Found: found}
}

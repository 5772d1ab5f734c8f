package notes

import (
	"cmp"
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// The values of the arguments order and fields.
const (
	byDate    = "date"     // newest first, notes without a date last
	byOldest  = "date-asc" // the reverse of byDate
	byPath    = "path"
	pathOnly  = "path"
	wholeNote = "full"
)

// A listIn is the input of notes_list. Pages are selected by an offset, as the specification has
// it, and not by a token.
//
// Limit 0 returns no notes, only the total. An offset beyond the last note returns an empty page.
type listIn struct {
	tool.Vault
	filterArgs
	// rows at most
	Limit int `json:"limit,omitempty" default:"20" min:"0" max:"100" means:"limit"`
	// rows to skip
	Offset int `json:"offset,omitempty" default:"0" min:"0"`
	// newest first, oldest first, or by path
	Order string `json:"order,omitempty" enum:"date,date-asc,path" default:"date"`

	// contents of a row
	Fields string `json:"fields,omitempty" enum:"path,path+metadata,full" default:"path+metadata"`
	// only the total
	CountOnly bool `json:"count_only,omitempty"`
	tool.AsOf
}

// A listOut is the answer of notes_list. With count_only it has no notes.
type listOut struct {
	tool.Aside `json:"-"`
	Notes      []noteRow `json:"notes,omitzero"`
	// matches, also those that are not listed
	Total int `json:"total"`
}

// A noteRow is one note of a list. Metadata or Whole is set, depending on the argument fields.
type noteRow struct {
	Path string `json:"path"`
	*Metadata
	*Whole
}

// Metadata is the frontmatter of a note that a row of a list contains.
type Metadata struct {
	Title *string `json:"title"`
	// a slug
	Project *string `json:"project"`
	// slugs
	Tags []string `json:"tags"`
	Date *string  `json:"date"`
}

// Whole is the content of a note in a row of a list.
type Whole struct {
	Frontmatter tool.Object `json:"frontmatter"`
	Body        string      `json:"body"`
}

// list returns the tool that lists notes by their frontmatter, in pages.
func (f tools) list() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_list", Short: "list_notes", Family: Family, Title: "List notes",
		Role: auth.Reader, Kind: tool.Read, List: "notes",
		Route:    tool.Route{Method: "GET", Path: "/notes"},
		Commands: []tool.Command{{Words: "list-notes"}},
		Columns:  []string{"path", "project", "tags", "date"},
		Empty:    []tool.Empty{{Of: "notes that match"}},
	}, f.listNotes)
}

// listNotes returns one page of the notes that match the call, and their total. If the offset
// exceeds half the notes of the vault, it counts the matching notes first and picks the page from
// the end, which keeps fewer notes in memory. The filter is then applied twice to each row.
func (f tools) listNotes(ctx context.Context, c auth.Caller, in listIn) (listOut, error) {
	var out listOut
	holds, err := in.filter()
	if err != nil {
		return out, err
	}
	v, err := f.ViewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	out.Note("version", v.Version())
	rows, notes := rowsWith(ctx, v.Index, holds), v.Index.Totals().Notes
	// The offset is bounded by the number of notes, so that a huge one allocates nothing.
	p := newPageSelector(in.Order, min(in.Offset, notes), in.Limit)
	if late := in.Offset > notes/2; late || in.CountOnly {
		total := 0
		for range rows {
			total++
		}
		if out.Total = total; ctx.Err() != nil || in.CountOnly {
			return out, ctx.Err()
		}
		p = pickFromEnd(in.Order, min(in.Offset, total), in.Limit, total)
	}
	for r := range rows {
		p.add(r)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	out.Total = p.seen
	return out, out.show(ctx, v, page{p.notes(), min(in.Offset, out.Total), in.Fields})
}

// rowsWith yields the rows of the notes that a filter selects, by path, until the call ends. The
// caller must check ctx.Err afterwards: the rows are incomplete if it is not nil. A row is valid
// until the next one.
//
// Sorted by path, and restricted to the folder of the filter: rows outside it are not visited.
func rowsWith(ctx context.Context, idx *index.Index, holds *filter) iter.Seq[*index.Row] {
	going := state.KeepGoing(ctx)
	holds = holds.on(idx)
	return func(yield func(*index.Row) bool) {
		for r := range idx.Rows(holds.folder) {
			if !going() || holds.hasRow(&r) && !yield(&r) {
				return
			}
		}
	}
}

// notesWith returns the notes that a filter selects, sorted by path.
func notesWith(ctx context.Context, idx *index.Index, holds *filter) ([]*index.Note, error) {
	var found []*index.Note
	for r := range rowsWith(ctx, idx, holds) {
		found = append(found, r.Note)
	}
	return found, ctx.Err()
}

// inOrder returns the comparison of notes for an order. An unknown order compares paths. Notes with
// the same date compare as equal, so a stable sort keeps them sorted by path. Dates are compared as
// texts; notes without a date have the smallest.
func inOrder(order string) func(a, b *index.Note) int {
	switch order {
	case byDate:
		return func(a, b *index.Note) int { return cmp.Compare(b.Card().Day(), a.Card().Day()) }
	case byOldest:
		return func(a, b *index.Note) int { return cmp.Compare(a.Card().Day(), b.Card().Day()) }
	}
	return comparePaths
}

// A page contains the notes of an answer. first is the number of notes before the page.
type page struct {
	notes  []*index.Note
	first  int
	fields string // the requested fields
}

// show fills the rows of the output, and the numbers of the page in its meta. Rows that do not fit
// into an answer are left for the next page, whose offset is in next_offset; at least one row is
// always shown.
//
// A client that follows next_offset gets every note, also if pages are shorter than the limit. If
// the vault changes between two pages, notes can be skipped or repeated, unless the call names a
// version with as_of.
func (o *listOut) show(ctx context.Context, v state.View, p page) error {
	o.Notes = make([]noteRow, 0, len(p.notes))
	if p.fields == wholeNote {
		v.Prefetch(ctx, pathsOf(p.notes))
	}
	for _, n := range p.notes {
		row, err := rowOf(ctx, v, n, p.fields)
		if err != nil {
			return err
		}
		if !o.Fits(row) && len(o.Notes) > 0 {
			break
		}
		o.Notes = append(o.Notes, row)
	}
	next := p.first + len(o.Notes)
	o.Note("count", len(o.Notes))
	o.Note("total", o.Total)
	o.Note("has_more", next < o.Total)
	if next < o.Total {
		o.Note("next_offset", next)
	}
	if o.Total == 0 {
		o.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return nil
}

// pathsOf yields the paths of notes.
func pathsOf(all []*index.Note) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, n := range all {
			if !yield(n.Path) {
				return
			}
		}
	}
}

// rowOf returns the row of a note with the requested fields.
func rowOf(ctx context.Context, v state.View, n *index.Note, fields string) (noteRow, error) {
	switch fields {
	case pathOnly:
		return noteRow{Path: n.Path}, nil
	case wholeNote:
		w, err := wholeOf(ctx, v, n)
		return noteRow{Path: n.Path, Whole: w}, err
	}
	return noteRow{Path: n.Path, Metadata: metadataOf(n)}, nil
}

// maxShown is the maximum number of bytes of a field in a row.
const maxShown = 4 << 10

// metadataOf returns the metadata of a note, from its card and not from its text. Long fields are
// truncated.
func metadataOf(n *index.Note) *Metadata {
	c := n.Card()
	return &Metadata{
		Title: textOrNil(tool.Beginning(c.Title, maxShown)), Project: textOrNil(n.Project()),
		Tags: append([]string{}, c.Tags...), Date: textOrNil(tool.Beginning(c.Date, maxShown)),
	}
}

// wholeOf reads a note. If its text is missing, the error is an internal fault, not one of the
// call.
func wholeOf(ctx context.Context, v state.View, n *index.Note) (*Whole, error) {
	d, err := read(ctx, v, n)
	if err != nil {
		return nil, err
	}
	head, err := d.frontmatter()
	if err != nil {
		return nil, fault.New(fault.Internal, "the frontmatter of a note cannot be written as JSON").Because(err)
	}
	return &Whole{head, d.body}, nil
}

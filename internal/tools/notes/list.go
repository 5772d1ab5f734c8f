package notes

import (
	"cmp"
	"context"
	"iter"
	"math/rand/v2"
	"slices"

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

// A pageSelector selects one page of the notes in an order from rows that arrive sorted by path. Its
// memory is bounded: it keeps the rows of the page and those before it in the order, and a limited
// number of others.
//
// It collects rows until it has twice as many as it needs, and then drops the worse half by
// quickselect. So each row is compared a few times, and a page of a large vault needs no sort of
// all notes. For a page near the end, the order is reversed, so that fewer rows are kept.
//
// For example, page 3 of 20 notes by date keeps at most 2×60+256 rows, however many notes there
// are. add rejects most rows of a large vault with one comparison, once full is set.
type pageSelector struct {
	order  string
	turned bool      // the order is reversed: the page is near the end
	skip   int       // number of notes before the page
	most   int       // number of notes up to the end of the page
	kept   []pageRow // the rows that can still be on the page or before it
	seen   int       // number of rows that were added
	full   bool      // kept[:most] are the best so far, with the last at its place; newer rows follow
}

// newPageSelector returns a pageSelector of limit notes from a position.
func newPageSelector(order string, from, limit int) *pageSelector {
	return &pageSelector{order: order, skip: from, most: from + limit}
}

// pickFromEnd returns a pageSelector of limit notes from a position, of a known total. It keeps the rows
// after the page instead of those before it. In the reversed order, the page begins after the rows
// that follow it.
func pickFromEnd(order string, from, limit, total int) *pageSelector {
	to := min(from+limit, total)
	return &pageSelector{order: order, turned: true, skip: total - to, most: max(0, total-from)}
}

// A pageRow is the part of a row that is compared, with the number of rows before it.
type pageRow struct {
	index.NoteDay
	at int // number of rows before it, which are sorted by path
}

// sparse is the number of rows beyond twice the wanted ones that are kept before they are narrowed
// down.
const sparse = 256

// add adds the next row. Rows must be added in the order of their paths, because at is the position
// of the row in that order.
func (p *pageSelector) add(r *index.Row) {
	now := pageRow{r.NoteDay, p.seen}
	p.seen++
	// In the order of paths, the first rows are the page: later ones are only counted.
	if p.most == 0 || p.order == byPath && !p.turned && len(p.kept) == p.most {
		return
	}
	// The row is after the last wanted one, so it cannot be on the page.
	if p.full && p.compare(&now, &p.kept[p.most-1]) > 0 {
		return
	}
	if p.kept = append(p.kept, now); len(p.kept) >= 2*p.most+sparse {
		p.narrow()
	}
}

// narrow drops the rows that cannot be on the page or before it. The last of the others is then at
// its place, so that add can reject a worse row with one comparison.
func (p *pageSelector) narrow() {
	if len(p.kept) <= p.most {
		return
	}
	// The rows before that position are not sorted: notes sorts the page only.
	p.place(p.most - 1)
	p.kept, p.full = p.kept[:p.most], true
}

// place moves rows so that the row at a position is the one that belongs there in the order, with
// smaller rows before it and greater ones after it (quickselect). It compares each row a few times;
// a full sort would take several times as long. The pivots are random, with a seed from the
// arguments, so a call is reproducible and no order of notes is slow.
func (p *pageSelector) place(at int) {
	draw := rand.New(rand.NewPCG(uint64(len(p.kept)), uint64(at)))
	for from, to := 0, len(p.kept)-1; from < to; {
		all := p.kept[from : to+1]
		i := draw.IntN(len(all))
		all[0], all[i] = all[i], all[0]
		n := from + p.part(all)
		switch {
		case n == at:
			return
		case n < at:
			from = n + 1
		default:
			to = n - 1
		}
	}
}

// part partitions rows around the first one, and returns the position of that row in the result.
func (p *pageSelector) part(all []pageRow) int {
	pivot := all[0]
	from, to := 1, len(all)-1
	for {
		for from <= to && p.compare(&all[from], &pivot) < 0 {
			from++
		}
		for from <= to && p.compare(&all[to], &pivot) > 0 {
			to--
		}
		if from >= to {
			break
		}
		all[from], all[to] = all[to], all[from]
		from, to = from+1, to-1
	}
	all[0], all[to] = all[to], pivot
	return to
}

// compare compares two rows in the order, or in the reverse order. Rows of the same day compare by
// path.
func (p *pageSelector) compare(a, b *pageRow) int {
	if p.turned {
		a, b = b, a
	}
	day := 0
	switch p.order {
	case byDate:
		day = b.CompareDay(&a.NoteDay)
	case byOldest:
		day = a.CompareDay(&b.NoteDay)
	}
	return cmp.Or(day, cmp.Compare(a.at, b.at))
}

// notes returns the notes of the page, in order; an empty list if the page is after the last note.
// No more rows can be added after it.
func (p *pageSelector) notes() []*index.Note {
	p.narrow()
	if p.skip >= len(p.kept) {
		return []*index.Note{}
	}
	if p.skip > 0 {
		p.place(p.skip)
	}
	page := p.kept[p.skip:]
	slices.SortFunc(page, func(a, b pageRow) int { return p.compare(&a, &b) })
	if p.turned {
		slices.Reverse(page)
	}
	all := make([]*index.Note, len(page))
	for i := range page {
		all[i] = page[i].Note
	}
	return all
}

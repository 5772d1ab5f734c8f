package notes

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

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

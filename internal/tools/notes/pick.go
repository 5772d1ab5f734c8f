package notes

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// A picking picks a page of the notes in an order, of rows that come by path. It keeps the rows of the page, those
// before it in the order, and few of those behind it.
type picking struct {
	order  string
	turned bool // the order is turned round: it is a page near the end
	skip   int  // how many notes are before the page
	most   int  // how many there are with the page
	kept   []picked
	seen   int
	full   bool // as many as are wanted are kept, the last of them at its place, and then those that came since
}

// pick returns a picking of so many notes from a position on.
func pick(order string, from, limit int) *picking {
	return &picking{order: order, skip: from, most: from + limit}
}

// pickFromEnd returns a picking of so many notes from a position on of a known number of them. It keeps what is behind
// the page in place of what is before it.
func pickFromEnd(order string, from, limit, total int) *picking {
	to := min(from+limit, total)
	return &picking{order: order, turned: true, skip: total - to, most: max(0, total-from)}
}

// A picked is what is compared of a row, and how many rows came before it.
type picked struct {
	index.DayOf
	at int
}

// sparse is how many notes beyond those that are wanted are kept before they are sorted.
const sparse = 256

// add takes the next row.
func (p *picking) add(r *index.Row) {
	now := picked{r.DayOf, p.seen}
	p.seen++
	if p.most == 0 || p.order == byPath && !p.turned && len(p.kept) == p.most {
		return
	}
	if p.full && p.compare(&now, &p.kept[p.most-1]) > 0 {
		return
	}
	if p.kept = append(p.kept, now); len(p.kept) >= 2*p.most+sparse {
		p.narrow()
	}
}

// narrow drops the rows that are not wanted. The last of the others is the last of their order then.
func (p *picking) narrow() {
	if len(p.kept) <= p.most {
		return
	}
	p.place(p.most - 1)
	p.kept, p.full = p.kept[:p.most], true
}

// place puts the row that belongs at a position there, those before it in front of it, and the others behind it. It
// compares each row a few times: to sort all of them would take several times as long.
func (p *picking) place(at int) {
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

// part puts the first of some rows where it belongs among them, and returns where that is.
func (p *picking) part(all []picked) int {
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

// compare compares two rows for the order, turned or not: those of one day by path.
func (p *picking) compare(a, b *picked) int {
	if p.turned {
		a, b = b, a
	}
	day := 0
	switch p.order {
	case byDate:
		day = b.CompareDay(&a.DayOf)
	case byOldest:
		day = a.CompareDay(&b.DayOf)
	}
	return cmp.Or(day, cmp.Compare(a.at, b.at))
}

// notes returns the page, in order.
func (p *picking) notes() []*index.Note {
	p.narrow()
	if p.skip >= len(p.kept) {
		return []*index.Note{}
	}
	if p.skip > 0 {
		p.place(p.skip)
	}
	page := p.kept[p.skip:]
	slices.SortFunc(page, func(a, b picked) int { return p.compare(&a, &b) })
	if p.turned {
		slices.Reverse(page)
	}
	all := make([]*index.Note, len(page))
	for i := range page {
		all[i] = page[i].Note
	}
	return all
}

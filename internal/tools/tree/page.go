package tree

import (
	"encoding/json"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A mark is where a page ends: the node, and the key that it is sorted by. It means something also after the node
// is gone.
type mark struct {
	tree.Position
	Key *tree.SortKey   `json:"k,omitempty"`
	Via []tree.Position `json:"v,omitempty"` // of the nodes that stand for others and were followed to the node
}

// markAt is where a page of a tour ends.
func markAt(v *tree.Visit) mark {
	place := v.Place()
	return mark{Position: place[len(place)-1], Via: place[:len(place)-1]}
}

// place is where the page begins behind; nil for the first page.
func (m *mark) place() []tree.Position {
	if m == nil {
		return nil
	}
	return append(slices.Clip(m.Via), m.Position)
}

// text is the mark as a page token keeps it.
func (m mark) text() (string, error) {
	data, err := json.Marshal(m)
	return string(data), err
}

// after is the mark that the page begins behind; nil for the first page.
func (p page) after() (*mark, error) {
	text, err := tool.ReadToken("pageToken", p.PageToken, Family)
	if err != nil || text == "" {
		return nil, err
	}
	var m mark
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil, fault.New(fault.InvalidParameter, "pageToken is from another list").With("argument", "pageToken").
			Fix("use nextPageToken of the previous page")
	}
	return &m, nil
}

// A listing is a list that is answered in pages.
type listing[T any] struct {
	all  []T // the whole list
	from int // where the page begins
	show func(T) (*tree.Shape, error)
	mark func(T) mark
}

// page takes one page of a list, and notes in the meta what is told of lists.
func takePage[T any](out *paged, p page, l listing[T]) ([]*tree.Shape, error) {
	items := []*tree.Shape{}
	last := l.from
	for ; last < len(l.all) && len(items) < p.Limit; last++ {
		item, err := l.show(l.all[last])
		if err != nil {
			return items, err
		}
		if !out.Fits(item) && len(items) > 0 {
			break
		}
		items = append(items, item)
	}
	return items, out.end(len(items), len(l.all), last, func(i int) mark { return l.mark(l.all[i]) })
}

// end notes what is told of a page: how many items it has, how many there are in all, and behind which of them it ends.
func (p *paged) end(count, total, last int, at func(i int) mark) error {
	key := ""
	if last < total && last > 0 {
		var err error
		if key, err = at(last - 1).text(); err != nil {
			return err
		}
	}
	p.Paged(count, total, last < total, key)
	if total == 0 {
		p.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return nil
}

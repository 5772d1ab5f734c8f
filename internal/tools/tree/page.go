package tree

import (
	"encoding/json"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A mark is the position at which a page ends: a node, and the key by which it is sorted. It is
// valid even after the node was removed.
//
// Its JSON is the content of page tokens, so the names of its members must stay the same. It names
// the node by its place and not by its uid, because a place can still be compared with others after
// the node is gone. A list in the order of the tree has only the Position, a sorted list the Key
// too, and a walk that follows references Via.
type mark struct {
	tree.Position
	Key *tree.SortKey   `json:"k,omitempty"`
	Via []tree.Position `json:"v,omitempty"` // of the references that were followed to the node
}

// markAt returns the mark of a visit in a tour.
func markAt(v *tree.Visit) mark {
	place := v.Place()
	return mark{Position: place[len(place)-1], Via: place[:len(place)-1]}
}

// place returns the position after which the page begins, or nil for the first page.
func (m *mark) place() []tree.Position {
	if m == nil {
		return nil
	}
	return append(slices.Clip(m.Via), m.Position)
}

// text returns the mark as the text of a page token.
func (m mark) text() (string, error) {
	data, err := json.Marshal(m)
	return string(data), err
}

// after returns the mark after which the page begins, or nil for the first page. It returns
// INVALID_PARAMETER for a token that cannot be parsed. The token is bound to the arguments of its
// call by the tool model, so the key is of a list of this kind.
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

// A listing is a sequence that is returned in pages.
//
// It is used for lists whose nodes are all known; walks through a tree have pages of their own, see
// pageOut.endWalk.
type listing[T any] struct {
	all  []T                          // the whole list
	from int                          // index at which the page begins
	show func(T) (*tree.Shape, error) // returns an entry as a page shows it
	mark func(T) mark                 // returns the position of an entry
}

// takePage returns one page of a list, and adds the metadata of a list to the output. A page has at
// least one item if the list has one after from, however large it is.
func takePage[T any](out *pageOut, p page, l listing[T]) ([]*tree.Shape, error) {
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

// end adds the metadata of a page: the number of its items, the total, and the position after its
// last item. An empty list gets the warning NO_RESULTS.
func (p *pageOut) end(count, total, last int, at func(i int) mark) error {
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

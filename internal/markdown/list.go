package markdown

import (
	"bytes"

	"go.yaml.in/yaml/v4"
)

// A lineList is a list with one item per line or lines, each after the margin and a dash. margin is
// the text before the dash of the last item; new items get the same.
type lineList struct {
	margin string
	items  []item
}

// An item is one item of a lineList, with its whole lines.
type item struct {
	node  *yaml.Node
	lines Span
}

// lines returns the items of the old value. ok is false if an item does not begin directly after
// its dash. The caller then writes the whole list again.
func (c change) lines() (lineList, bool) {
	x := newExtent(c.text, c.inner)
	nodes := c.entry.node.Content
	list := lineList{items: make([]item, len(nodes))}
	for i, n := range nodes {
		at := x.offset(n)
		start := lineStart(c.text, at)
		before := c.text[start:at]
		dash := bytes.TrimLeft(before, " ")
		if len(dash) == 0 || dash[0] != '-' || len(bytes.Trim(dash[1:], " ")) > 0 {
			return list, false
		}
		list.margin = string(before[:len(before)-len(dash)])
		list.items[i] = item{n, Span{Start: start}}
	}
	for i := range list.items {
		limit := c.entry.Lines.End
		if i+1 < len(list.items) {
			limit = list.items[i+1].lines.Start
		}
		end := x.end(nodes[i], bound{len(list.margin), limit})
		list.items[i].lines.End = lineNext(c.text, end)
	}
	return list, true
}

// replaceItems returns the patch that replaces the items that differ. Equal items at the beginning
// and at the end keep their lines, with their quotes and comments. Both lists must have at least
// one item.
func (w writer) replaceItems(old lineList, list []any) patch {
	items := old.items
	first := 0
	for first < min(len(items), len(list)) && sameValue(list[first], items[first].node) {
		first++
	}
	last := 0 // number of equal items at the end
	for last < min(len(items), len(list))-first &&
		sameValue(list[len(list)-1-last], items[len(items)-1-last].node) {
		last++
	}
	at := Span{items[0].lines.Start, items[0].lines.Start}
	if first > 0 {
		at = Span{items[first-1].lines.End, items[first-1].lines.End}
	}
	if gone := items[first : len(items)-last]; len(gone) > 0 {
		at = Span{gone[0].lines.Start, gone[len(gone)-1].lines.End}
	}
	return patch{at, []byte(w.items(list[first:len(list)-last], old.margin))}
}

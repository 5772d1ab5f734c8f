package tree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A SortKey is the value of a property in a form in which all values can be compared. Numbers come
// before times, and times before texts.
//
// Page tokens contain keys, so its JSON form must stay the same. Times are seconds since 1970 in
// Number.
type SortKey struct {
	Class  int     `json:"c"` // 0: number, 1: time, 2: text, 3: missing
	Number float64 `json:"n,omitempty"`
	Text   string  `json:"t,omitempty"`
}

// The values of SortKey.Class.
const (
	numbers = iota
	times
	words
	missing
)

// sortKey returns the key of a property of a node; for a list, that of its first element.
func (e *Evaluator) sortKey(n Node, path []string) SortKey {
	o := e.operand(n, propertyOf(path))
	if list, is := o.value.([]any); is && len(list) > 0 {
		o.value = list[0]
	}
	if !o.found {
		return SortKey{Class: missing}
	}
	text := bareText(o.value)
	// NaN is left to the texts, because it has no order.
	if number, err := strconv.ParseFloat(text, 64); err == nil && number == number {
		return SortKey{Class: numbers, Number: number}
	}
	if isDate(text) || o.field != nil && o.field.IsTime() {
		if at, err := vault.ParseTime(text, e.clock); err == nil {
			return SortKey{Class: times, Number: float64(at.From.Unix())}
		}
	}
	return SortKey{Class: words, Text: fold(text)}
}

// compare compares two keys. Missing values are last in both directions.
func (k SortKey) compare(o SortKey, descending bool) int {
	if k.Class == missing || o.Class == missing {
		return cmp.Compare(k.Class, o.Class)
	}
	c := cmp.Or(cmp.Compare(k.Class, o.Class), cmp.Compare(k.Number, o.Number), strings.Compare(k.Text, o.Text))
	if descending {
		return -c
	}
	return c
}

// A Sorting is an order of nodes by a property. Nodes with equal keys stay in the order of the
// tree.
type Sorting struct {
	Path       []string
	Descending bool
}

// A SortedNode is a node with its sort key.
type SortedNode struct {
	Node
	Key SortKey
}

// Sort returns the nodes sorted. They must be in the order of the tree, because nodes with equal
// keys stay in their order. It computes the key of each node once. Properties in the text of a node
// are missing.
func (e *Evaluator) Sort(nodes []Node, by Sorting) []SortedNode {
	all := make([]SortedNode, len(nodes))
	for i, n := range nodes {
		all[i] = SortedNode{n, e.sortKey(n, by.Path)}
	}
	slices.SortStableFunc(all, func(a, b SortedNode) int { return a.Key.compare(b.Key, by.Descending) })
	return all
}

// FirstAfter returns the position of the first node in a sorted list that comes after the given key
// and position; len(all) if there is none. It is for the next page of a list: the node with that
// key and position can be gone or have another key.
func (e *Evaluator) FirstAfter(all []SortedNode, by Sorting, key SortKey, at Position) int {
	i, _ := slices.BinarySearchFunc(all, at, func(s SortedNode, at Position) int {
		if c := cmp.Or(s.Key.compare(key, by.Descending), e.tree.Compare(s.Position(), at)); c != 0 {
			return c
		}
		// The element is at the given place, so the first one after it is looked for.
		return -1
	})
	return i
}

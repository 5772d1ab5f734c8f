package yamltext

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// IsMapping reports whether a text has a mapping at a path of keys, also an empty one.
func IsMapping(text []byte, path []string) bool {
	d, err := read(text)
	return err == nil && d.mapping(path) != nil
}

// SetList returns the text with a list of texts at a path of keys. Items that stay keep their lines and comments where
// the new list is the old one without some items, and with more at its end. Any other list replaces the whole value.
func SetList(text []byte, path []string, items []string) ([]byte, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	n := d.list(path)
	if n == nil || len(items) == 0 {
		return Set(text, path, items)
	}
	gone, more, ok := listDiff(n, items)
	if !ok {
		return Set(text, path, items)
	}
	for _, i := range slices.Backward(gone) {
		if text, err = editItem(text, path, func(d *doc, n *yaml.Node) ([]byte, error) { return d.removeItem(n, i) },
			func(n *yaml.Node) { n.Content = slices.Delete(n.Content, i, i+1) }); err != nil {
			return nil, err
		}
	}
	for _, item := range more {
		if text, err = editItem(text, path, func(d *doc, n *yaml.Node) ([]byte, error) { return d.addItem(n, item) },
			func(n *yaml.Node) { n.Content = append(n.Content, textNode(item)) }); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// listDiff returns which items a list loses, and which it gets at its end, to become another. It returns false if
// it would lose all, or if these steps do not lead there.
func listDiff(n *yaml.Node, items []string) (gone []int, more []string, ok bool) {
	at := 0
	for i, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, nil, false
		}
		if at < len(items) && item.Value == items[at] {
			at++
			continue
		}
		gone = append(gone, i)
	}
	return gone, items[at:], len(gone) < len(n.Content)
}

// list is the list at a path; nil if there is none.
func (d *doc) list(path []string) *yaml.Node {
	if len(path) == 0 {
		return nil
	}
	_, v := member(d.mapping(path[:len(path)-1]), path[len(path)-1])
	if v == nil || v.Kind != yaml.SequenceNode {
		return nil
	}
	return v
}

// editItem edits a list, as edit does.
func editItem(
	text []byte, path []string, splice func(*doc, *yaml.Node) ([]byte, error), change func(*yaml.Node),
) ([]byte, error) {
	return edit(text, path,
		func(d *doc) ([]byte, error) { return splice(d, d.list(path)) },
		func(root *yaml.Node) { change((&doc{root: root}).list(path)) })
}

// removeItem makes the text without an item of a list.
func (d *doc) removeItem(n *yaml.Node, i int) ([]byte, error) {
	item := n.Content[i]
	if n.Style&yaml.FlowStyle != 0 {
		return d.removeIn(d.opening(n, '['), d.offset(item))
	}
	from, to := d.lines[item.Line-1], d.lineAfter(item.Line-1)
	if head := bytes.TrimSpace(d.text[from:d.offset(item)]); string(head) != "-" {
		return nil, ErrNotEditable
	}
	return d.splice(from, to, ""), nil
}

// addItem makes the text with an item more at the end of a list that has one.
func (d *doc) addItem(n *yaml.Node, item string) ([]byte, error) {
	last := n.Content[len(n.Content)-1]
	if n.Style&yaml.FlowStyle != 0 {
		begin := d.opening(n, '[')
		end := d.valueEnd(begin)
		if end < 0 || d.text[end-1] != ']' {
			return nil, ErrNotEditable
		}
		at := d.trimEnd(begin+1, end-1)
		if d.text[at-1] == ',' {
			return d.splice(at, at, " "+scalar(item)), nil
		}
		return d.splice(at, at, ", "+scalar(item)), nil
	}
	from, end := d.lines[last.Line-1], d.lineAfter(last.Line-1)
	head := string(d.text[from:d.offset(last)])
	if end > 0 && d.text[end-1] != '\n' {
		return d.splice(end, end, d.line()+head+scalar(item)), nil
	}
	return d.splice(end, end, head+scalar(item)+d.line()), nil
}

// Line returns the line in which the key at the end of a path is, from 1; 0: the text has none.
func Line(text []byte, path []string) int {
	d, err := read(text)
	if err != nil || len(path) == 0 {
		return 0
	}
	n := d.root
	for i, key := range path {
		k, v := member(n, key)
		if k == nil {
			return 0
		}
		if i == len(path)-1 {
			return k.Line
		}
		n = v
	}
	return 0
}

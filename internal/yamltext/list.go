package yamltext

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// IsMapping reports whether a text has a mapping, which may be empty, at a path of keys.
func IsMapping(text []byte, path []string) bool {
	d, err := read(text)
	return err == nil && d.mapping(path) != nil
}

// SetList returns the text with a list of texts at a path of keys. If the new list is the old one
// with some items removed and others appended, the remaining items keep their lines and comments.
// Otherwise the whole value is replaced.
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

// listDiff returns the indexes of the items to remove from a list, and the items to append, so that
// it becomes another list. ok is false if all items would be removed, or if these two steps are not
// enough.
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

// list returns the list at a path, or nil if there is none.
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

// editItem edits a list as edit does.
func editItem(
	text []byte, path []string, splice func(*doc, *yaml.Node) ([]byte, error), change func(*yaml.Node),
) ([]byte, error) {
	return edit(text, path,
		func(d *doc) ([]byte, error) { return splice(d, d.list(path)) },
		func(root *yaml.Node) { change((&doc{root: root}).list(path)) })
}

// removeItem returns the text without an item of a list.
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

// addItem returns the text with an item appended to a list that is not empty.
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

// Line returns the line, from 1, of the key at the end of a path, or 0 if the text does not have
// the key.
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

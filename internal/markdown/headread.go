package markdown

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// maxHeadValues is the largest number of values of a frontmatter, including those that aliases
// repeat.
const maxHeadValues = 10_000

// A headReader converts YAML nodes to values of a Map. A value that cannot be read makes the whole
// frontmatter unreadable. It counts values, so that aliases cannot multiply them without a bound.
type headReader struct {
	left int // number of values that are still allowed
}

// value returns the value of a node. depth is the number of lists, mappings and aliases around it.
// ok is false if the value cannot be read: it has a tag of another type, a key that is not a scalar
// or is repeated, is nested deeper than maxDepth, or exceeds maxHeadValues.
func (r *headReader) value(n *yaml.Node, depth int) (v any, ok bool) {
	if r.left--; r.left < 0 || depth > maxDepth {
		return nil, false
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.MappingNode:
		m, ok := r.mapping(n, depth)
		return m, ok && collectionTag(n, "!!map")
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			item, ok := r.value(c, depth+1)
			if !ok {
				return nil, false
			}
			list = append(list, item)
		}
		return list, collectionTag(n, "!!seq")
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, false
}

// collectionTag reports whether a list or mapping has no explicit tag, or its own.
func collectionTag(n *yaml.Node, own string) bool {
	return n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == own
}

// mapping returns a mapping. Keys of merged mappings (`<<`) are after its own keys, which take
// precedence. ok is false for a mapping that cannot be read; see value.
func (r *headReader) mapping(n *yaml.Node, depth int) (*Map, bool) {
	m, merged, seen := &Map{}, []*yaml.Node{}, make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		name, ok := keyText(key)
		if !ok || seen[name] {
			return nil, false
		}
		v, ok := r.value(value, depth+1)
		if !ok {
			return nil, false
		}
		seen[name] = true
		m.Keys, m.Values = append(m.Keys, name), append(m.Values, v)
	}
	for _, value := range merged {
		if !r.merge(m, seen, value, depth) {
			return nil, false
		}
	}
	return m, true
}

// merge adds the keys of a mapping, or of a list of mappings, that m does not have. seen contains
// the keys of m. It reports whether n is valid; a list of lists is not.
func (r *headReader) merge(m *Map, seen map[string]bool, n *yaml.Node, depth int) bool {
	if n.Kind == yaml.SequenceNode {
		return !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
			return c.Kind == yaml.SequenceNode || !r.merge(m, seen, c, depth+1)
		})
	}
	v, ok := r.value(n, depth+1)
	other, isMap := v.(*Map)
	if !ok || !isMap {
		return false
	}
	for i, key := range other.Keys {
		if !seen[key] {
			seen[key] = true
			m.Keys, m.Values = append(m.Keys, key), append(m.Values, other.Values[i])
		}
	}
	return true
}

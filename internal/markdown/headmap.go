package markdown

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// A Map is the YAML mapping in the frontmatter of a note, in text order. Values are nil, bool,
// string, Number, Date, []any of these, and *Map. It is empty for a frontmatter that is not a
// mapping, has a duplicate key or a key that is not a scalar, or does not parse.
type Map struct {
	Keys   []string
	Values []any
}

// A Number is a number in JSON notation. It keeps all digits of an integer.
type Number string

// MarshalJSON returns the digits.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// A Date is an unquoted date, with or without a time.
type Date struct {
	Text string    // as written
	Time time.Time // in UTC; a text without a zone is UTC
}

// ISO returns the time in the format of JavaScript's JSON: 2025-03-01T00:00:00.000Z.
func (d Date) ISO() string { return d.Time.Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON returns the time in the format of ISO.
func (d Date) MarshalJSON() ([]byte, error) { return json.Marshal(d.ISO()) }

// Get returns the value of a key, and whether there is one. It may be called on nil.
func (m *Map) Get(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	i := slices.Index(m.Keys, key)
	if i < 0 {
		return nil, false
	}
	return m.Values[i], true
}

// MarshalJSON returns an object with the keys in text order; {} for nil.
func (m *Map) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	b := []byte{'{'}
	for i, key := range m.Keys {
		if i > 0 {
			b = append(b, ',')
		}
		for j, part := range []any{key, m.Values[i]} {
			data, err := marshal(part)
			if err != nil {
				return nil, err
			}
			if b = append(b, data...); j == 0 {
				b = append(b, ':')
			}
		}
	}
	return append(b, '}'), nil
}

// marshal returns JSON without escapes for <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Head returns the mapping between the same two lines `---` as the Frontmatter. It is independent
// of a Problem, and contains fields that are mappings, too. The result is never nil.
func (d *Doc) Head() *Map { return headOf(d.root) }

// StrictHead returns the mapping in the frontmatter of a note, and the offset of the body. It is
// for tools that accept a frontmatter in one form only: the text begins with `---`, without a byte
// order mark, and a later line is `---`, each without blanks and with a line break. Otherwise the
// mapping is empty and the body is the whole text.
func StrictHead(text []byte) (*Map, int) {
	inner, body, ok := strictFence(text)
	if !ok {
		return &Map{}, 0
	}
	root, problem := loadYAML(newExtent(text, inner))
	if problem != nil {
		return &Map{}, body
	}
	return headOf(root), body
}

// StrictBody returns the offset of the body as StrictHead does; 0 without such a frontmatter.
func StrictBody(text []byte) int {
	_, body, _ := strictFence(text)
	return body
}

// StrictHead returns the mapping of the function StrictHead for text, from which d was parsed. head
// must be d.Head(); it is returned if the mappings are the same.
//
// It exists because most callers have the Doc already: in the usual case the YAML is not parsed
// again.
func (d *Doc) StrictHead(text []byte, head *Map) *Map {
	switch _, end, ok := strictFence(text); {
	case !ok:
		return &Map{}
	case end == d.Body && (d.root != nil || d.Problem == nil): // then it begins at the same line
		return head
	}
	strict, _ := StrictHead(text)
	return strict
}

// strictFence finds the frontmatter of StrictHead: the YAML, and the end of the line after it. At
// least one line must be between the two fences. ok is false if there is none.
func strictFence(text []byte) (inner Span, end int, ok bool) {
	first := lineNext(text, 0)
	if !isStrictFence(text[:first]) {
		return inner, 0, false
	}
	for at := lineNext(text, first); at < len(text); at = end {
		end = lineNext(text, at)
		if isStrictFence(text[at:end]) {
			return Span{first, at}, end, true
		}
	}
	return inner, 0, false
}

// isStrictFence reports whether a line is exactly `---` with a line break.
func isStrictFence(line []byte) bool { return string(line) == "---\n" || string(line) == "---\r\n" }

// headOf returns the mapping of a YAML value, or an empty one if it is none.
func headOf(root *yaml.Node) *Map {
	r := headReader{left: maxHeadValues}
	if root == nil || root.Kind != yaml.MappingNode {
		return &Map{}
	}
	m, ok := r.mapping(root, 0)
	if !ok {
		return &Map{}
	}
	return m
}

// TextOf returns a value of a Map as text. It is the text of JavaScript's String, except that a
// Date is in the format of ISO: a number in JSON notation, the items of a list with commas between
// them, "[object Object]" for a mapping, and "null" for nil. A nil item of a list is empty.
func TextOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case Number:
		return string(v)
	case Date:
		return v.ISO()
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			if item != nil {
				items[i] = TextOf(item)
			}
		}
		return strings.Join(items, ",")
	}
	return "[object Object]"
}

// TextsOf returns the values of a field that is a list, or a text of values separated by commas.
// Each is the TextOf a value, without blanks around it. It returns nil for nil.
func TextsOf(v any) []string {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		parts := strings.Split(TextOf(v), ",")
		for i, part := range parts {
			parts[i] = trimText(part)
		}
		return parts
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = trimText(TextOf(item))
	}
	return texts
}

// trimText returns a text without blanks around it, as JavaScript's trim does.
func trimText(s string) string { return strings.TrimFunc(s, IsSpace) }

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

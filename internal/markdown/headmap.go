package markdown

import (
	"bytes"
	"encoding/json"
	"slices"
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

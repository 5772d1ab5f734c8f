package markdown

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"
)

// A Map is the mapping at the head of a note as YAML says it, in text order. Values are nil, bool, string,
// Number, Date, []any of these, and *Map. An empty Map is also the answer for a head that is no mapping, has a
// key twice or a key that is no scalar, or does not parse.
type Map struct {
	Keys   []string
	Values []any
}

// A Number is a number as JSON writes it. It keeps all digits of an integer.
type Number string

// MarshalJSON writes the digits.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// A Date is a date or a time of day on a date, written without quotes.
type Date struct {
	Text string    // as written
	Time time.Time // UTC; without a zone in the text, UTC is meant
}

// ISO is the time as JSON has it: 2025-03-01T00:00:00.000Z.
func (d Date) ISO() string { return d.Time.Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON writes the time as ISO does.
func (d Date) MarshalJSON() ([]byte, error) { return json.Marshal(d.ISO()) }

// Get finds the value of a key. It may be called on nil, which has none.
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

// MarshalJSON writes an object with the keys in text order.
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

// marshal is JSON with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Head returns the mapping at the head of a note, by the same two lines `---` as the Frontmatter. It does not
// depend on a Problem: fields that are mappings are in it too.
func (d *Doc) Head() *Map { return headOf(d.root) }

// StrictHead returns the mapping at the head of a note and the offset where the body begins, for tools that
// take a head only in one form: the text begins with `---`, without a byte order mark, and a later line is
// `---`, each without blanks and with a line break. Without such a head the body is the whole text.
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

// StrictBody returns the offset where the body begins, as StrictHead does; 0 without such a head.
func StrictBody(text []byte) int {
	_, body, _ := strictFence(text)
	return body
}

// StrictHead returns the mapping of the function StrictHead, for the note that was parsed. head is its Head,
// which is returned if it is the same.
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

// strictFence finds the head of StrictHead: the YAML, and the end of the line behind it.
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

func isStrictFence(line []byte) bool { return string(line) == "---\n" || string(line) == "---\r\n" }

// headOf is the mapping that a YAML value is; empty if it is none.
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

// Package yamltext edits YAML by splicing bytes, so that everything that an edit does not change
// keeps its comments, its order and its quotes.
//
// Every edit is verified: the new text is parsed, and its content must be the old content with
// exactly the requested change. An edit for which this is impossible, such as one in an alias,
// returns ErrNotEditable and no text.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ErrNotEditable is the error of an edit that would change more than was requested.
var ErrNotEditable = errors.New("the text cannot be edited without changing more of it")

// A Map is a mapping with its keys in order. A value is a string, a number, a bool, nil, a
// []string, a []any of these, or a Map.
type Map []Entry

// An Entry is one key of a mapping with its value.
type Entry struct {
	Key   string
	Value any
}

// maxBytes is the maximum length of a text that can be edited.
const maxBytes = 1 << 20

// Set returns the text with a value at a path of keys. Missing mappings on the path are created at
// the end of the existing one. An existing entry keeps its place. A Map is merged into an existing
// mapping key by key: its other keys are kept.
func Set(text []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("%w: no key is named", ErrNotEditable)
	}
	m, isMap := value.(Map)
	if isMap && len(m) > 0 {
		if d, err := read(text); err == nil && d.mapping(path) != nil {
			return setEach(text, path, m)
		}
	}
	return edit(text, path, func(d *doc) ([]byte, error) { return d.set(path, value) },
		func(root *yaml.Node) { setPath(root, path, value) })
}

// setEach sets the entries of a mapping one after the other.
func setEach(text []byte, path []string, m Map) ([]byte, error) {
	for _, e := range m {
		next, err := Set(text, append(slices.Clone(path), e.Key), e.Value)
		if err != nil {
			return nil, err
		}
		text = next
	}
	return text, nil
}

// Remove returns the text without the entry at a path of keys, or the same text if there is no such
// entry. A mapping that becomes empty is kept as {}.
func Remove(text []byte, path []string) ([]byte, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 || !d.has(path) {
		return text, nil
	}
	above := path[:len(path)-1]
	if m := d.mapping(above); len(above) > 0 && len(m.Content) == 2 {
		return Set(text, above, Map{})
	}
	return edit(text, path, func(d *doc) ([]byte, error) { return d.remove(path) },
		func(root *yaml.Node) { removePath(root, path) })
}

// edit changes the text and its parsed content in the same way, and compares the new text with the
// new content.
func edit(
	text []byte, path []string, splice func(*doc) ([]byte, error), change func(root *yaml.Node),
) ([]byte, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	if err := d.editable(path); err != nil {
		return nil, err
	}
	now, err := splice(d)
	if err != nil {
		return nil, err
	}
	got, err := read(now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotEditable, err)
	}
	was := orEmpty(d.root)
	change(was)
	if canonical(was) != canonical(orEmpty(got.root)) {
		return nil, ErrNotEditable
	}
	return now, nil
}

// orEmpty returns a mapping, or an empty one for nil.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	return n
}

// A doc is a text with its parsed content.
type doc struct {
	text  []byte
	lines []int      // the offset of each line
	root  *yaml.Node // a mapping; nil: the text has no content
	crlf  bool
}

// read parses a text, which must be a mapping or have no content.
func read(text []byte) (*doc, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%w: it is too long", ErrNotEditable)
	}
	d := &doc{text: text, lines: []int{0}, crlf: bytes.Contains(text, []byte("\r\n"))}
	for i, c := range text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	var n yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&n); err != nil && len(bytes.TrimSpace(text)) > 0 && !isBare(text) {
		return nil, fmt.Errorf("%w: it is not YAML", ErrNotEditable)
	}
	if dec.Decode(&yaml.Node{}) == nil {
		return nil, fmt.Errorf("%w: it is several documents", ErrNotEditable)
	}
	if n.Kind != yaml.DocumentNode || len(n.Content) == 0 || n.Content[0].ShortTag() == "!!null" {
		return d, nil
	}
	if d.root = n.Content[0]; d.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%w: it is not a mapping", ErrNotEditable)
	}
	// Some errors, such as a key that is there twice, are found only when values are made of the nodes.
	if err := d.root.Decode(&map[string]any{}); err != nil {
		return nil, fmt.Errorf("%w: it is not valid YAML", ErrNotEditable)
	}
	return d, nil
}

// isBare reports whether a text consists of blank lines and comments.
func isBare(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// editable returns an error if the path leads through an alias or a merge key, or if one of its
// keys occurs twice.
func (d *doc) editable(path []string) error {
	n := d.root
	for _, key := range path {
		if n == nil {
			return nil
		}
		if n.Kind == yaml.AliasNode {
			return fmt.Errorf("%w: an alias is in the way", ErrNotEditable)
		}
		if n.Kind != yaml.MappingNode {
			return nil
		}
		found := 0
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].ShortTag() == "!!merge" {
				return fmt.Errorf("%w: a merge key is in the way", ErrNotEditable)
			}
			if n.Content[i].Value == key {
				found++
			}
		}
		if found > 1 {
			return fmt.Errorf("%w: a key occurs twice", ErrNotEditable)
		}
		_, n = member(n, key)
	}
	return nil
}

// member returns the key and the value of an entry of a mapping, or nil if there is none.
func member(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// mapping returns the mapping at a path, or nil if there is none.
func (d *doc) mapping(path []string) *yaml.Node {
	n := d.root
	for _, key := range path {
		_, n = member(n, key)
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	return n
}

// has reports whether there is an entry at a path.
func (d *doc) has(path []string) bool {
	k, _ := member(d.mapping(path[:len(path)-1]), path[len(path)-1])
	return k != nil
}

// canonical returns the content of a node as a text, without positions, styles and comments.
func canonical(n *yaml.Node) string {
	var b strings.Builder
	write(&b, n, 0)
	return b.String()
}

// maxDepth is the maximum depth to which canonical reads a node; aliases cannot lead deeper.
const maxDepth = 100

func write(b *strings.Builder, n *yaml.Node, depth int) {
	switch {
	case n == nil || depth > maxDepth:
	case n.Kind == yaml.AliasNode:
		fmt.Fprintf(b, "*%s", n.Value)
	case n.Kind == yaml.ScalarNode:
		fmt.Fprintf(b, "&%s %s %q", n.Anchor, n.ShortTag(), n.Value)
	default:
		fmt.Fprintf(b, "&%s %d(", n.Anchor, n.Kind)
		for _, each := range n.Content {
			write(b, each, depth+1)
			b.WriteByte(',')
		}
		b.WriteByte(')')
	}
}

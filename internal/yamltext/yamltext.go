// Package yamltext edits texts of YAML by splicing bytes: what an edit does not change keeps its comments,
// its order and its quotes.
//
// Every edit is proved: the new text is read again, and must say what was meant, and nothing else. What
// cannot be edited so, such as an entry of an alias, is ErrNotEditable, and the text stays as it is.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ErrNotEditable is the error of an edit that would change more than it should.
var ErrNotEditable = errors.New("the text cannot be edited without changing more of it")

// A Map is a mapping with its keys in order. Values are texts, numbers, booleans, nil, []string, []any of these,
// and Maps.
type Map []Entry

// An Entry is one key of a mapping.
type Entry struct {
	Key   string
	Value any
}

// maxBytes is how long a text may be that is edited.
const maxBytes = 1 << 20

// Set returns the text with a value at a path of keys. Mappings on the way that are not there are made, at
// the end of the one that is. An entry that is there keeps its place. A Map in the place of a mapping is
// merged into it key by key: keys beyond stay.
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

// Remove returns the text without the entry at a path of keys. Without such an entry it is the text as it
// is. A mapping that becomes empty stays, as {}.
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

// edit makes a change of the text and the same change of what it says, and compares what comes out.
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

// orEmpty is a mapping, an empty one for none.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	return n
}

// A doc is a text with what it says.
type doc struct {
	text  []byte
	lines []int      // where each line begins
	root  *yaml.Node // a mapping; nil: the text says nothing
	crlf  bool
}

// read reads a text: a mapping, or nothing.
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
		return nil, fmt.Errorf("%w: it is no mapping", ErrNotEditable)
	}
	// Some errors, such as a key that is there twice, are found only when values are made of the nodes.
	if err := d.root.Decode(&map[string]any{}); err != nil {
		return nil, fmt.Errorf("%w: it is not valid YAML", ErrNotEditable)
	}
	return d, nil
}

// isBare reports whether a text has nothing but blank lines and comments.
func isBare(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// editable is an error if the way to a path leads through what is not written there, or is twice there.
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
			return fmt.Errorf("%w: a key is there twice", ErrNotEditable)
		}
		_, n = member(n, key)
	}
	return nil
}

// member is an entry of a mapping: its key and its value; nil if there is none.
func member(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// mapping is the mapping at a path; nil if there is none.
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

// canonical is what a node says, as one text: without places, styles and comments.
func canonical(n *yaml.Node) string {
	var b strings.Builder
	write(&b, n, 0)
	return b.String()
}

// maxDepth is how deep a node is read; aliases lead no deeper.
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

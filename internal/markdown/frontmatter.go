package markdown

import (
	"bytes"
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Frontmatter is the mapping of fields at the head of a note.
type Frontmatter struct {
	Entries []Entry // in text order
	Inner   Span    // the lines between the two `---`

	indent int  // the columns before each key
	flow   bool // the mapping is written as {…}, or otherwise than key by key
}

// An Entry is one field of the frontmatter.
type Entry struct {
	Key   string
	Value any // string, float64, bool, nil, Ref, or []any of these

	Line  int  // of the key
	Lines Span // the whole lines of the field; empty in a mapping that is written in braces
	Text  Span // the value as it is written, without a comment behind it; empty likewise

	node    *yaml.Node
	keyLine int // of the key, as YAML counts lines
	colon   int // the offset after the colon behind the key; 0: the key is not followed by one
}

// Get finds a field. It may be called on nil, which has none.
func (f *Frontmatter) Get(key string) (Entry, bool) {
	if f == nil {
		return Entry{}, false
	}
	for _, e := range f.Entries {
		if e.Key == key {
			return e, true
		}
	}
	return Entry{}, false
}

// A head is what stands before the body of a note: the byte order mark and the frontmatter, or
// nothing.
type head struct {
	fm      *Frontmatter
	problem *Problem
	end     int        // where the body begins
	root    *yaml.Node // what YAML reads between the two `---`; nil: nothing
}

// ReadHead returns the frontmatter of a note, nil if there is none that can be used, and the offset
// where the body begins. It reads no more of the text than that.
func ReadHead(text []byte) (*Frontmatter, int) {
	h := readHead(text)
	return h.fm, h.end
}

// readHead reads the head of a note. There is a frontmatter if the first line, blanks around it
// aside, is `---`, and a later line is too.
func readHead(text []byte) head {
	h := head{}
	if bytes.HasPrefix(text, []byte(bom)) {
		h.end = len(bom)
	}
	inner, end, ok := fence(text, h.end)
	if !ok {
		return h
	}
	h.end = end
	x := newExtent(text, inner)
	if h.root, h.problem = loadYAML(x); h.problem == nil {
		h.fm, h.problem = parseFrontmatter(x, h.root)
	}
	return h
}

// fence finds the frontmatter that begins at the offset: the lines between the two `---`, and the
// end of the second.
func fence(text []byte, from int) (inner Span, end int, ok bool) {
	inner.Start = lineNext(text, from)
	if !isFence(text[from:inner.Start]) {
		return inner, 0, false
	}
	for at := inner.Start; at < len(text); at = end {
		end = lineNext(text, at)
		if isFence(text[at:end]) {
			inner.End = at
			return inner, end, true
		}
	}
	return inner, 0, false
}

func isFence(line []byte) bool { return string(bytes.TrimSpace(line)) == "---" }

// parseFrontmatter makes fields of the YAML in the extent, whose value this is; nil: there is none.
func parseFrontmatter(x *extent, root *yaml.Node) (*Frontmatter, *Problem) {
	fm := &Frontmatter{Inner: x.inner}
	if root == nil {
		return fm, nil
	}
	if problem := checkMapping(x, root); problem != nil {
		return nil, problem
	}
	fm.indent = root.Column - 1
	fm.flow = root.Style&yaml.FlowStyle != 0
	fm.Entries = x.entries(root, fm.flow)
	return fm, nil
}

// loadYAML is the one value in the text, nil if there is none.
func loadYAML(x *extent) (*yaml.Node, *Problem) {
	if blankOrComment(x.text[x.inner.Start:x.inner.End]) {
		return nil, nil
	}
	var doc yaml.Node
	err := yaml.Load(x.text[x.inner.Start:x.inner.End], &doc)
	if err == nil && len(doc.Content) == 1 {
		return doc.Content[0], nil
	}
	at := x.inner.Start
	var load *yaml.LoadError
	if errors.As(err, &load) && load.Mark.Line > 0 {
		at = x.lineOffset(min(load.Mark.Line, len(x.lines)))
	}
	return nil, &Problem{x.fileLine(at), "the frontmatter is not valid YAML; it must be lines of " +
		"`key: value`, with quotes around a value that holds `: ` or ` #` or begins with a " +
		"character that means something to YAML"}
}

// blankOrComment reports whether YAML finds nothing in the text.
func blankOrComment(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.Trim(line, " \t\r\n")
		if line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// checkMapping says what keeps the value from being the fields of a note.
func checkMapping(x *extent, root *yaml.Node) *Problem {
	if root.Kind != yaml.MappingNode {
		return x.problem(root, "the frontmatter is not a mapping; write lines of `key: value`")
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.ShortTag() == "!!merge" {
			return x.problem(key, "a key of the frontmatter is not a plain word")
		}
		if seen[key.Value] {
			return x.problem(key, "a key stands in the frontmatter twice; keep one of them")
		}
		seen[key.Value] = true
		if p := checkValue(x, value, 0); p != nil {
			return p
		}
	}
	return nil
}

// checkValue says what keeps a value from being one of a field: scalars, and lists of them.
func checkValue(x *extent, n *yaml.Node, depth int) *Problem {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return x.problem(n, "the frontmatter has a YAML anchor or alias; write the value out")
	case n.Kind == yaml.MappingNode:
		return x.problem(n, "a field of the frontmatter holds a mapping; "+
			"a field can hold text, a number, a date, true or false, or a list")
	case depth > maxDepth:
		return x.problem(n, "the lists of a field are nested too deep")
	}
	for _, c := range n.Content {
		if p := checkValue(x, c, depth+1); p != nil {
			return p
		}
	}
	return nil
}

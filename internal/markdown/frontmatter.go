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
	Value any // string, float64, bool, nil, Ref, Nested, or []any of these

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

	template bool         // a value is a placeholder as a whole
	salvaged *Frontmatter // with a problem: the fields that can be read all the same
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
	h.template = wholePlaceholder.Match(text[inner.Start:inner.End])
	x := newExtent(text, inner)
	if h.root, h.problem = loadYAML(x); h.problem == nil {
		h.fm, h.problem = parseFrontmatter(x, h.root)
	}
	if h.problem != nil {
		h.salvaged = x.salvage()
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
	if problem := checkHead(x, root); problem != nil {
		return nil, problem
	}
	if root.Kind != yaml.MappingNode {
		return fm, nil // it has no fields
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
	if problem := x.tooMany(); problem != nil {
		return nil, problem
	}
	var doc yaml.Node
	text, templated := hidePlaceholders(x.text[x.inner.Start:x.inner.End])
	err := yaml.Load(text, &doc)
	if err == nil && len(doc.Content) == 1 {
		if templated {
			showPlaceholders(&doc)
		}
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

// maxYAML is how many values the text of a frontmatter may have at most, by the lines, which count three times, and
// the commas and brackets in it. YAML makes nodes of them before their values can be counted.
const maxYAML = 150_000

// tooMany returns the Problem of a frontmatter that may have more values than are read, nil if it has fewer.
func (x *extent) tooMany() *Problem {
	text := x.text[x.inner.Start:x.inner.End]
	if len(text) <= maxYAML/3 {
		return nil
	}
	marks := 3 * len(x.lines)
	for _, mark := range []byte{',', '[', '{'} {
		marks += bytes.Count(text, []byte{mark})
	}
	if marks <= maxYAML {
		return nil
	}
	return &Problem{x.fileLine(x.inner.Start), "the frontmatter has too many lines and values to be read; " +
		"move some of them into the text"}
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

// checkHead says what keeps the value from being read: a key that stands twice, which is no YAML, and what
// mappings and aliases make of it, if that is more than maxHeadValues.
func checkHead(x *extent, root *yaml.Node) *Problem {
	seen, left := map[string]bool{}, maxHeadValues
	for i := 0; root.Kind == yaml.MappingNode && i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind == yaml.ScalarNode && seen[key.Value] {
			return x.problem(key, "a key stands in the frontmatter twice; keep one of them")
		}
		seen[key.Value] = true
		if p := checkValue(x, value, 0, &left, false); p != nil {
			return p
		}
	}
	return nil
}

// checkValue says what keeps a value from being read. An alias counts as what it stands for; what is written
// out costs no more than its text.
func checkValue(x *extent, n *yaml.Node, depth int, left *int, repeated bool) *Problem {
	if repeated {
		*left--
	}
	switch {
	case *left < 0:
		return x.problem(n, "the aliases of the frontmatter stand for too many values; write fewer")
	case depth > maxDepth:
		return x.problem(n, "the lists of a field are nested too deep")
	case n.Kind == yaml.AliasNode:
		if p := checkValue(x, n.Alias, depth+1, left, true); p != nil {
			return x.problem(n, p.Message)
		}
		return nil
	case n.Kind == yaml.MappingNode:
		r := headReader{left: *left}
		if _, ok := r.value(n, depth); !ok {
			return x.problem(n, "a field has a mapping with a key that stands twice or is no text, "+
				"or with too many values")
		}
		*left = r.left
		return nil
	}
	for _, c := range n.Content {
		if p := checkValue(x, c, depth+1, left, repeated); p != nil {
			return p
		}
	}
	return nil
}

// namesField reports whether a key of the mapping is the name of a field: a plain word, not `<<`.
func namesField(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge"
}

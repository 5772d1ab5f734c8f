package markdown

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Frontmatter is the mapping of fields at the head of a note. If the YAML between the lines `---`
// is empty or not a mapping, it has no Entries, but the note still has a Frontmatter.
type Frontmatter struct {
	Entries []Entry // in text order
	Inner   Span    // the lines between the two `---`

	indent int  // number of columns before each key
	flow   bool // the mapping is written as {…}, so no field has a position
}

// An Entry is one field of the frontmatter.
type Entry struct {
	Key   string
	Value any // string, float64, bool, nil, Ref, Nested, or []any of these

	Line  int  // of the key
	Lines Span // the whole lines of the field; empty in a mapping in braces
	Text  Span // the value as it is written, without a comment after it; empty in a mapping in braces

	node    *yaml.Node
	keyLine int // the line of the key, as YAML counts lines
	colon   int // the offset after the colon of the key; 0: there is none that edits can use
}

// Get returns the field with a key, and whether there is one. It may be called on nil.
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

// A head is the part of a note before its body: the byte order mark and the frontmatter. Both can
// be missing; the zero head is that of a note without them. At most one of fm and problem is set.
type head struct {
	fm      *Frontmatter
	problem *Problem
	end     int        // the offset of the body
	root    *yaml.Node // the YAML between the two `---`; nil if there is none

	template bool         // the whole value of a field is a placeholder
	salvaged *Frontmatter // with a problem: the fields that can be read nevertheless
}

// ReadHead returns the frontmatter of a note, or nil if there is none or it cannot be used, and the
// offset of the body. It does not parse the body.
//
// It is for callers that need only fields: it is much faster than Parse for a long note.
func ReadHead(text []byte) (*Frontmatter, int) {
	h := readHead(text)
	return h.fm, h.end
}

// BodyStart returns the offset of the body of a note, the same as ReadHead. It does not read the
// YAML of the frontmatter.
func BodyStart(text []byte) int {
	start := afterBOM(text)
	if _, end, ok := fence(text, start); ok {
		return end
	}
	return start
}

// afterBOM returns the offset after the byte order mark that a text begins with; 0 if there is none.
func afterBOM(text []byte) int {
	if bytes.HasPrefix(text, []byte(bom)) {
		return len(bom)
	}
	return 0
}

// readHead parses the head of a note. There is a frontmatter if the first line is `---`, ignoring
// blanks around it, and a later line is too. It never fails; see head.problem. If there is a
// problem, fields that are valid on their own are in salvaged, but not in fm, so that edits do not
// use them.
func readHead(text []byte) head {
	h := head{end: afterBOM(text)}
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

// fence returns the frontmatter that begins at the offset: the lines between the two `---`, and the
// end of the second one. ok is false if there is none.
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

// isFence reports whether a line is `---`, ignoring blanks around it and its line break.
func isFence(line []byte) bool { return string(bytes.TrimSpace(line)) == "---" }

// parseFrontmatter returns the fields of the YAML value root of an extent, or the Problem that
// prevents them from being read. root is nil if there is no value. A value that is not a mapping
// has no fields and is not a Problem.
func parseFrontmatter(x *extent, root *yaml.Node) (*Frontmatter, *Problem) {
	fm := &Frontmatter{Inner: x.inner}
	if root == nil {
		return fm, nil
	}
	if problem := checkHead(x, root); problem != nil {
		return nil, problem
	}
	if root.Kind != yaml.MappingNode {
		return fm, nil // there are no fields
	}
	fm.indent = root.Column - 1
	fm.flow = root.Style&yaml.FlowStyle != 0
	fm.Entries = x.entries(root, fm.flow)
	return fm, nil
}

// loadYAML returns the YAML value of the extent, or nil if there is none.
//
// Placeholders of templates are hidden while the YAML module parses the text, because it would
// parse `{{date}}` as a mapping. The message of the Problem does not contain the error of the
// module, which quotes the note.
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
	if load, ok := errors.AsType[*yaml.LoadError](err); ok && load.Mark.Line > 0 {
		at = x.lineOffset(min(load.Mark.Line, len(x.lines)))
	}
	return nil, &Problem{x.fileLine(at), "the frontmatter is not valid YAML; it must be lines of " +
		"`key: value`, with quotes around a value that holds `: ` or ` #` or begins with a " +
		"character that means something to YAML"}
}

// maxYAML bounds the number of values of a frontmatter. They are estimated before YAML creates
// nodes for them: each line counts three, each comma and opening bracket one.
const maxYAML = 150_000

// tooMany returns a Problem if the frontmatter exceeds maxYAML, and otherwise nil.
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

// blankOrComment reports whether a text contains only blank lines and comments.
func blankOrComment(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.Trim(line, " \t\r\n")
		if line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// checkHead returns the Problem that prevents a value from being read, or nil: a duplicate key,
// which is invalid YAML, or more than maxHeadValues values from mappings and aliases.
func checkHead(x *extent, root *yaml.Node) *Problem {
	seen, left := map[string]bool{}, maxHeadValues
	for i := 0; root.Kind == yaml.MappingNode && i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind == yaml.ScalarNode && seen[key.Value] {
			return x.problem(key, "a key occurs twice in the frontmatter; keep one of them")
		}
		seen[key.Value] = true
		if p := checkValue(x, value, 0, &left, false); p != nil {
			return p
		}
	}
	return nil
}

// checkValue returns the Problem that prevents a value from being read, or nil. left is the number
// of values that are still allowed: only those that are repeated by aliases, or are in mappings,
// count. repeated reports that the value is in an alias.
//
// Aliases can refer to lists of aliases, so a short frontmatter can have an exponential number of
// values. The count ends the check after maxHeadValues of them, and such a frontmatter is never
// decoded.
func checkValue(x *extent, n *yaml.Node, depth int, left *int, repeated bool) *Problem {
	if repeated {
		*left--
	}
	switch {
	case *left < 0:
		return x.problem(n, "the aliases of the frontmatter expand to too many values; use fewer")
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
			return x.problem(n, "a field has a mapping with too many values, "+
				"or with a key that occurs twice or is not a text")
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

// namesField reports whether a key of the mapping is the name of a field: a scalar other than `<<`.
func namesField(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge"
}

// salvaged are the fields that are read from a frontmatter that is not valid YAML. They contain
// names and tags of the note.
var salvaged = []string{"alias", "aliases", "tags"}

// salvage returns those fields of an invalid frontmatter that can be parsed separately, or nil if
// there are none. A note with one invalid field thus keeps its names, so that references to it
// still resolve. The fields have no positions, so they cannot be edited. Of a repeated field, the
// first counts.
func (x *extent) salvage() *Frontmatter {
	fm := &Frontmatter{Inner: x.inner, flow: true}
	for at := x.inner.Start; at < x.inner.End; {
		end := x.fieldEnd(at)
		key, _, isField := bytes.Cut(x.text[at:end], []byte{':'})
		if name := string(key); isField && slices.Contains(salvaged, name) {
			if _, twice := fm.Get(name); !twice {
				fm.Entries = append(fm.Entries, x.salvageField(Span{at, end})...)
			}
		}
		at = end
	}
	if len(fm.Entries) == 0 {
		return nil
	}
	return fm
}

// fieldEnd returns the end of the lines that may belong to the field that begins at at: those that
// are indented, blank, or list items.
func (x *extent) fieldEnd(at int) int {
	end := x.lineNext(at)
	for end < x.inner.End && bytes.IndexByte([]byte(" \t-\r\n"), x.text[end]) >= 0 {
		end = x.lineNext(end)
	}
	return end
}

// salvageField returns the field in some lines as a list of one Entry, or nil if they are not valid
// YAML.
func (x *extent) salvageField(lines Span) []Entry {
	part := newExtent(x.text, lines)
	root, problem := loadYAML(part)
	if problem != nil || root == nil || root.Kind != yaml.MappingNode || checkHead(part, root) != nil {
		return nil
	}
	all := part.entries(root, true)
	for i := range all {
		all[i].Line += bytes.Count(x.text[:lines.Start], []byte{'\n'})
	}
	return all
}

// placeholder matches a part of a template that a plugin replaces, such as `{{date}}`. YAML would
// parse it as a mapping.
var placeholder = regexp.MustCompile(`\{\{[^{}\r\n]*\}\}`)

// wholePlaceholder matches a field whose whole value is a placeholder.
var wholePlaceholder = regexp.MustCompile(`(?m)^[^\s#:][^:\r\n]*:[ \t]*["']?\{\{[^{}\r\n]*\}\}["']?[ \t]*\r?$`)

// These texts replace the braces of placeholders while YAML parses them. They have the same length,
// so that offsets stay the same, and are plain text in YAML.
const (
	openHidden  = "~<"
	closeHidden = ">~"
)

// hidePlaceholders returns a text with the braces of placeholders replaced, and whether any were.
// It returns a text that already contains the replacements unchanged, because showPlaceholders
// could not distinguish them. The length of the text is the same.
func hidePlaceholders(text []byte) ([]byte, bool) {
	has := func(sign string) bool { return bytes.Contains(text, []byte(sign)) }
	if !has("{{") || has(openHidden) || has(closeHidden) {
		return text, false
	}
	hidden := placeholder.ReplaceAllFunc(text, func(found []byte) []byte {
		return []byte(openHidden + string(found[2:len(found)-2]) + closeHidden)
	})
	return hidden, !bytes.Equal(hidden, text)
}

// showPlaceholders restores the placeholders in the scalars of a node.
func showPlaceholders(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value = strings.NewReplacer(openHidden, "{{", closeHidden, "}}").Replace(n.Value)
	}
	for _, c := range n.Content {
		showPlaceholders(c)
	}
}

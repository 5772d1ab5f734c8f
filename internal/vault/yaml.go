package vault

import (
	"errors"
	"math"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"rookery/internal/fault"
)

// maxEntries bounds how many entries are read of one file: with aliases, a small file can stand for
// one without end.
const maxEntries = 100_000

// A reader reads one of the vault's YAML files and collects what is wrong with it.
type reader struct {
	file     string
	problems []*fault.Fault
	read     int // entries
}

// A pair is one entry of a mapping.
type pair struct {
	key   string
	value *yaml.Node
	line  int
}

// maxProblems bounds how many problems of a file are told.
const maxProblems = 100

// report adds a problem of a line.
func (r *reader) report(line int, format string, args ...any) {
	r.note(fault.New(fault.SchemaError, format, args...).At(r.file, line))
}

// note notes a problem, unless there are very many.
func (r *reader) note(problem *fault.Fault) {
	if len(r.problems) < maxProblems {
		problem.Message = r.file + ": " + problem.Message
		r.problems = append(r.problems, problem)
	}
}

// err is what is wrong with the file, nil if nothing is.
func (r *reader) err() error {
	if f := fault.Join(fault.SchemaError, r.problems); f != nil {
		return f
	}
	return nil
}

// listInBraces is `{ type: string[] }`, in which YAML takes the brackets for a list.
var listInBraces = regexp.MustCompile(`\{[^}"']*\b\w+\[\]`)

// root is the top of the file, nil for an empty one.
func (r *reader) root(text []byte) *yaml.Node {
	var doc yaml.Node
	err := yaml.Load(text, &doc)
	switch {
	case err == nil && len(doc.Content) == 1:
		return doc.Content[0]
	case err == nil || blank(text):
		return nil
	}
	line, cause := 1, "it cannot be read"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		line, cause = max(1, load.Mark.Line), load.Message
	}
	if bad := firstLine(text, listInBraces); bad > 0 {
		r.report(bad, "not valid YAML: inside braces a list type is quoted, "+
			`as in { type: "string[]" }`)
		return nil
	}
	r.report(line, "not valid YAML: %s", cause)
	return nil
}

// entries are the entries of a mapping. A key that stands there twice is a problem; nothing at all is
// an empty mapping.
func (r *reader) entries(n *yaml.Node, what string) []pair {
	n = target(n)
	if n == nil || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.report(n.Line, "%s must be a mapping: lines of `name: …`", what)
		return nil
	}
	var all []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && r.more(n); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			r.report(key.Line, "a key of %s must be a plain word", what)
		case seen[key.Value]:
			r.report(key.Line, "%s has %q twice; keep one of them", what, key.Value)
		default:
			seen[key.Value] = true
			all = append(all, pair{key.Value, target(n.Content[i+1]), key.Line})
		}
	}
	return all
}

// more counts one more entry, and reports when there are too many.
func (r *reader) more(n *yaml.Node) bool {
	if r.read++; r.read == maxEntries {
		r.report(n.Line, "the file has more than %d entries, its aliases written out", maxEntries)
	}
	return r.read < maxEntries
}

// target is the node that an alias stands for, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text is the text of a scalar; "" for null.
func (r *reader) text(p pair) string {
	switch {
	case p.value.ShortTag() == "!!null":
		return ""
	case p.value.Kind != yaml.ScalarNode:
		r.report(p.line, "%q must be a text", p.key)
		return ""
	}
	return p.value.Value
}

// flag is the value of a scalar that is true or false.
func (r *reader) flag(p pair) bool {
	var b bool
	if p.value.ShortTag() != "!!bool" || p.value.Decode(&b) != nil {
		r.report(p.line, "%q must be true or false", p.key)
	}
	return b
}

// number is the value of a scalar that is a number.
func (r *reader) number(p pair) *float64 {
	if v, ok := decode(p.value, 0).(float64); ok {
		return &v
	}
	r.report(p.line, "%q must be a number", p.key)
	return nil
}

// list is a list of texts. One text is a list of one.
func (r *reader) list(p pair) []string {
	if p.value.Kind == yaml.ScalarNode {
		if s := r.text(p); s != "" {
			return []string{s}
		}
		return nil
	}
	if p.value.Kind != yaml.SequenceNode {
		r.report(p.line, "%q must be a list", p.key)
		return nil
	}
	var all []string
	for _, n := range p.value.Content {
		n = target(n)
		switch {
		case !r.more(n):
			return all
		case n.Kind != yaml.ScalarNode:
			r.report(n.Line, "%q must be a list of texts", p.key)
		default:
			all = append(all, n.Value)
		}
	}
	return all
}

// maxNesting bounds how deep the lists of a value may lie in each other.
const maxNesting = 8

// value is the value of a field: what markdown reads from a frontmatter.
func (r *reader) value(p pair) any {
	v := decode(p.value, 0)
	if v == p.value {
		r.report(p.line, "%q must be a text, a number, true or false, or a list of these", p.key)
		return nil
	}
	return v
}

// decode is the value of a node, or the node itself if it is none that a field can have. A list that
// holds aliases is none: in each other, they can stand for one without end.
func decode(n *yaml.Node, depth int) any {
	if n.Kind == yaml.SequenceNode && depth < maxNesting {
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v := decode(c, depth+1)
			if _, bad := v.(*yaml.Node); bad {
				return n
			}
			list = append(list, v)
		}
		return list
	}
	if n.Kind != yaml.ScalarNode {
		return n
	}
	return decodeScalar(n)
}

func decodeScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b
		}
	case "!!int", "!!float":
		var f float64
		if n.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
	if ref, ok := parseLink(n.Value); ok {
		return ref
	}
	return n.Value
}

// blank reports whether YAML finds nothing in the text.
func blank(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line != "---" {
			return false
		}
	}
	return true
}

// firstLine is the number of the first line that the expression finds, 0 for none.
func firstLine(text []byte, re *regexp.Regexp) int {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if re.MatchString(line) {
			return n
		}
	}
	return 0
}

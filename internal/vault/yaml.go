package vault

import (
	"errors"
	"math"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// maxEntries is the maximum number of entries read from one file. With aliases, a small file can
// expand without bound.
const maxEntries = 100_000

// A reader parses one of the vault's YAML files and collects its problems, so that a person sees
// all of them at once. Its methods return a zero value in place of an invalid one, after reporting
// it, and callers continue. Values are bounded in number and depth, because a few aliases can make
// a small file very large.
type reader struct {
	file     string
	problems []*fault.Fault
	read     int // number of entries read so far
}

// A pair is one entry of a mapping.
type pair struct {
	key   string
	value *yaml.Node
	line  int
}

// maxProblems is the maximum number of problems that are collected for a file.
const maxProblems = 100

// report adds a problem at a line.
func (r *reader) report(line int, format string, args ...any) {
	r.note(fault.New(fault.SchemaError, format, args...).At(r.file, line))
}

// note adds a problem, unless there are maxProblems already.
func (r *reader) note(problem *fault.Fault) {
	if len(r.problems) < maxProblems {
		problem.Message = r.file + ": " + problem.Message
		r.problems = append(r.problems, problem)
	}
}

// err returns the problems of the file as one SCHEMA_ERROR, or nil. The nil is untyped, so callers
// can compare it.
func (r *reader) err() error {
	return fault.Join(fault.SchemaError, r.problems).Err()
}

// listInBraces matches an unquoted list type within braces, as in `{ type: string[] }`, which YAML
// cannot parse as intended.
var listInBraces = regexp.MustCompile(`\{[^}"']*\b\w+\[\]`)

// root returns the root node of the file, or nil if the file is empty or invalid. It reports
// invalid YAML at the line of the error, with its own message for the most frequent mistake; see
// listInBraces.
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
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
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

// entries returns the entries of a mapping in the order of the file, with aliases resolved. what
// names the mapping in messages. A null node is an empty mapping. Duplicate keys, keys that are not
// scalars and merge keys (<<) are reported and left out, and so are all entries after maxEntries.
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

// more counts one entry and reports whether more may be read. It adds a problem when the limit is
// reached.
func (r *reader) more(n *yaml.Node) bool {
	if r.read++; r.read == maxEntries {
		r.report(n.Line, "the file has more than %d entries, its aliases written out", maxEntries)
	}
	return r.read < maxEntries
}

// target returns the node that an alias refers to, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text returns the text of a scalar, or "" for null. It reports any other node.
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

// flag returns the value of a boolean. It reports any other node.
func (r *reader) flag(p pair) bool {
	var b bool
	if p.value.ShortTag() != "!!bool" || p.value.Decode(&b) != nil {
		r.report(p.line, "%q must be true or false", p.key)
	}
	return b
}

// number returns the value of a number. It reports any other node and returns nil.
func (r *reader) number(p pair) *float64 {
	if v, ok := decode(p.value, 0).(float64); ok {
		return &v
	}
	r.report(p.line, "%q must be a number", p.key)
	return nil
}

// list returns a list of texts. A single text is a list with one element.
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

// maxNesting is the maximum depth of lists within a value.
const maxNesting = 8

// value returns the value of a field as markdown reads it from a frontmatter: nil, a bool, a
// float64, a string, a markdown.Ref, or a []any of these. It reports an invalid value and returns
// nil.
func (r *reader) value(p pair) any {
	v := decode(p.value, 0)
	if v == p.value {
		r.report(p.line, "%q must be a text, a number, true or false, or a list of these", p.key)
		return nil
	}
	return v
}

// decode returns the value of a node, or the node itself if a field cannot have such a value: a
// mapping, or lists deeper than maxNesting. Lists with aliases are refused, because nested aliases
// can expand without bound.
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

// decodeScalar returns the value of a scalar. A text that is a reference is a markdown.Ref.
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

// blank reports whether the text contains no YAML content.
func blank(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line != "---" {
			return false
		}
	}
	return true
}

// firstLine returns the number, from 1, of the first line that matches, or 0 if none does.
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

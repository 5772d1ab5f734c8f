package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"rookery/internal/fault"
)

// A place is where something is said: a line of a file, or a variable of the environment.
type place struct {
	file string
	line int // counted from 1; 0: of a variable
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// A value is what is said, where, and of what: `limits.reads_per_minute`, `issuers[0].role`.
type value struct {
	name string
	node *yaml.Node
	at   place
}

// A reader reads YAML, and collects what is wrong with it.
type reader struct {
	places   map[string]place // of what is said, by name
	problems []*fault.Fault
}

// maxProblems bounds how many problems are told.
const maxProblems = 100

// report adds a problem.
func (r *reader) report(at place, format string, args ...any) {
	r.add(at, fault.New(fault.InvalidParameter, format, args...))
}

// add adds a problem that says how to put it right. Its place stands in its message: a Location of a
// fault is one in a vault.
func (r *reader) add(at place, f *fault.Fault) {
	if len(r.problems) == maxProblems {
		return
	}
	if at.file != "" {
		f.Message = at.String() + ": " + f.Message
	}
	r.problems = append(r.problems, f)
}

// place is where a name was said, or else what it belongs to.
func (r *reader) place(name string) place {
	for name != "" {
		if at, ok := r.places[name]; ok {
			return at
		}
		name = name[:max(0, strings.LastIndexAny(name, ".["))]
	}
	return place{}
}

// forget drops where a name, and all below it, was said.
func (r *reader) forget(name string) {
	for known := range r.places {
		rest, ok := strings.CutPrefix(known, name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			delete(r.places, known)
		}
	}
}

// document is what a text says, nil if that is nothing.
func (r *reader) document(at place, text []byte) *yaml.Node {
	var doc yaml.Node
	err := yaml.Load(text, &doc)
	switch {
	case err == nil && len(doc.Content) == 1:
		return doc.Content[0]
	case err == nil || utf8.Valid(text) && blank(string(text)):
		return nil
	}
	cause := "it cannot be read"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		cause = strings.TrimPrefix(load.Message, "yaml: ")
		if !strings.HasPrefix(at.file, variables) {
			at.line = max(1, load.Mark.Line)
		}
	}
	r.report(at, "not valid YAML: %s", cause)
	return nil
}

// variables is what the name of each variable begins with.
const variables = "ROOKERY_"

// blank reports whether a text has nothing but comments.
func blank(text string) bool {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// scalar is the node of a text.
func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// below is a value within another one.
func (v value) below(name string, node *yaml.Node) value {
	at := v.at
	if at.line > 0 {
		at.line = node.Line
	}
	return value{name: name, node: node, at: at}
}

// mapping reads the entries of a mapping: each has a field.
func (r *reader) mapping(v value, fields []field, assign func(value, any)) {
	if v.node.Kind != yaml.MappingNode {
		r.report(v.at, "%s must be a mapping: lines of `name: value`", v)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		entry := v.below(v.under(key.Value), node)
		if v.at.line > 0 {
			entry.at.line = key.Line
		}
		f, ok := r.field(v, key, fields)
		switch {
		case !ok:
		case seen[f.key]:
			r.report(entry.at, "%s is given twice; keep one of them", entry.name)
		case f.fields != nil:
			r.places[entry.name] = entry.at
			r.mapping(entry, f.fields, assign)
		default:
			assign(entry, f.into)
		}
		seen[f.key] = true
	}
}

// under is the name of an entry.
func (v value) under(key string) string {
	if v.name == "" {
		return key
	}
	return v.name + "." + key
}

// String is how a message calls a value.
func (v value) String() string {
	if v.name == "" {
		return "the file"
	}
	return v.name
}

// field is the field of a key.
func (r *reader) field(v value, key *yaml.Node, fields []field) (field, bool) {
	at := v.below("", key).at
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
		r.report(at, "a key of %s must be a plain word", v)
		return field{}, false
	}
	var known []string
	for _, f := range fields {
		if f.key == key.Value {
			return f, true
		}
		known = append(known, f.key)
	}
	problem := fault.New(fault.InvalidParameter, "%s has no key %q", v, short(key.Value)).
		With("allowed", known)
	if near := fault.Nearest(short(key.Value), known); near != "" {
		problem = problem.Fix("use the key %s", v.under(near))
	}
	r.add(at, problem)
	return field{}, false
}

// short is the beginning of a text that somebody else has written.
func short(text string) string {
	const longest = 40
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

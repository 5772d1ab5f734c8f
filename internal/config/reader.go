package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A place is the position of a value: a line of a file, or a variable of the environment.
type place struct {
	file string
	line int // counted from 1; 0 for a variable
}

// String returns the position for a message: FILE:LINE, or the name of the variable.
func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// A value is a YAML value with its name, such as `limits.reads_per_minute` or `issuers[0].role`,
// and its position. The name of the whole file is empty.
type value struct {
	name string
	node *yaml.Node
	at   place
}

// A reader reads YAML, and collects the problems with it, up to maxProblems. It continues after a
// problem, so that a person sees all of them at once. Aliases and merge keys are not supported,
// because the same value would then have two positions.
type reader struct {
	places   map[string]place // positions of values, by name
	problems []*fault.Fault
}

// maxProblems is the largest number of reported problems.
const maxProblems = 100

// report adds a problem of the value at a position. Reading continues after it, so that an operator
// sees all problems of a file at once.
func (r *reader) report(at place, format string, args ...any) {
	r.add(at, fault.New(fault.InvalidParameter, format, args...))
}

// add adds a problem, which may have fixes. Its position is added to its message, because the
// Location of a fault is one in a vault. After maxProblems it does nothing.
func (r *reader) add(at place, f *fault.Fault) {
	if len(r.problems) == maxProblems {
		return
	}
	if at.file != "" {
		f.Message = at.String() + ": " + f.Message
	}
	r.problems = append(r.problems, f)
}

// place returns the position of a name, or of the nearest parent that has one: of tls.key, that of
// tls. It returns the zero place if no parent has one either.
func (r *reader) place(name string) place {
	for name != "" {
		if at, ok := r.places[name]; ok {
			return at
		}
		name = name[:max(0, strings.LastIndexAny(name, ".["))]
	}
	return place{}
}

// forget drops the positions of a name and of all names below it.
func (r *reader) forget(name string) {
	for known := range r.places {
		rest, ok := strings.CutPrefix(known, name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			delete(r.places, known)
		}
	}
}

// document returns the value of a YAML text; nil if there is none, or if the text is invalid, which
// is reported. at is the position for problems; the line of a file is replaced by that of the
// problem.
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
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		cause = strings.TrimPrefix(load.Message, "yaml: ")
		if !strings.HasPrefix(at.file, variables) {
			at.line = max(1, load.Mark.Line)
		}
	}
	r.report(at, "not valid YAML: %s", cause)
	return nil
}

// variables is the prefix of the names of all variables.
const variables = "ROOKERY_"

// blank reports whether a text contains only blank lines and comments.
func blank(text string) bool {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// scalar returns the YAML node of a text.
func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// below returns a value within another one, with its full name and its line. A value in a variable
// has no line.
func (v value) below(name string, node *yaml.Node) value {
	at := v.at
	if at.line > 0 {
		at.line = node.Line
	}
	return value{name: name, node: node, at: at}
}

// mapping reads a mapping. It calls assign with each entry and the destination of its field, in the
// order of the text. Unknown keys, with the most similar known one, and keys that are given twice
// are reported.
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

// under returns the full name of an entry.
func (v value) under(key string) string {
	if v.name == "" {
		return key
	}
	return v.name + "." + key
}

// String returns the name of a value in messages.
func (v value) String() string {
	if v.name == "" {
		return "the file"
	}
	return v.name
}

// field returns the field of a key. ok is false for an unknown key, which is reported with the
// known keys as a detail, and with the most similar one as a fix.
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

// short returns the beginning of a text for a message, at most 40 characters and an ellipsis. A
// text of the file may be a secret that is in the wrong place.
func short(text string) string {
	const longest = 40
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

package vault

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// readFields parses the fields of a type, in the order of the file. A field without a type is a
// string.
func (p *schemaParser) readFields(d pair) []*Field {
	var all []*Field
	for _, e := range limitCount(p, d.line, d.key, p.entries(d.value, d.key)) {
		f := &Field{Name: e.key}
		p.checkKey(e)
		p.define(f, e, func(pair) {})
		if f.Type == "" {
			f.Type = "string"
		}
		all = append(all, f)
	}
	return all
}

// define parses the declaration of a field or a trait into f. It is a mapping of attributes, or a
// scalar, which is the type: `due: date` and `due: { type: date }` are equal. written is called
// with the entry that contains the type, if there is one. Attributes that contradict each other are
// reported.
func (p *schemaParser) define(f *Field, e pair, written func(pair)) {
	if e.value.Kind == yaml.ScalarNode && e.value.ShortTag() != "!!null" {
		e.key = "type of " + e.key
		written(e)
		f.Type = p.valueType(e)
		return
	}
	for _, d := range p.entries(e.value, e.key) {
		if d.key == "type" {
			written(d)
		}
		p.attribute(f, d)
	}
	p.checkField(f, e.line)
}

// attribute parses one attribute of a field. Unknown attributes are ignored.
func (p *schemaParser) attribute(f *Field, d pair) {
	switch d.key {
	case "type":
		f.Type = p.valueType(d)
	case "required":
		f.Required = p.flag(d)
	case "default":
		f.Default, f.HasDefault = p.value(d), d.value.ShortTag() != "!!null"
	case "values":
		f.Values = p.list(d)
	case "target":
		f.Target = TypeName(p.text(d))
	case "min":
		f.Min = p.number(d)
	case "max":
		f.Max = p.number(d)
	case "description":
		f.Description = p.text(d)
	}
}

// checkField reports inconsistent attributes of a field.
func (p *schemaParser) checkField(f *Field, line int) {
	if element(f.Type) == "enum" && len(f.Values) == 0 {
		p.report(line, "%q is an enum; it must list its values", f.Name)
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		p.report(line, "%q has a min that is over its max", f.Name)
	}
}

// valueType parses the type of a field, including the older names. It returns "" if there is none,
// and "string" after reporting an invalid one. The unquoted `string[]` within brackets or braces is
// a common mistake, which YAML reads as a list; it has a message of its own.
func (p *schemaParser) valueType(d pair) string {
	if d.value.Kind == yaml.SequenceNode {
		p.report(d.line, `%q must be a word; a list type is quoted, as in type: "string[]"`, d.key)
		return "string"
	}
	written := p.text(d)
	if t, ok := ParseValueType(written); ok {
		return t
	}
	if written != "" {
		p.note(fault.New(fault.SchemaError, "%s is not a value type; use one of %s, or a list of it, as in "+
			"\"string[]\"",
			quote(written), strings.Join(ValueTypes(), ", ")).With("value_types", ValueTypes()).At(p.file, d.line))
		return "string"
	}
	return ""
}

// ParseValueType returns the canonical name of a value type: one of ValueTypes, with or without
// `[]`. It also accepts the older `boolean` and `reference`. It returns false for an unknown type.
func ParseValueType(s string) (string, bool) {
	t := element(s)
	switch t {
	case "boolean":
		t = "bool"
	case "reference":
		t = "ref"
	}
	return t + s[len(element(s)):], slices.Contains(ValueTypes(), t)
}

// element returns the type of the elements of a list type, or t itself.
func element(t string) string { return strings.TrimSuffix(t, "[]") }

// isList reports whether t is a list type.
func isList(t string) bool { return strings.HasSuffix(t, "[]") }

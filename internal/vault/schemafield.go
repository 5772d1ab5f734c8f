package vault

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"rookery/internal/fault"
)

// readFields reads the fields of a type.
func (p *schemaParser) readFields(d pair) []*Field {
	var all []*Field
	for _, e := range few(p, d.line, d.key, p.entries(d.value, d.key)) {
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

// define reads what the file says of a field or a trait. A word alone is its type. written is told
// of the type.
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

// attribute reads one thing that the file says of a field.
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

// checkField reports what the parts of a field say against each other.
func (p *schemaParser) checkField(f *Field, line int) {
	if element(f.Type) == "enum" && len(f.Values) == 0 {
		p.report(line, "%q is an enum; it must list its values", f.Name)
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		p.report(line, "%q has a min that is over its max", f.Name)
	}
}

// valueType reads the type of a value; "" for none. The older names of types are read too.
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
		p.note(fault.New(fault.SchemaError, "%s is no type of values; use one of %s, or a list of it, as in \"string[]\"",
			quote(written), strings.Join(ValueTypes(), ", ")).With("value_types", ValueTypes()).At(p.file, d.line))
		return "string"
	}
	return ""
}

// ParseValueType reads the name of a type of values: one of ValueTypes, with or without `[]`, or the
// older `boolean` and `reference`.
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

// element is the type of the elements of a list, or the type itself.
func element(t string) string { return strings.TrimSuffix(t, "[]") }

// isList reports whether values of the type are lists.
func isList(t string) bool { return strings.HasSuffix(t, "[]") }

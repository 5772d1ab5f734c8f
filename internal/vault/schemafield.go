package vault

import (
	"cmp"
	"regexp"
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
		f.Type = cmp.Or(f.Type, "string")
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

// A SchemaDraft is a schema derived from the notes of a vault.
type SchemaDraft struct {
	Types  []TypeDraft  `json:"types"`
	Traits []FieldDraft `json:"traits"`
}

// A TypeDraft is a type of a SchemaDraft.
type TypeDraft struct {
	Name string `json:"name"`
	// how many notes it is derived from
	Notes int `json:"notes"`
	// the folder of most of them
	DefaultPath string       `json:"default_path,omitempty"`
	Fields      []FieldDraft `json:"fields"`
}

// A FieldDraft is a field or a trait of a SchemaDraft.
type FieldDraft struct {
	Name string `json:"name"`
	// one of the value types of a schema
	Type string `json:"type"`
	// of an enum
	Values []string `json:"values,omitempty"`
	// how many notes have it; of a trait, how often it is there
	Count int `json:"count"`
}

// Text returns the draft as a schema.yaml, which ParseSchema accepts if the names and value types
// of the draft are valid.
func (d SchemaDraft) Text() []byte {
	var b strings.Builder
	b.WriteString("version: 1\n")
	if len(d.Types) > 0 {
		b.WriteString("types:\n")
	}
	for _, t := range d.Types {
		b.WriteString("  " + yamlName(t.Name) + ":\n")
		if t.DefaultPath != "" {
			b.WriteString("    default_path: " + yamlName(t.DefaultPath) + "\n")
		}
		if len(t.Fields) == 0 {
			b.WriteString("    fields: {}\n")
			continue
		}
		b.WriteString("    fields:\n")
		for _, f := range t.Fields {
			b.WriteString("      " + f.line())
		}
	}
	if len(d.Traits) > 0 {
		b.WriteString("traits:\n")
	}
	for _, f := range d.Traits {
		b.WriteString("  " + f.line())
	}
	return []byte(b.String())
}

// line returns the definition of a field or a trait as one line of YAML, such as `status: { type:
// enum, values: [open, done] }` with a line break.
func (f FieldDraft) line() string {
	text := yamlName(f.Name) + ": { type: " + yamlName(f.Type)
	if len(f.Values) > 0 {
		quoted := make([]string, len(f.Values))
		for i, v := range f.Values {
			quoted[i] = yamlName(v)
		}
		text += ", values: [" + strings.Join(quoted, ", ") + "]"
	}
	return text + " }\n"
}

// Patterns of YAML scalars.
var (
	plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/-]*$`)

	// yamlWords are words that YAML may read as another type than a text.
	yamlWords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// yamlName returns a YAML scalar that reads as the text s.
func yamlName(s string) string {
	if plainName.MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + `"`
}

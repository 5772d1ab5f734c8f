package vault

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// ParseSchema parses a schema.yaml of any Raven version:
//
//	version: 1
//	types:
//	person:
//	default_path: people/
//	name_field: name
//	fields:
//	name: { type: string, required: true }
//	met: date
//	traits: [due]
//	traits:
//	due: date
//	templates:
//	short: { file: templates/short.md }
//	core:
//	page: { default_template: short }
//
// Unknown keys are ignored. If the schema is invalid, the error is SCHEMA_ERROR with all problems,
// each with file and line, and the Schema is nil: unlike settings, a schema has no useful default
// for a part of it.
func ParseSchema(text []byte) (*Schema, error) {
	p := &schemaParser{reader: reader{file: SchemaFile}, s: &Schema{}, types: map[string]*Type{}}
	for _, e := range p.entries(p.root(text), "the schema") {
		switch e.key {
		case "version":
			if v, ok := decode(e.value, 0).(float64); ok {
				p.s.Version = int(v)
			}
		case "types":
			p.readTypes(e)
		case "traits":
			p.readTraits(e)
		case "templates":
			p.templates(e.value)
		case "core":
			p.core(e.value)
		}
	}
	p.link()
	if err := p.err(); err != nil {
		return nil, err
	}
	p.s.addBuiltins()
	p.s.buildLookups()
	return p.s, nil
}

// Limits of a schema. They bound lookups, answers and faults, which may list every entry.
const (
	maxDefined = 2000   // types; traits; fields of a type; traits of a type
	maxFields  = 20_000 // fields and traits of all types in total
	maxKey     = 512    // bytes of the name of a type, a field or a trait
)

// limitCount returns all, or reports a problem at a line and returns nil if there are more than
// maxDefined. what names the list in the message.
func limitCount[T any](p *schemaParser, line int, what string, all []T) []T {
	if len(all) <= maxDefined {
		return all
	}
	p.report(line, "%s has %d entries; a schema has at most %d", what, len(all), maxDefined)
	return nil
}

// A schemaParser parses one schema.yaml.
type schemaParser struct {
	reader
	s      *Schema
	types  map[string]*Type // the types parsed so far, by name
	fields int              // number of fields and traits of all types so far
}

// readTypes parses `types`.
func (p *schemaParser) readTypes(of pair) {
	for _, e := range limitCount(p, of.line, "types", p.entries(of.value, "types")) {
		t := p.typeDef(e)
		if _, twice := p.types[t.Name]; twice {
			p.report(e.line, "%s and %s are one type; keep one of them", Daily, dateType)
			continue
		}
		p.add(t)
	}
	if p.fields > maxFields {
		p.report(of.line, "the types have %d fields and traits; a schema has at most %d", p.fields, maxFields)
	}
}

// add adds a type.
func (p *schemaParser) add(t *Type) {
	p.s.Types = append(p.s.Types, t)
	p.types[t.Name] = t
	p.fields += len(t.Fields) + len(t.Traits)
}

// typeDef parses one type.
func (p *schemaParser) typeDef(e pair) *Type {
	t := &Type{Name: TypeName(e.key)}
	p.checkKey(e)
	for _, d := range p.entries(e.value, "type "+e.key) {
		switch d.key {
		case "description":
			t.Description = p.text(d)
		case "default_path":
			t.DefaultPath = p.folder(d)
		case "name_field":
			t.nameField = p.text(d)
		case "fields":
			t.Fields = p.readFields(d)
		case "traits":
			t.Traits = p.uses(d)
		default:
			p.typeTemplate(t, d)
		}
	}
	p.checkNameField(t, e.line)
	return t
}

// checkKey reports an invalid name of a type, a field or a trait.
func (p *schemaParser) checkKey(e pair) {
	switch {
	case e.key == "" || control.Has(e.key):
		p.report(e.line, "a name must be one line of text without control characters, and not empty")
	case len(e.key) > maxKey:
		p.report(e.line, "a name has at most %d bytes", maxKey)
	}
}

// typeTemplate parses the keys of a type that concern templates.
func (p *schemaParser) typeTemplate(t *Type, d pair) {
	switch d.key {
	case "templates":
		t.Templates = p.list(d)
	case "default_template":
		t.DefaultTemplate = p.text(d)
	case "template":
		t.Template = p.text(d)
	}
}

// core parses `core`: the templates of built-in types. It is equal to declaring them under `types`,
// which older versions do not allow. Other keys of an entry are ignored.
func (p *schemaParser) core(n *yaml.Node) {
	for _, e := range p.entries(n, "core") {
		said := &Type{Name: TypeName(e.key)}
		for _, d := range p.entries(e.value, "core "+e.key) {
			p.typeTemplate(said, d)
		}
		t, ok := p.types[said.Name]
		if !ok {
			p.add(said)
			continue
		}
		t.Templates, t.DefaultTemplate = said.Templates, said.DefaultTemplate
	}
}

// folder parses the path of a folder and returns it with a trailing slash, or "" for the root of
// the vault and for an invalid path, which it reports.
func (r *reader) folder(d pair) string {
	s := strings.TrimSuffix(r.text(d), "/")
	if s == "" || s == "." {
		return ""
	}
	if _, err := ParsePath(s + "/x.md"); err != nil {
		r.report(d.line, "%q must be a folder of the vault: %s", d.key, fault.Of(err).Message)
		return ""
	}
	return s + "/"
}

// checkNameField reports a name_field that is not a text field of the type.
func (p *schemaParser) checkNameField(t *Type, line int) {
	if t.nameField == "" {
		return
	}
	if t.Name == Page && t.nameField == "title" {
		return
	}
	i := slices.IndexFunc(t.Fields, func(f *Field) bool { return f.Name == t.nameField })
	if i < 0 || t.Fields[i].Type != "string" {
		p.report(line, "type %s: name_field must name a field of type string", t.Name)
	}
}

// uses parses the traits of a type: a list of names, or a mapping from names to attributes. A trait
// need not be declared in the schema, and may be declared after the type; see link.
func (p *schemaParser) uses(d pair) []*TraitUse {
	var all []*TraitUse
	if d.value.Kind != yaml.MappingNode {
		for _, name := range limitCount(p, d.line, d.key, p.list(d)) {
			all = append(all, &TraitUse{Name: name})
		}
		return all
	}
	for _, e := range limitCount(p, d.line, d.key, p.entries(d.value, d.key)) {
		u := &TraitUse{Name: e.key}
		for _, a := range p.entries(e.value, "trait "+e.key) {
			switch a.key {
			case "required":
				u.Required = p.flag(a)
			case "default":
				u.Default, u.HasDefault = p.value(a), a.value.ShortTag() != "!!null"
			}
		}
		all = append(all, u)
	}
	return all
}

// readTraits parses `traits`.
func (p *schemaParser) readTraits(of pair) {
	for _, e := range limitCount(p, of.line, "traits", p.entries(of.value, "traits")) {
		t := &Trait{Written: "boolean"}
		t.Name = e.key
		p.checkKey(e)
		p.define(&t.Field, e, func(d pair) {
			if s := p.text(d); s != "" {
				t.Written = s
			}
		})
		t.Type = cmp.Or(t.Type, "bool")
		p.s.Traits = append(p.s.Traits, t)
	}
}

// templates parses `templates`.
func (p *schemaParser) templates(n *yaml.Node) {
	for _, e := range p.entries(n, "templates") {
		t := &Template{ID: e.key}
		for _, d := range p.entries(e.value, "template "+e.key) {
			switch d.key {
			case "file":
				t.File = p.text(d)
			case "description":
				t.Description = p.text(d)
			}
		}
		p.s.Templates = append(p.s.Templates, t)
	}
}

// link sets the Trait of each TraitUse. It runs after the whole file was parsed. The Trait of an
// undeclared trait stays nil.
func (p *schemaParser) link() {
	p.s.index()
	for _, t := range p.s.Types {
		for _, u := range t.Traits {
			if trait, ok := p.s.Trait(u.Name); ok {
				u.Trait = trait
			}
		}
	}
}

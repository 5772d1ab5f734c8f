package vault

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Schema is the types of objects and the traits of a vault. It is immutable and safe for
// concurrent use. It always contains the built-in types. Its exported slices are shared: callers
// must not change them.
type Schema struct {
	Version   int         // version in the file; 0 if there is none
	Types     []*Type     // in the order of the file, then the built-in ones by name
	Traits    []*Trait    // in the order of the file
	Templates []*Template // in the order of the file

	types  map[string]*Type
	traits map[string]*Trait
	usedBy map[string][]string // names of types by the name of a trait
}

// A Type is a type of objects: the fields that its notes have in their frontmatter, and the folder
// of new ones. A note names its type with the field `type`; without it, it is a page.
type Type struct {
	Name        string
	Description string
	Builtin     bool
	DefaultPath string // folder of new notes with a trailing slash; "": none
	Fields      []*Field
	Traits      []*TraitUse

	Templates       []string // ids of the templates that it may use
	DefaultTemplate string   // id of the template of new notes
	Template        string   // deprecated: path of the template of new notes

	nameField string // as in the file; "" if there is none
	fields    map[string]*Field
	uses      map[string]*TraitUse
}

// A Field is the declaration of a field in a type. Its attributes other than Name and Type are
// optional. A Field is immutable.
type Field struct {
	Name        string
	Type        string // one of ValueTypes
	Required    bool
	Default     any // in the form of markdown's values; valid only if HasDefault
	HasDefault  bool
	Values      []string // of an enum
	Target      string   // of a reference: the type it refers to
	Min, Max    *float64 // of a number; nil: unbounded
	Description string
}

// A Trait is the declaration of a trait. Its embedded Field describes the value: a trait of type
// bool has none in the text, as @highlight, and others have it in parentheses, as @due(2026-12-01).
type Trait struct {
	Field
	Written string // type as the file spells it; "boolean" if the file has none
}

// A TraitUse is the use of a trait by a type: notes of the type may have it in their frontmatter.
type TraitUse struct {
	Name       string
	Required   bool
	Default    any
	HasDefault bool
	Trait      *Trait // nil: the schema does not declare it
}

// A Template is a text for new notes.
type Template struct {
	ID          string
	File        string // path in the vault
	Description string
}

// The names of the built-in types. Files spell Daily as `date`.
const (
	Daily   = "daily"
	Page    = "page"
	Section = "section"

	dateType = "date"
)

// ValueTypes returns the types of single values. Each also exists as a list, with the suffix `[]`.
func ValueTypes() []string {
	return []string{"string", "number", "bool", "date", "datetime", "enum", "ref", "url"}
}

// NewSchema returns the schema of a vault without a schema.yaml: only the built-in types.
func NewSchema() *Schema {
	s := &Schema{}
	s.addBuiltins()
	s.buildLookups()
	return s
}

// buildLookups builds the lookup tables of a complete schema and its types.
func (s *Schema) buildLookups() {
	s.index()
	for _, t := range s.Types {
		t.index()
	}
}

// index builds the lookup tables by name. It must be called after the last change.
func (s *Schema) index() {
	s.types = make(map[string]*Type, len(s.Types))
	s.traits = make(map[string]*Trait, len(s.Traits))
	s.usedBy = map[string][]string{}
	for _, t := range s.Types {
		s.types[t.Name] = t
		for _, u := range t.Traits {
			if used := s.usedBy[u.Name]; len(used) == 0 || used[len(used)-1] != t.Name {
				s.usedBy[u.Name] = append(used, t.Name)
			}
		}
	}
	for _, t := range s.Traits {
		s.traits[t.Name] = t
	}
}

// builtins returns new copies of the built-in types, by name. A daily note has the type daily, and
// a note without a type is a page; section is the type of headings, which are objects in notes.
func builtins() []*Type {
	title := &Field{Name: "title", Type: "string"}
	return []*Type{
		{
			Name: Daily, Builtin: true, DefaultPath: DefaultDaily + "/",
			Fields: []*Field{{Name: "date", Type: "date"}},
		},
		{Name: Page, Builtin: true},
		{
			Name: Section, Builtin: true,
			Fields: []*Field{title, {Name: "level", Type: "number"}},
		},
	}
}

// addBuiltins appends the built-in types, merged with declarations of the same name in the file.
func (s *Schema) addBuiltins() {
	for _, b := range builtins() {
		i := slices.IndexFunc(s.Types, func(t *Type) bool { return t.Name == b.Name })
		if i >= 0 {
			b.extend(s.Types[i])
			s.Types = slices.Delete(s.Types, i, i+1)
		}
		s.Types = append(s.Types, b)
	}
}

// extend merges a declaration in the file into a built-in type. Built-in fields come first and
// cannot be redefined; fields of the same name in the file are ignored. The default path of the
// file takes precedence.
func (t *Type) extend(by *Type) {
	own := t.Fields
	fields := slices.DeleteFunc(slices.Clone(by.Fields), func(f *Field) bool {
		return slices.ContainsFunc(own, func(o *Field) bool { return o.Name == f.Name })
	})
	merged := *by
	merged.Name, merged.Builtin = t.Name, true
	merged.Fields = slices.Concat(own, fields)
	merged.DefaultPath = cmp.Or(merged.DefaultPath, t.DefaultPath)
	*t = merged
}

// placeOf returns the folder of new notes of a type: its default path, below the configured folder
// of objects or pages. A default path that already begins with that folder is not changed. It
// returns "" for sections, which are in notes.
func (c Config) placeOf(t *Type) string {
	root := c.Directories.Type
	switch {
	case t.Name == Daily:
		return c.dailyPrefix()
	case t.Name == Section: // it is in a note
		return ""
	case t.Name == Page && c.Directories.Page != "":
		root = c.Directories.Page
	}
	if strings.HasPrefix(t.DefaultPath, root) {
		return t.DefaultPath
	}
	return root + t.DefaultPath
}

// WithFolders returns a copy of the schema in which the default paths of types include the folders
// of a configuration, or s if they do already. It does not change s, whose types and traits the
// copy shares as far as they are equal.
func (s *Schema) WithFolders(c Config) *Schema {
	if !slices.ContainsFunc(s.Types, func(t *Type) bool { return c.placeOf(t) != t.DefaultPath }) {
		return s
	}
	next := *s
	next.Types = slices.Clone(s.Types)
	for i, t := range next.Types {
		if path := c.placeOf(t); path != t.DefaultPath {
			placed := *t
			placed.DefaultPath = path
			next.Types[i] = &placed
		}
	}
	next.index()
	return &next
}

// TypeName returns the name of a type as answers spell it: `date` becomes `daily`.
func TypeName(name string) string {
	if name == dateType {
		return Daily
	}
	return name
}

// Type returns the type with this name, of which `date` and `daily` are one.
func (s *Schema) Type(name string) (*Type, bool) {
	t, ok := s.types[TypeName(name)]
	return t, ok
}

// Trait returns the trait with this name.
func (s *Schema) Trait(name string) (*Trait, bool) {
	t, ok := s.traits[name]
	return t, ok
}

// TypeNames returns the names of all types in the order of the schema.
func (s *Schema) TypeNames() []string {
	names := make([]string, len(s.Types))
	for i, t := range s.Types {
		names[i] = t.Name
	}
	return names
}

// TraitNames returns the names of all traits in the order of the schema.
func (s *Schema) TraitNames() []string {
	names := make([]string, len(s.Traits))
	for i, t := range s.Traits {
		names[i] = t.Name
	}
	return names
}

// schemaInit is the tool that derives a schema from the notes of a vault.
const schemaInit = "raven_schema_init"

// maxOffered is the maximum number of names that a fault lists.
const maxOffered = 50

// Offered returns the first of some names, at most as many as a fault lists.
func Offered(names []string) []string { return names[:min(len(names), maxOffered)] }

// offered returns names as a list in a message, shortened if there are many.
func offered(names []string) string {
	list := strings.Join(Offered(names), ", ")
	if more := len(names) - maxOffered; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// NoType returns the INVALID_TYPE fault of a type that is not in the schema. It lists the available
// types, at most maxOffered, and suggests the one with the most similar name.
func (s *Schema) NoType(name string) *fault.Fault {
	names := s.TypeNames()
	f := fault.New(fault.InvalidType, "Type %s not found in schema; it has: %s",
		quote(name), offered(names)).With("available_types", Offered(names))
	return f.Suggest(name, names)
}

// NoTrait returns the INVALID_TRAIT fault of a trait that is not in the schema. It lists the
// available traits.
func (s *Schema) NoTrait(name string) *fault.Fault {
	names := s.TraitNames()
	have := cmp.Or(offered(names), "none")
	f := fault.New(fault.InvalidTrait, "Trait %s not found in schema; it has: %s",
		quote(name), have).With("available_traits", Offered(names))
	if len(names) == 0 {
		f = f.Try(schemaInit, fault.Args{"dry_run": true})
	}
	return f.Suggest(name, names)
}

// quote returns a name in single quotes, shortened to 64 bytes.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		name = cut(name, most) + "…"
	}
	return "'" + name + "'"
}

// UsedBy returns the names of the types that use a trait, in the order of the schema. The result is
// a new slice, not nil.
func (s *Schema) UsedBy(trait string) []string {
	return append([]string{}, s.usedBy[trait]...)
}

// Template returns the template with this id.
func (s *Schema) Template(id string) (*Template, bool) {
	for _, t := range s.Templates {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

package vault

import (
	"fmt"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// A Schema says which types of objects and which traits a vault has. It does not change after it was
// made.
type Schema struct {
	Version   int         // as the file says; 0 if it does not
	Types     []*Type     // as in the file, then the built-in ones by name
	Traits    []*Trait    // as in the file
	Templates []*Template // as in the file

	types  map[string]*Type
	traits map[string]*Trait
	usedBy map[string][]string // names of types, by that of a trait
}

// A Type is a type of objects.
type Type struct {
	Name        string
	Description string
	Builtin     bool
	DefaultPath string // the folder of new notes of the type, with a slash at the end; "" for none
	Fields      []*Field
	Traits      []*TraitUse

	Templates       []string // ids of the templates that it may use
	DefaultTemplate string   // the id of the one that it uses
	Template        string   // older: the path of the one that it uses

	nameField string // as the file says
	fields    map[string]*Field
	uses      map[string]*TraitUse
}

// A Field is what a type says about one of its fields.
type Field struct {
	Name        string
	Type        string // one of ValueTypes
	Required    bool
	Default     any // as markdown gives values; only if HasDefault
	HasDefault  bool
	Values      []string // of an enum
	Target      string   // of a reference: the type that it leads to
	Min, Max    *float64 // of a number
	Description string
}

// A Trait is what the schema says about a trait.
type Trait struct {
	Field
	Written string // its type as the file spells it; "boolean" if it says none
}

// A TraitUse says that a type has a trait, which may stand in the frontmatter of its notes.
type TraitUse struct {
	Name       string
	Required   bool
	Default    any
	HasDefault bool
	Trait      *Trait // nil: the schema does not define it
}

// A Template is a text that new notes begin with.
type Template struct {
	ID          string
	File        string // its path in the vault
	Description string
}

// The built-in types. Daily is written `date` in files.
const (
	Daily   = "daily"
	Page    = "page"
	Section = "section"

	dateType = "date"
)

// ValueTypes are the types of values, each of which also exists as a list: `string[]`.
func ValueTypes() []string {
	return []string{"string", "number", "bool", "date", "datetime", "enum", "ref", "url"}
}

// NewSchema is the schema of a vault without schema.yaml.
func NewSchema() *Schema {
	s := &Schema{}
	s.addBuiltins()
	s.seal()
	return s
}

// seal makes what all look-ups need, when the schema is whole.
func (s *Schema) seal() {
	s.index()
	for _, t := range s.Types {
		t.index()
	}
}

// index makes what look-ups by name need. It is called when everything else is there.
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

// builtins are the types that every vault has, by name.
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

// addBuiltins puts the built-in types behind those of the file. What the file says of a built-in
// type is added to it.
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

// extend adds to a built-in type what the file says of it.
func (t *Type) extend(by *Type) {
	own := t.Fields
	fields := slices.DeleteFunc(slices.Clone(by.Fields), func(f *Field) bool {
		return slices.ContainsFunc(own, func(o *Field) bool { return o.Name == f.Name })
	})
	merged := *by
	merged.Name, merged.Builtin = t.Name, true
	merged.Fields = slices.Concat(own, fields)
	if merged.DefaultPath == "" {
		merged.DefaultPath = t.DefaultPath
	}
	*t = merged
}

// placeOf returns the folder of new notes of a type: that of the schema, below the folder of all objects.
func (c Config) placeOf(t *Type) string {
	root := c.Directories.Type
	switch {
	case t.Name == Daily:
		return c.dailyPrefix()
	case t.Name == Page && c.Directories.Page != "":
		root = c.Directories.Page
	}
	if strings.HasPrefix(t.DefaultPath, root) {
		return t.DefaultPath
	}
	return root + t.DefaultPath
}

// WithFolders is the schema with the folders of a configuration in it.
func (s *Schema) WithFolders(c Config) *Schema {
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

// TypeName is the name of a type as answers give it: `date`, as files spell it, is `daily`.
func TypeName(name string) string {
	if name == dateType {
		return Daily
	}
	return name
}

// Type finds a type by its name.
func (s *Schema) Type(name string) (*Type, bool) {
	t, ok := s.types[TypeName(name)]
	return t, ok
}

// Trait finds a trait by its name.
func (s *Schema) Trait(name string) (*Trait, bool) {
	t, ok := s.traits[name]
	return t, ok
}

// TypeNames are the names of all types, in the order of the schema.
func (s *Schema) TypeNames() []string {
	names := make([]string, len(s.Types))
	for i, t := range s.Types {
		names[i] = t.Name
	}
	return names
}

// TraitNames are the names of all traits, in the order of the schema.
func (s *Schema) TraitNames() []string {
	names := make([]string, len(s.Traits))
	for i, t := range s.Traits {
		names[i] = t.Name
	}
	return names
}

// schemaInit is the tool that makes a schema from what is in a vault.
const schemaInit = "raven_schema_init"

// maxOffered is how many names a fault offers.
const maxOffered = 50

// Offered are the first of some names, as many as a fault offers.
func Offered(names []string) []string { return names[:min(len(names), maxOffered)] }

// offered are names as a message lists them.
func offered(names []string) string {
	list := strings.Join(Offered(names), ", ")
	if more := len(names) - maxOffered; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// NoType is the fault of a type that the schema does not have. It lists those that it has.
func (s *Schema) NoType(name string) *fault.Fault {
	names := s.TypeNames()
	f := fault.New(fault.InvalidType, "Type %s not found in schema; it has: %s",
		quote(name), offered(names)).With("available_types", Offered(names))
	return f.Suggest(name, names)
}

// NoTrait is the fault of a trait that the schema does not have. It lists those that it has.
func (s *Schema) NoTrait(name string) *fault.Fault {
	names := s.TraitNames()
	have := offered(names)
	if have == "" {
		have = "none"
	}
	f := fault.New(fault.InvalidTrait, "Trait %s not found in schema; it has: %s",
		quote(name), have).With("available_traits", Offered(names))
	if len(names) == 0 {
		f = f.Try(schemaInit, fault.Args{"dry_run": true})
	}
	return f.Suggest(name, names)
}

// quote is a name in single quotes, shortened if it cannot be one.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		name = cut(name, most) + "…"
	}
	return "'" + name + "'"
}

// UsedBy are the names of the types that have the trait.
func (s *Schema) UsedBy(trait string) []string {
	return append([]string{}, s.usedBy[trait]...)
}

// Template finds a template by its id.
func (s *Schema) Template(id string) (*Template, bool) {
	for _, t := range s.Templates {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

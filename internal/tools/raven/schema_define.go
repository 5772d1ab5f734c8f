package raven

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// A fieldDefinition contains the properties of a field or trait in a call. A nil property is not
// given.
//
// The pointers distinguish an absent property from a zero value: an update changes only the
// properties that are given.
type fieldDefinition struct {
	Type        *string         `json:"type"`
	Required    *bool           `json:"required"`
	Default     json.RawMessage `json:"default"`
	Values      []string        `json:"values"`
	Target      *string         `json:"target"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
	Description *string         `json:"description"`
}

// A useDefinition contains the properties of a trait of a type in a call.
type useDefinition struct {
	Required *bool           `json:"required"`
	Default  json.RawMessage `json:"default"`
}

// nonEmpty returns a pointer to s, or nil if s is empty.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// field returns the definition of the field or trait in the call.
func (in definitionIn) field() fieldDefinition {
	d := fieldDefinition{
		Type: nonEmpty(in.ValueType), Required: in.Required, Values: splitValues(in.Values),
		Target: nonEmpty(in.Target), Min: in.Min, Max: in.Max, Description: nonEmpty(in.Description),
	}
	if len(in.Default) > 0 {
		d.Default = json.RawMessage(in.Default)
	}
	return d
}

// splitValues returns the values of an enum. A single text with commas is split, as a person types
// it.
func splitValues(values []string) []string {
	if len(values) != 1 || !strings.Contains(values[0], ",") {
		return values
	}
	var all []string
	for one := range strings.SplitSeq(values[0], ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// argumentsOf are the arguments that apply to each kind.
var argumentsOf = map[string][]string{
	kindType:  {"default_path", "name_field", "description", "fields", "traits"},
	kindTrait: {"value_type", "values", "default", "target", "min", "max", "description"},
	kindField: {"value_type", "required", "default", "values", "target", "min", "max", "description"},
}

// given returns the names of the arguments that the call has.
//
// Values are given even as an empty list, which an enum rejects.
func (in definitionIn) given() []string {
	var names []string
	for _, a := range []struct {
		name string
		is   bool
	}{
		{"value_type", in.ValueType != ""}, {"default_path", in.DefaultPath != ""}, {"name_field", in.NameField != ""},
		{"description", in.Description != ""}, {"fields", len(in.Fields) > 0}, {"traits", len(in.Traits) > 0},
		{"values", in.Values != nil}, {"default", len(in.Default) > 0}, {"required", in.Required != nil},
		{"target", in.Target != ""}, {"min", in.Min != nil}, {"max", in.Max != nil},
	} {
		if a.is {
			names = append(names, a.name)
		}
	}
	return names
}

// fits returns a fault if the call has an argument that does not apply to the kind.
func (in definitionIn) fits(kind string) error {
	for _, name := range in.given() {
		if !slices.Contains(argumentsOf[kind], name) {
			return fault.New(fault.InvalidValue, "%s is not an argument for a %s", name, kind).With("argument", name).
				With("allowed", argumentsOf[kind])
		}
	}
	return nil
}

var (
	itemName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	traitName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

// reservedFor are the names that a new field or trait must not have.
var reservedFor = map[string][]string{kindField: {"type", "id", "tags", "alias"}, kindTrait: {"id"}}

// newName returns a fault if a new type, trait or field must not have the name.
//
// Existing names are not checked: a schema that Raven or a person wrote may have others.
func newName(kind, name string) error {
	form, begins := itemName, "a letter"
	if kind == kindTrait {
		form, begins = traitName, "a letter or a digit"
	}
	switch {
	case !form.MatchString(name):
		return fault.New(fault.InvalidValue,
			"the name of a %s has up to 64 letters, digits, _ and -, and begins with %s",
			kind, begins).With("argument", "name")
	case slices.Contains(reservedFor[kind], name):
		return fault.New(fault.InvalidValue, "the name %q is reserved", name).
			With("argument", "name").With("reserved", reservedFor[kind])
	}
	return nil
}

// run drafts the addition.
//
// The steps are those of an update: edit the text, check the result, and stage it. Objects that
// declared the type before it existed, and annotations with the name of a new trait, are named in
// the side effects.
func (in schemaAddIn) run(ctx context.Context, tx *repo.Tx, out *schemaEditOut) error {
	if err := in.fits(in.Kind); err != nil {
		return err
	}
	e, err := newSchemaEdit(ctx, tx, in.schemaItem)
	if err == nil {
		err = e.checkNew()
	}
	if err != nil {
		return err
	}
	if e.item.Kind == kindType {
		err = e.addType(in.definitionIn)
		out.SideEffects = e.additionEffects(tx.Index())
	} else {
		err = e.addField(in.field())
		out.SideEffects = e.additionEffects(tx.Index())
	}
	if err != nil {
		return err
	}
	return e.put(ctx, tx, out, "created")
}

// checkNew returns a fault if the type, trait or field exists already or cannot be added. The fault
// for a built-in type says that it cannot be changed, not that the name is taken.
func (e *schemaEdit) checkNew() error {
	t := e.item
	if err := newName(t.Kind, t.Name); err != nil {
		if typ, ok := e.was.Type(t.Name); !ok || t.Kind != kindType || !typ.Builtin {
			return err
		}
	}
	switch t.Kind {
	case kindType:
		if typ, ok := e.was.Type(t.Name); ok && typ.Builtin {
			return builtin(t.Name)
		} else if ok {
			return e.existsFault()
		}
	case kindTrait:
		if _, ok := e.was.Trait(t.Name); ok {
			return e.existsFault()
		}
	default:
		if _, err := e.owner(t.Type); err != nil {
			return err
		}
		if fieldNamed(e.was, t.Type, t.Name) != nil {
			return e.existsFault()
		}
	}
	return nil
}

// existsFault returns the fault of an addition that exists already.
func (e *schemaEdit) existsFault() error {
	shows, name := "raven_schema_type", e.item.Name
	switch e.item.Kind {
	case kindTrait:
		shows = "raven_schema_trait"
	case kindField:
		name = e.item.Type
	}
	return fault.New(fault.DuplicateID, "the schema has a %s %q already", e.item.Kind, e.item.Name).
		With("id", e.item.key()).Fix("change it with raven_schema_update").
		Try(shows, fault.Args{"name": name})
}

// addField adds a field or trait.
//
// The default value type is string for a field and boolean for a trait.
func (e *schemaEdit) addField(d fieldDefinition) error {
	if d.Type == nil && e.item.Kind == kindField {
		d.Type = nonEmpty("string")
	}
	if d.Type == nil {
		d.Type = nonEmpty("boolean")
	}
	m, err := d.newDefinition(e.item.Kind)
	if err != nil {
		return err
	}
	return e.set(m, e.item.path()...)
}

// newDefinition returns a new definition in the form of schema.yaml, after it has checked it.
func (d fieldDefinition) newDefinition(kind string) (yamltext.Map, error) {
	if err := d.checkAgainst(vault.Field{}, kind); err != nil {
		return nil, err
	}
	return d.entries()
}

// checkAgainst returns a fault if the properties in the call are invalid for a field or trait with
// the current definition was.
//
// Properties that are given apply to the value type that the definition has after the change. The
// properties values, target, min and max belong to one value type each, or to a list of it.
func (d fieldDefinition) checkAgainst(was vault.Field, kind string) error {
	typ := was.Type
	if d.Type != nil {
		read, ok := vault.ParseValueType(*d.Type)
		if !ok {
			return fault.New(fault.InvalidValue, "a value type is one of %s, or a list of it, such as string[]",
				strings.Join(vault.ValueTypes(), ", ")).With("argument", "value_type").
				With("allowed", vault.ValueTypes()).Suggest(*d.Type, vault.ValueTypes())
		}
		typ = read
	}
	element := strings.TrimSuffix(typ, "[]")
	only := func(argument, of string) error {
		return fault.New(fault.InvalidValue, "%s is only for a %s of type %s", argument, kind, of).
			With("argument", argument)
	}
	least, most := was.Min, was.Max
	if d.Min != nil {
		least = d.Min
	}
	if d.Max != nil {
		most = d.Max
	}
	switch {
	case element == "enum" && len(d.Values) == 0 && (d.Values != nil || len(was.Values) == 0):
		return fault.New(fault.MissingRequired, "an enum needs values").With("argument", "values")
	case d.Values != nil && element != "enum":
		return only("values", "enum")
	case d.Target != nil && element != "ref":
		return only("target", "ref")
	case d.Min != nil && element != "number":
		return only("min", "number")
	case d.Max != nil && element != "number":
		return only("max", "number")
	case d.Required != nil && kind == kindTrait:
		return fault.New(fault.InvalidValue, "a trait cannot be required by itself, only by a type").
			With("argument", "required")
	case least != nil && most != nil && *least > *most:
		return fault.New(fault.InvalidValue, "min is greater than max").With("argument", "min")
	}
	return nil
}

// entries returns the given properties in the form of schema.yaml. The order of the keys is fixed.
// A default of null counts as absent.
func (d fieldDefinition) entries() (yamltext.Map, error) {
	var m yamltext.Map
	add := func(key string, value any, is bool) {
		if is {
			m = append(m, yamltext.Entry{Key: key, Value: value})
		}
	}
	texts := func(key string, s *string) {
		if s != nil {
			add(key, *s, true)
		}
	}
	texts("type", d.Type)
	if d.Required != nil {
		add("required", *d.Required, true)
	}
	if byDefault, given, err := valueOf(d.Default); err != nil {
		return nil, err
	} else if given {
		add("default", byDefault, true)
	}
	add("values", d.Values, len(d.Values) > 0)
	texts("target", d.Target)
	if d.Min != nil {
		add("min", plainNumber(*d.Min), true)
	}
	if d.Max != nil {
		add("max", plainNumber(*d.Max), true)
	}
	texts("description", d.Description)
	return m, nil
}

// plainNumber returns n as an int64 if it is whole and below 2^53, so that YAML shows it without a
// point.
func plainNumber(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

// valueOf returns a default value in the form of YAML. given is false if it is absent or null.
func valueOf(raw json.RawMessage) (value any, given bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, false, fault.New(fault.InvalidValue, "default is not JSON").With("argument", "default")
	}
	switch v := value.(type) {
	case float64:
		return plainNumber(v), true, nil
	case []any:
		for i, each := range v {
			if n, ok := each.(float64); ok {
				v[i] = plainNumber(n)
			}
		}
	case map[string]any:
		return nil, false, fault.New(fault.InvalidValue,
			"default must be a string, a number, true or false, or a list of these").
			With("argument", "default")
	}
	return value, true, nil
}

// addType adds a type.
//
// A name field that fields does not define is added as a required string, so that a type with a
// name needs no further arguments. The whole definition is checked before the text is edited.
func (e *schemaEdit) addType(in definitionIn) error {
	fields, err := in.fieldsOf()
	if err != nil {
		return err
	}
	uses, err := in.usesOf()
	if err != nil {
		return err
	}
	if _, there := fields[in.NameField]; in.NameField != "" && !there {
		if err := newName(kindField, in.NameField); err != nil {
			return fault.Of(err).With("argument", "name_field")
		}
		fields[in.NameField] = fieldDefinition{Type: nonEmpty("string"), Required: new(true)}
	}
	if err := nameFieldFits(in.NameField, fields, nil); err != nil {
		return err
	}
	m, err := in.entries()
	if err != nil {
		return err
	}
	var all yamltext.Map
	for _, name := range fieldOrder(fields, in.NameField) {
		d := fields[name]
		if d.Type == nil {
			d.Type = nonEmpty("string")
		}
		if err := newName(kindField, name); err != nil {
			return withField(err, name)
		}
		one, err := d.newDefinition(kindField)
		if err != nil {
			return withField(err, name)
		}
		all = append(all, yamltext.Entry{Key: name, Value: one})
	}
	if len(all) > 0 {
		m = append(m, yamltext.Entry{Key: "fields", Value: all})
	}
	if len(uses) > 0 {
		listed, err := usesAsYAML(uses)
		if err != nil {
			return err
		}
		m = append(m, yamltext.Entry{Key: "traits", Value: listed})
	}
	return e.set(m, e.item.path()...)
}

// entries returns the given properties of a type in the form of schema.yaml, without fields and
// traits.
func (in definitionIn) entries() (yamltext.Map, error) {
	var m yamltext.Map
	if in.Description != "" {
		m = append(m, yamltext.Entry{Key: "description", Value: in.Description})
	}
	if in.DefaultPath != "" {
		folder := strings.TrimSuffix(in.DefaultPath, "/")
		if _, err := vault.ParsePath(folder + "/x.md"); err != nil {
			return nil, fault.New(fault.InvalidValue, "default_path must be a folder of the vault").
				With("argument", "default_path")
		}
		m = append(m, yamltext.Entry{Key: "default_path", Value: folder + "/"})
	}
	if in.NameField != "" {
		m = append(m, yamltext.Entry{Key: "name_field", Value: in.NameField})
	}
	return m, nil
}

// nameFieldFits returns a fault if the name field is not a field of type string. fields are the
// fields in the call; was is the current type, nil if it is new.
//
// A name field of the call without a type is a string, unless the current definition has another
// type.
func nameFieldFits(name string, fields map[string]fieldDefinition, was *vault.Type) error {
	if name == "" {
		return nil
	}
	typ := ""
	if was != nil {
		for _, f := range was.Fields {
			if f.Name == name {
				typ = f.Type
			}
		}
	}
	if d, ok := fields[name]; ok && d.Type != nil {
		typ = *d.Type
	} else if ok && typ == "" {
		typ = "string"
	}
	if typ == "string" {
		return nil
	}
	return fault.New(fault.InvalidField, "name_field must name a field of type string").
		With("argument", "name_field").With("field", name)
}

// fieldOrder returns the names of fields in alphabetical order, except that the name field is
// first.
func fieldOrder(fields map[string]fieldDefinition, nameField string) []string {
	names := slices.Sorted(maps.Keys(fields))
	if i := slices.Index(names, nameField); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, nameField)
	}
	return names
}

// withField adds to a fault the field in the argument fields that it is about.
func withField(err error, name string) error {
	return fault.Of(err).With("argument", "fields").With("field", name)
}

// fieldsOf returns the parsed argument fields: the definitions by name. Each member is a value
// type, or an object with the properties of a field. Unknown properties are an error, because a
// misspelled one would be lost silently.
func (in definitionIn) fieldsOf() (map[string]fieldDefinition, error) {
	all := map[string]fieldDefinition{}
	if len(in.Fields) == 0 {
		return all, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(in.Fields, &members) != nil {
		return nil, fault.New(fault.InvalidValue, "fields must be an object: by name, a value type or an object").
			With("argument", "fields")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d, word := fieldDefinition{}, ""
		if json.Unmarshal(members[name], &word) == nil {
			d.Type = nonEmpty(word)
		} else if err := decodeStrict(members[name], &d); err != nil {
			return nil, withField(fault.New(fault.InvalidValue, "a field is a value type, or an object with "+
				"type, required, default, values, target, min, max and description"), name)
		}
		all[name] = d
	}
	return all, nil
}

// decodeStrict decodes JSON, and returns an error for unknown members.
func decodeStrict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// A namedUse is a trait of a type, with its name.
type namedUse struct {
	name string
	useDefinition
}

// usesOf returns the parsed argument traits, which is a list of names, one text with commas, or a
// mapping from names to properties.
func (in definitionIn) usesOf() ([]namedUse, error) {
	if len(in.Traits) == 0 {
		return nil, nil
	}
	var names []string
	var word string
	var members map[string]useDefinition
	switch {
	case json.Unmarshal(in.Traits, &names) == nil:
		return namedUses(names), nil
	case json.Unmarshal(in.Traits, &word) == nil:
		return namedUses(splitValues([]string{word})), nil
	case decodeStrict(in.Traits, &members) == nil:
		var all []namedUse
		for _, name := range slices.Sorted(maps.Keys(members)) {
			all = append(all, namedUse{name, members[name]})
		}
		return all, nil
	}
	return nil, fault.New(fault.InvalidValue,
		"traits must be a list of names, or an object: by name {required, default}").
		With("argument", "traits")
}

// namedUses returns traits without properties for these names, without duplicates.
func namedUses(names []string) []namedUse {
	var all []namedUse
	for _, name := range names {
		if !slices.ContainsFunc(all, func(u namedUse) bool { return u.name == name }) {
			all = append(all, namedUse{name: name})
		}
	}
	return all
}

// entries returns the given properties in the form of schema.yaml.
func (u useDefinition) entries() (yamltext.Map, error) {
	m := yamltext.Map{}
	if u.Required != nil {
		m = append(m, yamltext.Entry{Key: "required", Value: *u.Required})
	}
	byDefault, given, err := valueOf(u.Default)
	if given {
		m = append(m, yamltext.Entry{Key: "default", Value: byDefault})
	}
	return m, err
}

// usesAsYAML returns the traits of a type in the form of schema.yaml: a list of names ([]string) if
// none has properties, otherwise a mapping.
func usesAsYAML(uses []namedUse) (any, error) {
	var names []string
	var m yamltext.Map
	plain := true
	for _, u := range uses {
		one, err := u.entries()
		if err != nil {
			return nil, err
		}
		plain = plain && len(one) == 0
		names = append(names, u.name)
		m = append(m, yamltext.Entry{Key: u.name, Value: one})
	}
	if plain {
		return names, nil
	}
	return m, nil
}

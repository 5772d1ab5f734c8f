package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// unsettableOf are the properties that the argument unset can remove, by kind.
var unsettableOf = map[string][]string{
	kindType:  {"default_path", "name_field", "description"},
	kindTrait: {"values", "default", "target", "min", "max", "description"},
	kindField: {"required", "values", "default", "target", "min", "max", "description"},
}

// run drafts the change.
//
// The change is an edit of the text of schema.yaml, which keeps comments, order and style. Then put
// checks the new schema as a whole and the objects of the vault against it, and stages the file.
func (in schemaUpdateIn) run(ctx context.Context, tx *repo.Tx, out *schemaEditOut) error {
	if err := in.validate(); err != nil {
		return err
	}
	e, err := newSchemaEdit(ctx, tx, in.schemaItem)
	if err == nil {
		err = e.checkExists()
	}
	if err != nil {
		return err
	}
	if e.item.Kind == kindType {
		err = e.updateType(in)
	} else {
		err = e.updateField(e.item, in.field(), in.Unset)
	}
	if err != nil {
		return err
	}
	return e.put(ctx, tx, out, "updated")
}

// validate returns a fault if the call changes nothing, or has arguments that its kind does not
// have.
func (in schemaUpdateIn) validate() error {
	if err := in.fits(in.Kind); err != nil {
		return err
	}
	given := in.given()
	for _, name := range in.Unset {
		switch {
		case !slices.Contains(unsettableOf[in.Kind], name):
			return fault.New(fault.InvalidValue, "unset names an unknown property of a %s", in.Kind).
				With("argument", "unset").With("allowed", unsettableOf[in.Kind]).
				Suggest(name, unsettableOf[in.Kind])
		case slices.Contains(given, name):
			return fault.New(fault.InvalidValue, "%s is both given and unset", name).With("argument", "unset")
		}
	}
	ofTraits := len(in.AddTraits) + len(in.RemoveTraits)
	if ofTraits > 0 && in.Kind != kindType {
		return fault.New(fault.InvalidValue, "only a type has traits").With("argument", "add_traits")
	}
	if len(given)+len(in.Unset)+ofTraits == 0 {
		return fault.New(fault.MissingRequired, "nothing to change: give one of the other arguments, or unset").
			With("argument", "unset")
	}
	return nil
}

// checkExists returns a fault if the type, trait or field does not exist or cannot be changed.
func (e *schemaEdit) checkExists() error {
	t := e.item
	switch t.Kind {
	case kindType:
		_, err := e.owner(t.Name)
		return err
	case kindTrait:
		if _, ok := e.was.Trait(t.Name); !ok {
			return e.was.NoTrait(t.Name)
		}
		return nil
	}
	typ, err := e.owner(t.Type)
	if err != nil {
		return err
	}
	if fieldNamed(e.was, t.Type, t.Name) == nil {
		return noField(typ, t.Name)
	}
	return nil
}

// noField returns the fault of a field that a type does not have.
func noField(t *vault.Type, name string) *fault.Fault {
	return fault.New(fault.InvalidField, "the type %s has no field with this name", t.Name).With("argument", "name").
		With("allowed", vault.Offered(t.FieldNames())).Suggest(name, t.FieldNames())
}

// updateField changes a field or trait: it sets the properties in d and removes those in unset.
//
// An explicit null is not possible in the arguments; unset removes a property. Properties are
// checked together with those that remain.
func (e *schemaEdit) updateField(thing schemaItem, d fieldDefinition, unset []string) error {
	was, written := e.before(thing)
	if slices.Contains(unset, "values") {
		was.Values = nil
	}
	if slices.Contains(unset, "min") {
		was.Min = nil
	}
	if slices.Contains(unset, "max") {
		was.Max = nil
	}
	if err := d.checkAgainst(was, thing.Kind); err != nil {
		return err
	}
	if t, ok := e.was.Type(thing.Type); ok && thing.Kind == kindField && t.NameField() == thing.Name &&
		d.Type != nil && *d.Type != "string" {
		return fault.New(fault.InvalidField,
			"%s is the name field of %s, which must be of type string", thing.Name, t.Name).
			With("argument", "value_type").With("field", thing.Name)
	}
	m, err := d.entries()
	if err != nil {
		return err
	}
	path := thing.path()
	// The definition has the short form NAME: TYPE, and becomes a mapping.
	if !yamltext.IsMapping(e.text, path) {
		if d.Type == nil {
			m = append(yamltext.Map{{Key: "type", Value: written}}, m...)
		}
		return e.set(m, path...)
	}
	for _, one := range m {
		at := append(slices.Clone(path), one.Key)
		if values, ok := one.Value.([]string); ok {
			err = e.setList(values, at...)
		} else {
			err = e.set(one.Value, at...)
		}
		if err != nil {
			return err
		}
	}
	for _, key := range unset {
		if err := e.remove(append(slices.Clone(path), key)...); err != nil {
			return err
		}
	}
	return nil
}

// before returns the current definition of a field or trait, and its value type as schema.yaml
// spells it.
func (e *schemaEdit) before(thing schemaItem) (f vault.Field, written string) {
	if thing.Kind == kindTrait {
		t, _ := e.was.Trait(thing.Name)
		return t.Field, t.Written
	}
	f = *fieldNamed(e.was, thing.Type, thing.Name)
	return f, f.Type
}

// updateType changes a type.
func (e *schemaEdit) updateType(in schemaUpdateIn) error {
	was, _ := e.was.Type(e.item.Name)
	fields, err := in.fieldsOf()
	if err != nil {
		return err
	}
	if err := nameFieldFits(in.NameField, fields, was); err != nil {
		return err
	}
	m, err := in.entries()
	if err != nil {
		return err
	}
	path := e.item.path()
	if len(m) > 0 {
		if err := e.set(m, path...); err != nil {
			return err
		}
	}
	for _, key := range in.Unset {
		if err := e.remove(append(slices.Clone(path), key)...); err != nil {
			return err
		}
	}
	for _, name := range fieldOrder(fields, in.NameField) {
		if err := e.mergeField(schemaItem{Kind: kindField, Type: was.Name, Name: name}, fields[name]); err != nil {
			return withField(err, name)
		}
	}
	uses, err := in.usesOf()
	if err != nil {
		return err
	}
	return e.updateUses(was, append(uses, namedUses(in.AddTraits)...), in.RemoveTraits)
}

// mergeField changes a field, or adds it if the type does not have it. A new field without a type
// is a string.
func (e *schemaEdit) mergeField(thing schemaItem, d fieldDefinition) error {
	if fieldNamed(e.was, thing.Type, thing.Name) != nil {
		return e.updateField(thing, d, nil)
	}
	if err := newName(kindField, thing.Name); err != nil {
		return err
	}
	if d.Type == nil {
		d.Type = nonEmpty("string")
	}
	m, err := d.newDefinition(kindField)
	if err != nil {
		return err
	}
	return e.set(m, thing.path()...)
}

// updateUses adds and changes the traits of a type in more, and removes those in gone.
//
// schema.yaml can list traits as a list of names or as a mapping; the form is kept where it can
// express the result.
func (e *schemaEdit) updateUses(t *vault.Type, more []namedUse, gone []string) error {
	for _, name := range gone {
		if !slices.Contains(t.TraitNames(), name) {
			return fault.New(fault.InvalidTrait, "the type %s has no trait with this name", t.Name).
				With("argument", "remove_traits").With("allowed", vault.Offered(t.TraitNames())).
				Suggest(name, t.TraitNames())
		}
		if slices.ContainsFunc(more, func(u namedUse) bool { return u.name == name }) {
			return fault.New(fault.InvalidValue, "a trait is both added and removed").With("argument", "remove_traits")
		}
	}
	if len(more)+len(gone) == 0 {
		return nil
	}
	path := []string{"types", e.written(t.Name), "traits"}
	if yamltext.IsMapping(e.text, path) {
		return e.updateUseMap(t, path, more, gone)
	}
	return e.updateUseList(t, path, more, gone)
}

// written returns the name of a type as the text spells it. schema.yaml may call the type of daily
// notes date.
func (e *schemaEdit) written(name string) string {
	if name == vault.Daily && yamltext.IsMapping(e.text, []string{"types", "date"}) {
		return "date"
	}
	return name
}

// updateUseMap is updateUses for traits that are written as a mapping.
func (e *schemaEdit) updateUseMap(t *vault.Type, path []string, more []namedUse, gone []string) error {
	for _, name := range gone {
		if err := e.remove(append(slices.Clone(path), name)...); err != nil {
			return err
		}
	}
	for _, u := range more {
		m, err := u.entries()
		if err != nil {
			return err
		}
		if len(m) == 0 && slices.Contains(t.TraitNames(), u.name) {
			continue
		}
		if err := e.set(m, append(slices.Clone(path), u.name)...); err != nil {
			return err
		}
	}
	return nil
}

// updateUseList is updateUses for traits that are written as a list. The list becomes a mapping if
// a trait has properties.
func (e *schemaEdit) updateUseList(t *vault.Type, path []string, more []namedUse, gone []string) error {
	uses := namedUses(slices.DeleteFunc(t.TraitNames(), func(name string) bool { return slices.Contains(gone, name) }))
	for _, u := range more {
		i := slices.IndexFunc(uses, func(o namedUse) bool { return o.name == u.name })
		if i < 0 {
			uses = append(uses, u)
		} else {
			uses[i] = u
		}
	}
	now, err := usesAsYAML(uses)
	if err != nil {
		return err
	}
	if names, ok := now.([]string); ok {
		return e.setList(names, path...)
	}
	return e.set(now, path...)
}

// run drafts the removal.
//
// Without Force, a type, trait or field that objects or other definitions use is not removed; the
// fault lists the uses. With Force the definition and the references to it in the schema are
// removed. Notes are never changed; what the removal leaves in them is in the side effects.
func (in schemaRemoveIn) run(ctx context.Context, tx *repo.Tx, out *schemaEditOut) error {
	e, err := newSchemaEdit(ctx, tx, in.schemaItem)
	if err == nil {
		err = e.checkExists()
	}
	if err != nil {
		return err
	}
	if err := e.removable(tx.Index()); err != nil {
		return err
	}
	users := e.users(tx.Index())
	if len(users) > 0 && !in.Force {
		call := fault.Args{"kind": in.Kind, "name": in.Name, "force": true}
		if in.Type != "" {
			call["type"] = in.Type
		}
		return inUse(users, "the "+in.Kind+" is in use").Fix("force removes it nevertheless").
			Try("raven_schema_remove", call)
	}
	out.SideEffects = e.removalEffects(tx.Index())
	if err := e.removeReferences(); err != nil {
		return err
	}
	if err := e.remove(e.item.path()...); err != nil {
		return err
	}
	return e.put(ctx, tx, out, "deleted")
}

// removeReferences removes the references to the type, trait or name field from the rest of the
// schema.
//
// The definitions that it changes are recorded in e.also, so that the check of the result accepts
// these changes and no others.
func (e *schemaEdit) removeReferences() error {
	switch name := e.item.Name; e.item.Kind {
	case kindType:
		return e.removeTarget(name)
	case kindTrait:
		for _, owner := range e.was.UsedBy(name) {
			t, _ := e.was.Type(owner)
			e.also = append(e.also, "types."+t.Name+".traits."+name)
			if err := e.updateUses(t, nil, []string{name}); err != nil {
				return err
			}
		}
	default:
		if path := []string{"types", e.item.Type, "name_field"}; e.isNameField() {
			e.also = append(e.also, "types."+e.item.Type)
			return e.remove(path...)
		}
	}
	return nil
}

// isNameField reports whether the field is the name_field in the definition of its type.
func (e *schemaEdit) isNameField() bool {
	said, _ := e.was.Definitions()["types."+e.item.Type].(map[string]any)
	return said["name_field"] == e.item.Name
}

// removeTarget removes a type from the targets of references, which then accept any type.
func (e *schemaEdit) removeTarget(name string) error {
	for _, t := range e.was.Types {
		for _, f := range t.Fields {
			if f.Target != name || t.Name == name {
				continue
			}
			e.also = append(e.also, "types."+t.Name+".fields."+f.Name)
			if err := e.remove("types", e.written(t.Name), "fields", f.Name, "target"); err != nil {
				return err
			}
		}
	}
	for _, t := range e.was.Traits {
		if t.Target != name {
			continue
		}
		e.also = append(e.also, "traits."+t.Name)
		if err := e.remove("traits", t.Name, "target"); err != nil {
			return err
		}
	}
	return nil
}

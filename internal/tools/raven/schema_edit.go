package raven

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// A schemaItem names the type, trait or field of the schema that a call adds, changes or removes.
//
// Kind is one of kindType, kindTrait and kindField. The name of a field is unique only within its
// type.
type schemaItem struct {
	// what it is
	Kind string `json:"kind" enum:"type,trait,field"`
	// for a field: its type of object
	Type string `json:"type,omitempty" complete:"type"`
	// letters, digits, _ and -
	Name string `json:"name" complete:"field" of:"type" size:"name"`
}

// A definitionIn contains the properties of a type, trait or field.
//
// Which properties apply depends on the kind; see argumentsOf.
type definitionIn struct {
	// for a field or trait: string, number, bool, date, datetime, enum, ref or url, or a list such
	// as string[]
	ValueType string `json:"value_type,omitempty"`
	// for a type: the folder of new objects
	DefaultPath string `json:"default_path,omitempty"`
	// for a type: the field with the name of an object
	NameField string `json:"name_field,omitempty"`
	// its purpose
	Description string `json:"description,omitempty" size:"query"`
	// for a type: by name, each a value type or an object as in raven_schema_type
	Fields tool.Structure `json:"fields,omitempty"`
	// for a type: a list of traits, or by name {required, default}
	Traits tool.JSON `json:"traits,omitempty"`
	// for an enum; commas separate values
	Values []string `json:"values,omitempty"`
	// for a field or trait: the default value
	Default tool.JSON `json:"default,omitempty"`
	// for a field: every object must have it
	Required *bool `json:"required,omitempty"`
	// for a ref: the type of its target
	Target string `json:"target,omitempty" complete:"type"`
	// of a number
	Min *float64 `json:"min,omitempty"`
	// of a number
	Max *float64 `json:"max,omitempty"`
}

// A schemaAddIn is the input of raven_schema_add.
type schemaAddIn struct {
	tool.Vault
	schemaItem
	definitionIn
	tool.Mutation
}

// A schemaUpdateIn is the input of raven_schema_update. Properties that are not given stay as they
// are.
type schemaUpdateIn struct {
	tool.Vault
	schemaItem
	definitionIn
	// properties to remove: default, description, target, ...
	Unset []string `json:"unset,omitempty"`
	// for a type: traits to add
	AddTraits []string `json:"add_traits,omitempty" complete:"trait" alias:"add_trait"`
	// for a type: traits to remove
	RemoveTraits []string `json:"remove_traits,omitempty" complete:"trait" alias:"remove_trait"`
	tool.Mutation
}

// A schemaRemoveIn is the input of raven_schema_remove.
type schemaRemoveIn struct {
	tool.Vault
	schemaItem
	// remove it even if it is in use
	Force bool `json:"force,omitempty"`
	tool.Mutation
}

// A schemaEditOut is the output of the tools that change a schema.
//
// Changes can name other definitions than that of the call, if the removal of a type, trait or
// field affects them.
type schemaEditOut struct {
	tool.Aside `json:"-"`
	// created, updated, deleted or unchanged
	Action string `json:"action,omitempty"`
	// type, trait or field
	Kind string `json:"kind"`
	// for a field: its type of object
	Type string `json:"type,omitempty"`
	Name string `json:"name"`
	// the current definition, or the removed one
	Definition any `json:"definition,omitempty"`
	// by definition, such as types.person.fields.email: the old and the new value
	Changes     map[string]oldNew     `json:"changes,omitzero"`
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	// effects on the notes of the vault
	SideEffects []string `json:"side_effects,omitzero"`
}

// schemaAdd returns the tool raven_schema_add, which adds a type, trait or field to schema.yaml.
func (f tools) schemaAdd() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_add", Family: Family, Title: "Add to the schema",
		Role: auth.Editor, Kind: tool.Write, Flags: schemaFlags,
		Aliases: oldSchemaNames("add"), Old: oldSchemaForms("add"),
		Route:    tool.Route{Method: "POST", Path: "/schema/add"},
		Commands: schemaCommands("schema add"),
	}, func(ctx context.Context, c auth.Caller, in schemaAddIn) (schemaEditOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, schemaTarget}, in.run)
	})
}

// schemaUpdate returns the tool raven_schema_update, which changes a type, trait or field.
func (f tools) schemaUpdate() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_update", Family: Family, Title: "Change the schema",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true, Flags: schemaFlags,
		Aliases: oldSchemaNames("update"), Old: oldSchemaForms("update"),
		Route:    tool.Route{Method: "PATCH", Path: "/schema"},
		Commands: schemaCommands("schema update"),
	}, func(ctx context.Context, c auth.Caller, in schemaUpdateIn) (schemaEditOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, schemaTarget}, in.run)
	})
}

// schemaRemove returns the tool raven_schema_remove, which removes a type, trait or field.
func (f tools) schemaRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_remove", Family: Family, Title: "Remove from the schema",
		Role: auth.Editor, Kind: tool.Destroy,
		Aliases: oldSchemaNames("remove"), Old: oldSchemaForms("remove"),
		Flags:    map[string]string{"type": "of-type"},
		Route:    tool.Route{Method: "POST", Path: "/schema/remove"},
		Commands: schemaCommands("schema remove"),
	}, func(ctx context.Context, c auth.Caller, in schemaRemoveIn) (schemaEditOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, schemaTarget}, in.run)
	})
}

// schemaFlags are the command-line flags of arguments with another name. --type is the value type.
var schemaFlags = map[string]string{"value_type": "type", "type": "of-type"}

// schemaCommands returns the commands of a tool that changes the schema, one for each kind.
//
// The command line has one command for each kind, all of which call the same tool.
func schemaCommands(words string) []tool.Command {
	of := func(kind string, args ...string) tool.Command {
		return tool.Command{Words: words + " " + kind, Args: args, Set: map[string]string{"kind": kind}}
	}
	return []tool.Command{of(kindType, "name"), of(kindTrait, "name"), of(kindField, "type", "name")}
}

// oldSchemaNames returns the names of the first Raven's tools for a change of the schema, one for
// each kind.
func oldSchemaNames(verb string) []string {
	return []string{
		"raven_schema_" + verb + "_" + kindType, "raven_schema_" + verb + "_" + kindTrait,
		"raven_schema_" + verb + "_" + kindField,
	}
}

// oldSchemaForms returns, by name, the argument names of these tools.
func oldSchemaForms(verb string) map[string]tool.OldForm {
	forms := map[string]tool.OldForm{}
	for i, kind := range []string{kindType, kindTrait, kindField} {
		form := tool.OldForm{Set: map[string]string{"kind": kind}}
		if verb != "remove" && kind == kindTrait {
			form.Args = map[string]string{"type": "value_type"}
		}
		if kind == kindField {
			form.Args = map[string]string{"type_name": "type", "field_name": "name"}
		}
		if verb != "remove" && kind == kindField {
			form.Args["type"] = "value_type"
		}
		forms[oldSchemaNames(verb)[i]] = form
	}
	return forms
}

// A schemaEdit is a change of the text of a schema.
//
// The text is edited in place instead of being written from the parsed schema, so that comments,
// order and unknown keys remain. Such an edit could change more than intended, for example where an
// anchor of YAML is shared, so result parses the edited text and compares all definitions: only
// that of thing and those in also may differ.
type schemaEdit struct {
	item schemaItem
	was  *vault.Schema // parsed from the text, so without the folders in raven.yaml
	// text is the text of schema.yaml with the edits so far.
	text []byte
	also []string // keys of other definitions that may change too
}

// newSchemaEdit returns an edit of the current schema, which must be valid.
//
// A vault without schema.yaml gets a new text with the version only.
func newSchemaEdit(ctx context.Context, tx *repo.Tx, thing schemaItem) (*schemaEdit, error) {
	if err := thing.check(); err != nil {
		return nil, err
	}
	if _, err := state.Schema(tx.Index()); err != nil {
		return nil, err
	}
	text, _, err := tx.Text(ctx, vault.SchemaFile)
	if err != nil {
		return nil, err
	}
	was, err := vault.ParseSchema(text)
	if len(text) == 0 {
		text = []byte("version: 1\n")
	}
	return &schemaEdit{item: thing, was: was, text: text}, err
}

// check returns a fault if type is missing for a field, or given for another kind.
func (t *schemaItem) check() error {
	switch {
	case t.Kind == kindField && t.Type == "":
		return fault.New(fault.MissingRequired, "a field needs type: the type that contains it").
			With("argument", "type")
	case t.Kind != kindField && t.Type != "":
		return fault.New(fault.InvalidValue, "type is only for fields; a %s has none", t.Kind).
			With("argument", "type")
	}
	t.Type = vault.TypeName(t.Type)
	return nil
}

// path returns the path of the definition in schema.yaml.
func (t schemaItem) path() []string {
	switch t.Kind {
	case kindField:
		return []string{"types", t.Type, "fields", t.Name}
	case kindTrait:
		return []string{"traits", t.Name}
	}
	return []string{"types", t.Name}
}

// key returns the key of the definition in Schema.Definitions.
func (t schemaItem) key() string { return strings.Join(t.path(), ".") }

// set sets the value at a path in the text.
func (e *schemaEdit) set(value any, path ...string) (err error) {
	e.text, err = yamltext.Set(e.text, path, value)
	return manualEditFault(err, vault.SchemaFile)
}

// setList sets a list at a path in the text.
func (e *schemaEdit) setList(items []string, path ...string) (err error) {
	e.text, err = yamltext.SetList(e.text, path, items)
	return manualEditFault(err, vault.SchemaFile)
}

// remove removes the value at a path in the text.
func (e *schemaEdit) remove(path ...string) (err error) {
	e.text, err = yamltext.Remove(e.text, path)
	return manualEditFault(err, vault.SchemaFile)
}

// owner returns the type with a name, which must not be built-in. The properties of the built-in
// types are fixed; only types of the schema can have new fields.
func (e *schemaEdit) owner(name string) (*vault.Type, error) {
	t, ok := e.was.Type(name)
	switch {
	case !ok:
		return nil, e.was.NoType(name)
	case t.Builtin:
		return nil, builtin(name)
	}
	return t, nil
}

// builtin returns the fault of a change of a built-in type.
func builtin(name string) *fault.Fault {
	return fault.New(fault.InvalidType, "the type %s is built-in, and cannot be changed", vault.TypeName(name)).
		With("builtin", []string{vault.Daily, vault.Page, vault.Section})
}

// result returns the schema in the edited text. It returns an error if that is invalid, or if other
// definitions changed. Problems that the schema had before are not errors.
//
// The problems that it looks for are undefined types and traits, and defaults that their field does
// not accept. An edit must remain possible in a schema that has such problems already.
func (e *schemaEdit) result(c vault.Clock) (*vault.Schema, error) {
	is, err := vault.ParseSchema(e.text)
	if err != nil {
		problem := problemsOf(err)[0]
		return nil, fault.New(fault.InvalidValue, "the schema would be invalid: %s",
			strings.TrimPrefix(problem.Message, vault.SchemaFile+": "))
	}
	for _, name := range slices.Sorted(maps.Keys(e.was.ChangesTo(is))) {
		own := e.item.key()
		if name != own && !strings.HasPrefix(name, own+".") && !slices.Contains(e.also, name) {
			return nil, manualEditFault(yamltext.ErrNotEditable, vault.SchemaFile)
		}
	}
	known := map[any]bool{}
	for _, f := range slices.Concat(undefinedNames(e.was), invalidDefaults(e.was, c)) {
		known[f.Details["where"]] = true
	}
	var problems []*fault.Fault
	for _, f := range slices.Concat(undefinedNames(is), invalidDefaults(is, c)) {
		if !known[f.Details["where"]] {
			problems = append(problems, f)
		}
	}
	return is, fault.Join(Family.Several, problems).Err()
}

// put checks the effects on the vault, stages the edited text, and completes the output.
//
// A change that would make a valid note invalid is refused with the places; nothing is staged then.
// If no definition changes, the action is unchanged and there is no commit. The index of the draft
// has the new schema after the staging, and the definition in the answer comes from there.
func (e *schemaEdit) put(ctx context.Context, tx *repo.Tx, out *schemaEditOut, action string) error {
	is, err := e.result(state.Clock(tx.Index(), tx.Now()))
	if err != nil {
		return err
	}
	before := tx.Index()
	if problems := e.impact(before, is, state.Clock(before, tx.Now())); len(problems) > 0 {
		return inUse(problems, "the change would make notes of the vault invalid")
	}
	out.Kind, out.Type, out.Name, out.Changes = e.item.Kind, e.item.Type, e.item.Name, map[string]oldNew{}
	for name, c := range e.was.ChangesTo(is) {
		out.Changes[name] = oldNew{c.Old, c.New}
	}
	if out.Action = action; len(out.Changes) == 0 {
		out.Action = "unchanged"
	} else if err := tx.Put(ctx, vault.SchemaFile, e.text); err != nil {
		return err
	}
	shows := tx.Index()
	if action == "deleted" {
		shows = before
	}
	if out.Definition, err = asJSON(e.item.definition(shows)); err != nil {
		return err
	}
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, &out.Aside)
	}
	out.Action, out.DryRun = "", true
	if out.SideEffects == nil {
		out.SideEffects = []string{}
	}
	out.WouldModify, err = mutation.FileChanges(ctx, tx)
	return err
}

// asJSON returns a value as it is after a round trip through JSON, so that the stored answer for a
// repeated call is equal to the first one.
func asJSON(v any) (same any, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &same)
	}
	return same, err
}

// definition returns the type, trait or field as the tools show it, or nil if it does not exist.
func (t schemaItem) definition(idx *index.Index) any {
	s := idx.Schema()
	switch t.Kind {
	case kindTrait:
		if trait, ok := s.Trait(t.Name); ok {
			return traitOf(s, trait)
		}
	case kindType:
		if typ, ok := s.Type(t.Name); ok {
			return fullType(typ)
		}
	default:
		if f := fieldNamed(s, t.Type, t.Name); f != nil {
			return fieldOf(f)
		}
	}
	return nil
}

// fieldNamed returns the field with a name that the type itself defines, or nil.
func fieldNamed(s *vault.Schema, typ, name string) *vault.Field {
	t, ok := s.Type(typ)
	if !ok {
		return nil
	}
	for _, f := range t.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// manualEditFault converts the error of a file that cannot be edited without other changes into a
// fault. It returns other errors, and nil, unchanged.
//
// The file is then unchanged, and the fault contains the reason.
func manualEditFault(err error, file string) error {
	if !errors.Is(err, yamltext.ErrNotEditable) {
		return err
	}
	why := strings.TrimPrefix(err.Error(), yamltext.ErrNotEditable.Error()+": ")
	return fault.New(fault.FileError, "%s cannot be edited without changing more of it; edit it by hand",
		file).With("why", why).At(file, 0).Because(err)
}

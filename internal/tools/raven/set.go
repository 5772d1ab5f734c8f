package raven

import (
	"context"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A setIn is the input of raven_set. Exactly one of ID, Query and Filter is given, and at least one
// of Set and Unset.
//
// A value is a text as a person types it, or a typed JSON value; the type of the field reads both.
type setIn struct {
	tool.Vault
	// people/freya
	ID string `json:"id,omitempty" complete:"id" alias:"object_id,reference,trait_id"`
	// fields and their new values
	Set tool.Fields `json:"set,omitempty" complete:"field" of:"id" alias:"fields"`
	// names of fields to remove
	Unset []string `json:"unset,omitempty"`
	bulkIn
	tool.Brief
	tool.Mutation
}

// set returns the tool raven_set, which sets and removes fields of objects.
func (f tools) set() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_set", Family: Family, Title: "Set fields",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Aliases: []string{"raven_object_update"},
		Route:   tool.Route{Method: "PATCH", Path: "/objects/{id}"},
		Commands: []tool.Command{
			{Words: "set", Args: []string{"id?"}, Pairs: "set"},
			{Words: "object update", Args: []string{"id?"}, Pairs: "set"},
		},
	}, func(ctx context.Context, c auth.Caller, in setIn) (bulkObjectOut, error) {
		return f.change(ctx, c, "raven_set", in)
	})
}

// validate returns an error if the arguments are invalid. It does not read the vault.
func (in setIn) validate() error {
	if err := in.checkOne(in.ID, in.DryRun); err != nil {
		return err
	}
	if len(in.Set) == 0 && len(in.Unset) == 0 {
		return fault.New(fault.MissingRequired, "name a field to set or to unset").With("argument", "set")
	}
	return nil
}

// An unsetIn is the input of raven_unset. Exactly one of ID, Query and Filter is given.
type unsetIn struct {
	tool.Vault
	// people/freya
	ID string `json:"id,omitempty" complete:"id" alias:"object_id,reference"`
	// names of fields to remove
	Unset []string `json:"unset" alias:"fields"`
	bulkIn
	tool.Brief
	tool.Mutation
}

// unset returns the tool raven_unset, which removes fields of objects.
func (f tools) unset() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_unset", Family: Family, Title: "Unset fields",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/objects/unset"},
		Commands: []tool.Command{{Words: "unset", Args: []string{"id?", "unset..."}}},
	}, func(ctx context.Context, c auth.Caller, in unsetIn) (bulkObjectOut, error) {
		if err := in.validate(); err != nil {
			return bulkObjectOut{}, err
		}
		return f.change(ctx, c, "raven_unset", in.asSet())
	})
}

// validate returns an error if the arguments are invalid. It does not read the vault.
func (in unsetIn) validate() error {
	if len(in.Unset) == 0 {
		return fault.New(fault.MissingRequired, "name a field to unset").With("argument", "unset")
	}
	return nil
}

// run drafts the change.
func (in unsetIn) run(ctx context.Context, tx *repo.Tx, out *objectOut) error {
	return in.asSet().run(ctx, tx, out)
}

// asSet returns the equivalent call of raven_set.
func (in unsetIn) asSet() setIn {
	return setIn{
		Vault: in.Vault, ID: in.ID, Unset: in.Unset, bulkIn: in.bulkIn, Brief: in.Brief,
		Mutation: in.Mutation,
	}
}

// change sets and removes fields of one object, or of all results of a query.
//
// It serves raven_set and raven_unset. name is the name of the tool, to which plan tokens are
// bound.
func (f tools) change(
	ctx context.Context, c auth.Caller, name string, in setIn,
) (bulkObjectOut, error) {
	if err := in.validate(); err != nil {
		return bulkObjectOut{}, err
	}
	plan, err := planOf(in.PlanToken, name, in.ID, in.Query, in.Filter, in.Set, in.Unset)
	if err != nil {
		return bulkObjectOut{}, err
	}
	w := request{c, in.Vault.Vault, &in.Mutation, in.Slim, optionalTarget(in.ID)}
	return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *bulkObjectOut) (err error) {
		if out.expected = plan; !in.isBulk() {
			return in.run(ctx, tx, &out.objectOut)
		}
		out.Action = "updated"
		out.BulkAnswer, err = in.bulkIn.run(ctx, tx, query.Objects, &out.Aside, stepOf(in.runOn))
		return err
	})
}

// runOn drafts the change of one result of a query, the one with this id.
func (in setIn) runOn(ctx context.Context, tx *repo.Tx, id string, out *objectOut) error {
	in.ID = id
	return in.run(ctx, tx, out)
}

// run drafts the change.
//
// It reads the values as the type declares them, checks all of them, edits the frontmatter of the
// note or the declaration of the section, and stages the note. Fields that the type does not
// declare are written with a warning. Unsetting a field that is not there is no error; the answer
// lists it.
func (in setIn) run(ctx context.Context, tx *repo.Tx, out *objectOut) error {
	o, err := settable(tx, in.ID)
	if err != nil {
		return err
	}
	was := priorOf(tx.Index(), o)
	t, checked, err := in.check(tx, o)
	if err != nil {
		return err
	}
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	if text, err = in.apply(o, text, checked.Fields); err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if err := tx.Put(ctx, vault.Path(o.Note.Path), text); err != nil {
		return err
	}
	unknownFields(&out.Aside, t, checked.Unknown)
	warnRefs(tx, &out.Aside, o.Note.Path)
	out.setFields(tx, in, t, checked)
	for _, name := range in.Unset {
		if _, had := o.Field(name); !had {
			out.MissingFields = append(out.MissingFields, name)
		}
	}
	return out.updated(tx, was)
}

// setFields adds the names of the changed fields, and their new values, to the output. A removed
// field has the value null.
func (m *objectOut) setFields(tx *repo.Tx, in setIn, t *vault.Type, checked vault.CheckResult) {
	m.UpdatedFields, m.NewValues = in.names(), map[string]any{}
	d := newRenderer(tx.Index(), rich)
	for _, name := range m.UpdatedFields {
		m.NewValues[name] = d.value(nil, t, name, checked.Fields[name])
	}
	if tool.SizeOf(m.NewValues) > maxWhole {
		m.NewValues, _ = listedFields(m.NewValues)
	}
}

// settable returns the object with an id that has fields: a note, or an embedded object. A plain
// section is an error.
//
// If the id is that of a trait, the fault names the tool that changes traits.
func settable(tx *repo.Tx, id string) (index.Object, error) {
	o, err := locate(tx.Index(), id, state.Clock(tx.Index(), tx.Now()))
	if _, isTrait := tx.Index().Trait(id); isTrait && fault.Is(err, fault.NotFound) {
		return o, fault.Of(err).Fix("%s is a trait: update it as one", id).
			Try("raven_trait_get", fault.Args{"id": id})
	}
	if err == nil && o.Section != nil && o.Type() == vault.Section {
		return o, fault.New(fault.InvalidValue,
			"%s is a section: its fields are its heading, which edit changes", o.ID()).
			With("argument", "id").Try("raven_read", fault.Args{"path": o.ID()})
	}
	return o, err
}

// check returns the type of the object and the given values as the type reads them. If there are
// problems, it returns one fault with all of them.
//
// Problems are invalid values, references to an object of the wrong type, values that YAML or the
// syntax of declarations cannot express, and fields that this tool does not change. References are
// replaced by full ids, so that they stay unambiguous.
func (in setIn) check(tx *repo.Tx, o index.Object) (*vault.Type, vault.CheckResult, error) {
	s, err := state.Schema(tx.Index())
	if err != nil {
		return nil, vault.CheckResult{}, err
	}
	t, ok := s.Type(o.Type())
	if !ok {
		return nil, vault.CheckResult{}, s.NoType(o.Type())
	}
	fields := mutation.TypedFields(in.Set)
	checked := t.Check(fields, state.Clock(tx.Index(), tx.Now()))
	write := inFrontmatter
	if o.Section != nil {
		write = inDeclaration
	}
	problems := slices.Concat(checked.Problems, mutation.WrongTargets(tx.Index(), t, checked.Fields),
		unwritable(checked.Fields, write))
	if f := checkDailyDate(tx.Index(), o, checked.Fields); f != nil {
		problems = append(problems, f)
	}
	for _, name := range in.names() {
		if f := in.unchangeable(t, o, name); f != nil {
			problems = append(problems, f)
		}
	}
	if f := fault.Join(Family.Several, withFieldLocations(problems, o)); f != nil {
		return nil, checked, f
	}
	checked.Fields = mutation.ByIDs(tx.Index(), t, checked.Fields)
	return t, checked, nil
}

// unchangeable returns a fault if a field cannot be changed in this way, independent of its value.
func (in setIn) unchangeable(t *vault.Type, o index.Object, name string) *fault.Fault {
	_, sets := in.Set[name]
	unsets := slices.Contains(in.Unset, name)
	switch {
	case name == "type":
		return noType(map[string]any{"type": nil})
	case name == "id" && o.Section != nil:
		return fault.New(fault.InvalidField, "the id in a declaration is part of the object's own id, "+
			"which references use; edit changes it").With("field", "id").
			Try("raven_read", fault.Args{"path": o.ID()})
	case sets && unsets:
		return fault.New(fault.InvalidValue, "field %q is both set and unset", name).
			With("field", name)
	case unsets:
		return unsettable(t, name)
	}
	return nil
}

// withFieldLocations adds locations to problems with fields: the line of the field or, if the
// object does not have it, the first line of the object. It modifies and returns the slice.
//
// Other problems are not changed.
func withFieldLocations(problems []*fault.Fault, o index.Object) []*fault.Fault {
	for i, p := range problems {
		name, ok := p.Details["field"].(string)
		if !ok {
			continue
		}
		line := o.Location().Line
		if f, has := o.Field(name); has {
			line = f.Line
		}
		problems[i] = p.At(o.Note.Path, max(line, 1))
	}
	return problems
}

// unsettable returns a fault if the type requires a field, so that it cannot be removed.
func unsettable(t *vault.Type, name string) *fault.Fault {
	f, ok := t.Field(name)
	if !ok || !f.Required || f.HasDefault {
		return nil
	}
	return fault.New(fault.MissingRequired, "type %s requires the field %q", t.Name, name).
		With("field", name)
}

// apply returns the text with the fields set and removed. The rest of the text stays the same.
//
// Values are set first and removed afterwards; a call cannot do both with one field.
func (in setIn) apply(o index.Object, text []byte, fields map[string]any) ([]byte, error) {
	if o.Section != nil {
		at := headingAt(text, o)
		text, err := markdown.SetArgumentsAt(text, at, mutation.SortedFields(fields))
		if err != nil || len(in.Unset) == 0 {
			return text, err
		}
		return markdown.UnsetArgumentsAt(text, at, in.Unset)
	}
	if len(fields) > 0 {
		var err error
		if text, err = markdown.SetFields(text, mutation.SortedFields(fields)); err != nil {
			return nil, err
		}
	}
	if len(in.Unset) == 0 {
		return text, nil
	}
	return markdown.UnsetFields(text, in.Unset)
}

// headingAt returns the index of the heading of a section in the text of its note, or -1. A section
// is found by its position and not by its slug, because declarations can repeat an id.
func headingAt(text []byte, o index.Object) int {
	return markdown.Parse(text).HeadingAt(o.Number() + 1)
}

// withFileAndLine adds the file to the fault of an edit. The line is taken from its details.
func withFileAndLine(err error, file string) error {
	f := fault.Of(err)
	line, _ := f.Details["line"].(int)
	return f.At(file, line)
}

// names returns the fields that the call sets or removes, sorted.
func (in setIn) names() []string {
	names := append(slices.Collect(maps.Keys(in.Set)), in.Unset...)
	slices.Sort(names)
	return slices.Compact(names)
}

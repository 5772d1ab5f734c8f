package raven

import (
	"context"
	_ "embed"
	"maps"
	"slices"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

//go:embed set.md
var setDoc string

//go:embed unset.md
var unsetDoc string

type setIn struct {
	tool.Vault
	ID    string      `json:"id" complete:"id" jsonschema:"people/freya" alias:"object_id,reference,trait_id"`
	Set   tool.Fields `json:"set,omitempty" jsonschema:"fields and their new values" alias:"fields"`
	Unset []string    `json:"unset,omitempty" jsonschema:"names of fields to take away"`
	tool.Mutation
}

func (f tools) set() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_set", Family: Family, Title: "Set fields", Doc: setDoc,
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Aliases: []string{"raven_object_update"},
		Route:   tool.Route{Method: "PATCH", Path: "/objects/{id}"},
		Commands: []tool.Command{
			{Words: "set", Args: []string{"id"}, Pairs: "set"},
			{Words: "object update", Args: []string{"id"}, Pairs: "set"},
		},
	}, func(ctx context.Context, c auth.Caller, in setIn) (mutated, error) {
		if len(in.Set) == 0 && len(in.Unset) == 0 {
			return mutated{}, fault.New(fault.MissingRequired,
				"name a field to set or to unset").With("argument", "set")
		}
		return f.change(ctx, c, in)
	})
}

type unsetIn struct {
	tool.Vault
	ID    string   `json:"id" complete:"id" jsonschema:"people/freya" alias:"object_id,reference"`
	Unset []string `json:"unset" jsonschema:"names of fields to take away" alias:"fields"`
	tool.Mutation
}

func (f tools) unset() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_unset", Family: Family, Title: "Unset fields", Doc: unsetDoc,
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/objects/unset"},
		Commands: []tool.Command{{Words: "unset", Args: []string{"id", "unset..."}}},
	}, func(ctx context.Context, c auth.Caller, in unsetIn) (mutated, error) {
		if len(in.Unset) == 0 {
			return mutated{}, fault.New(fault.MissingRequired, "name a field to unset").
				With("argument", "unset")
		}
		return f.change(ctx, c, setIn{
			Vault: in.Vault, ID: in.ID, Unset: in.Unset, Mutation: in.Mutation,
		})
	})
}

// change sets and unsets fields of one object.
func (f tools) change(ctx context.Context, c auth.Caller, in setIn) (mutated, error) {
	return draft(ctx, f, writing{c, in.Vault.Vault, &in.Mutation}, in.run)
}

// run drafts the change.
func (in setIn) run(ctx context.Context, tx *repo.Tx, out *mutated) error {
	n, err := locateNote(tx.Index(), in.ID, clock(tx.Index(), tx.Now()))
	if err != nil {
		return err
	}
	before := objectAt(tx.Index(), index.Object{Note: n})
	checked, err := in.check(tx, n)
	if err != nil {
		return err
	}
	text, _, err := tx.Text(ctx, vault.Path(n.Path))
	if err != nil {
		return err
	}
	text, err = in.apply(n, text, checked.Fields)
	if err != nil {
		return err
	}
	if err := tx.Put(ctx, vault.Path(n.Path), text); err != nil {
		return err
	}
	if t, ok := tx.Index().Schema().Type(n.Type); ok {
		unknownFields(&out.Aside, t, checked.Unknown)
	}
	warnRefs(tx, &out.Aside, n.Path)
	out.UpdatedFields, out.NewValues = in.names(), map[string]any{}
	for _, name := range out.UpdatedFields {
		out.NewValues[name] = shown(checked.Fields[name])
	}
	for _, name := range in.Unset {
		if _, had := n.Field(name); !had {
			out.MissingFields = append(out.MissingFields, name)
		}
	}
	return out.updated(ctx, tx, before)
}

// check reads the values of a call by the schema. All problems come together.
func (in setIn) check(tx *repo.Tx, n *index.Note) (vault.Checked, error) {
	s, err := schemaOf(tx.Index())
	if err != nil {
		return vault.Checked{}, err
	}
	t, ok := s.Type(n.Type)
	if !ok {
		return vault.Checked{}, s.NoType(n.Type)
	}
	fields := typed(in.Set)
	checked := t.Check(fields, clock(tx.Index(), tx.Now()))
	problems := checked.Problems
	if f := noType(fields); f != nil {
		problems = append(problems, f)
	}
	for _, name := range in.Unset {
		if f := unsettable(t, name); f != nil {
			problems = append(problems, f)
		}
		if _, twice := fields[name]; twice {
			problems = append(problems, fault.New(fault.InvalidValue,
				"field %q is both set and unset", name).With("field", name))
		}
	}
	if f := fault.Join(Family.Several, inFields(problems, n)); f != nil {
		return checked, f
	}
	return checked, nil
}

// inFields says of problems with fields where in the note they are: at the field, or at its
// beginning where the note does not have it.
func inFields(problems []*fault.Fault, n *index.Note) []*fault.Fault {
	for i, p := range problems {
		name, ok := p.Details["field"].(string)
		if !ok {
			continue
		}
		line := 1
		if f, has := n.Field(name); has {
			line = f.Line
		}
		problems[i] = p.At(n.Path, line)
	}
	return problems
}

// unsettable is why a field cannot be taken away.
func unsettable(t *vault.Type, name string) *fault.Fault {
	if name == "type" {
		return noType(map[string]any{"type": nil})
	}
	f, ok := t.Field(name)
	if !ok || !f.Required || f.HasDefault {
		return nil
	}
	return fault.New(fault.MissingRequired, "type %s requires the field %q", t.Name, name).
		With("field", name)
}

// apply is the text with the fields set and unset. Nothing else in it changes.
func (in setIn) apply(n *index.Note, text []byte, fields map[string]any) ([]byte, error) {
	var err error
	if len(fields) > 0 {
		if text, err = markdown.SetFields(text, sorted(fields)); err != nil {
			return nil, at(err, n.Path)
		}
	}
	if len(in.Unset) > 0 {
		if text, err = markdown.UnsetFields(text, in.Unset); err != nil {
			return nil, at(err, n.Path)
		}
	}
	return text, nil
}

// at gives the fault of an edit its file. The line is in its details.
func at(err error, file string) error {
	f := fault.Of(err)
	line, _ := f.Details["line"].(int)
	return f.At(file, line)
}

// names are the fields that the call names, in order.
func (in setIn) names() []string {
	names := append(slices.Collect(maps.Keys(in.Set)), in.Unset...)
	slices.Sort(names)
	return slices.Compact(names)
}

// updated fills the answer of a call that changed a note, or found it as it should be.
func (m *mutated) updated(ctx context.Context, tx *repo.Tx, before object) error {
	n, ok := tx.Index().ByID(before.ID)
	if !ok {
		return notFound("no object %q", before.ID)
	}
	o := objectAt(tx.Index(), index.Object{Note: n})
	m.ID, m.Type, m.File, m.Object = n.ID, n.Type, n.Path, &o
	m.Action = "updated"
	if staged, err := tx.Staged(ctx); err != nil || len(staged) == 0 {
		m.Action = "unchanged"
	}
	warnQuarantine(&m.Aside, n)
	return m.planned(ctx, tx, &before)
}

// warnQuarantine warns of a note that does not parse.
func warnQuarantine(a *tool.Aside, n *index.Note) {
	if n.Quarantine != nil {
		a.Warn("NOTE_QUARANTINED", n.Path+" does not parse; it is kept as text",
			map[string]any{"path": n.Path, "line": n.Quarantine.Line})
	}
}

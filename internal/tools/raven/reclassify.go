package raven

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A reclassifyIn is the input of raven_reclassify.
//
// A plan token is optional: a single object changes in a predictable way, and the token only
// protects a caller who has reviewed the plan.
type reclassifyIn struct {
	tool.Vault
	// people/freya, or an embedded object
	ID string `json:"id" complete:"id" size:"id" alias:"object_id,reference"`
	// the new type
	Type string `json:"type" complete:"type"`
	// values of fields of the new type
	Fields tool.Fields `json:"fields,omitempty" alias:"field"`
	// remove the fields that the new type does not have
	Force bool `json:"force,omitempty"`

	// from a dry run of the same call: CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty" max:"200" digest:"-" rare:"true"`
	tool.Brief
	tool.Mutation
}

// A reclassifyOut is the output of a change of an object's type.
type reclassifyOut struct {
	objectOut
	OldType string `json:"old_type,omitempty"`
	// fields that were set
	AddedFields []string `json:"added_fields,omitzero"`
	// fields that were removed, with their values
	DroppedFields map[string]any `json:"dropped_fields,omitzero"`
}

// A plannedReclassifyOut is the output of raven_reclassify: a reclassified with a plan token.
type plannedReclassifyOut struct {
	reclassifyOut
	// send it with the same call to make these changes; CONFLICT if the result would differ
	PlanToken string `json:"plan_token,omitempty"`

	planned planned
}

// finish completes the answer and checks or issues the plan token; see answer.
func (m *plannedReclassifyOut) finish(ctx context.Context, tx *repo.Tx) error {
	err := m.reclassifyOut.finish(ctx, tx)
	if err == nil {
		m.PlanToken, err = m.planned.check(ctx, tx)
	}
	return err
}

// reclassify returns the tool raven_reclassify, which changes the type of an object.
func (f tools) reclassify() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_reclassify", Family: Family, Title: "Change the type of an object",
		Role: auth.Editor, Kind: tool.Destroy, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/objects/reclassify"},
		Flags:    map[string]string{"fields": "field"},
		Commands: []tool.Command{{Words: "reclassify", Args: []string{"id", "type"}, Pairs: "fields"}},
	}, func(ctx context.Context, c auth.Caller, in reclassifyIn) (plannedReclassifyOut, error) {
		plan, err := planOf(in.PlanToken, "raven_reclassify", in.ID, in.Type, in.Fields, in.Force)
		if err != nil {
			return plannedReclassifyOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.Mutation, in.Slim, noteTarget(in.ID)}
		return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *plannedReclassifyOut) error {
			out.planned = plan
			return in.run(ctx, tx, &out.reclassifyOut)
		})
	})
}

// run drafts the change.
//
// The note is not moved, and references to it are not rewritten, because its id stays the same.
// Fields that the new type does not have are an error unless Force is set; then they are removed,
// and the answer has their values, so that a caller can restore them.
func (in reclassifyIn) run(ctx context.Context, tx *repo.Tx, out *reclassifyOut) error {
	idx := tx.Index()
	o, err := settable(tx, in.ID)
	if err != nil {
		return err
	}
	t, err := in.newType(idx)
	if err != nil {
		return err
	}
	was := priorOf(idx, o)
	checked, dropped, err := in.check(tx, o, t)
	if err != nil {
		return err
	}
	text, _, err := tx.Text(ctx, vault.Path(o.Note.Path))
	if err != nil {
		return err
	}
	if text, err = in.apply(o, t, text, checked.Fields, dropped); err != nil {
		return withFileAndLine(err, o.Note.Path)
	}
	if err := tx.Put(ctx, vault.Path(o.Note.Path), text); err != nil {
		return err
	}
	out.OldType, out.AddedFields = o.Type(), slices.Sorted(maps.Keys(checked.Fields))
	out.DroppedFields = map[string]any{}
	for _, name := range dropped {
		out.DroppedFields[name] = was.shown.Fields[name]
	}
	unknownFields(&out.Aside, t, checked.Unknown)
	warnRefs(tx, &out.Aside, o.Note.Path)
	out.SideEffects = append(in.effects(idx, o, t), out.SideEffects...)
	return out.updated(tx, was)
}

// newType returns the new type of the object.
func (in reclassifyIn) newType(idx *index.Index) (*vault.Type, error) {
	s, err := state.Schema(idx)
	if err != nil {
		return nil, err
	}
	t, ok := s.Type(in.Type)
	switch {
	case !ok:
		return nil, s.NoType(in.Type)
	case t.Name == vault.Section || t.Name == vault.Daily:
		return nil, fault.New(fault.InvalidType,
			"no object can be given the type %s: it depends on the place of the object", t.Name).
			With("available_types", vault.Offered(slices.DeleteFunc(s.TypeNames(), func(name string) bool {
				return name == vault.Section || name == vault.Daily
			})))
	}
	return t, nil
}

// check returns the given fields as the new type reads them, and the names of the object's fields
// that the new type does not have. If there are problems, it returns one fault with all of them.
//
// Values that the object keeps are not checked against the new type; raven_check reports them.
// Required fields that neither the object nor the call has are problems.
func (in reclassifyIn) check(tx *repo.Tx, o index.Object, t *vault.Type) (vault.CheckResult, []string, error) {
	checked := t.Check(mutation.TypedFields(in.Fields), state.Clock(tx.Index(), tx.Now()))
	write := inFrontmatter
	if o.Section != nil {
		write = inDeclaration
	}
	problems := slices.Concat(checked.Problems, mutation.WrongTargets(tx.Index(), t, checked.Fields),
		unwritable(checked.Fields, write))
	all := o.Values()
	maps.Copy(all, checked.Fields)
	problems = append(problems, t.Missing(all)...)
	dropped := in.unknown(o, t)
	if !in.Force {
		for _, name := range dropped {
			problems = append(problems, fault.New(fault.InvalidField,
				"type %s has no field %q; force removes it", t.Name, name).With("field", name))
		}
	}
	if f := fault.Join(Family.Several, withFieldLocations(problems, o)); f != nil {
		return checked, nil, f
	}
	checked.Fields = mutation.ByIDs(tx.Index(), t, checked.Fields)
	return checked, dropped, nil
}

// unknown returns the names of the object's fields that a type does not have, sorted. A page can
// have any field.
func (in reclassifyIn) unknown(o index.Object, t *vault.Type) []string {
	if t.Name == vault.Page {
		return nil
	}
	var names []string
	for _, f := range o.Fields() {
		_, given := in.Fields[f.Name]
		if _, has := t.Field(f.Name); !has && !given && !slices.Contains(freeFields, f.Name) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// freeFields are the fields that objects of every type can have.
var freeFields = []string{"type", "id", "tags", "alias", "aliases"}

// apply returns the text with the new type and fields. The rest of the text stays the same.
//
// The type is in the frontmatter of a note, or in the declaration of a section.
func (in reclassifyIn) apply(
	o index.Object, t *vault.Type, text []byte, fields map[string]any, dropped []string,
) ([]byte, error) {
	var err error
	if o.Section != nil {
		if text, err = markdown.SetDeclaredTypeAt(text, headingAt(text, o), t.Name); err != nil {
			return nil, err
		}
	} else if text, err = markdown.SetType(text, t.Name); err != nil {
		return nil, err
	}
	set := setIn{Unset: dropped}
	return set.apply(o, text, fields)
}

// effects returns sentences about what the change does not fix: the folder of the note, and
// references from fields that require another type.
func (in reclassifyIn) effects(idx *index.Index, o index.Object, t *vault.Type) []string {
	var effects []string
	if folder := typeOfFolder(idx.Schema(), o.Note.ID); o.Section == nil && t.DefaultPath != "" && folder != t {
		effects = append(effects, fmt.Sprintf("the note is not moved; raven_move can move it to %s", t.DefaultPath))
	}
	wrong := 0
	for _, l := range mutation.LinksFromOutside(idx, o) {
		source, ok := idx.Schema().Type(l.Source.Type())
		if !ok || !l.Ref.InField {
			continue
		}
		if f, ok := source.Field(l.Ref.Field()); ok && f.Target != "" && f.Target != t.Name {
			wrong++
		}
	}
	if wrong > 0 {
		effects = append(effects, mutation.Count(wrong, "reference")+" "+
			mutation.Plural(wrong, "is in a field whose target is", "are in fields whose target is")+" another type")
	}
	return effects
}

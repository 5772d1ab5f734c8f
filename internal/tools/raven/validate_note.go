package raven

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/tools/state"
	"rookery/internal/vault"
)

// A noteInput is a note that is to be checked.
type noteInput struct {
	Path *string `json:"path"`
	Text *string `json:"text"`
}

// normalNote is what a text makes of a note.
type normalNote struct {
	Path   string         `json:"path"`
	Type   string         `json:"type"`
	Fields map[string]any `json:"fields"`
}

// tryNote finds what is wrong with a note, as it would be written.
func (f tools) tryNote(
	ctx context.Context, tx *repo.Tx, raw json.RawMessage, out *validateOut,
) error {
	var in noteInput
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if strict.Decode(&in) != nil || in.Path == nil || in.Text == nil {
		out.wrong(fault.New(fault.InvalidValue, "the input must be an object with path and text, both texts").
			With("argument", "input"))
		return nil
	}
	path, err := vault.NotePath(*in.Path)
	if err != nil {
		out.wrong(fault.Of(err))
		return nil
	}
	if err := tx.Try(func() error { return tx.Put(ctx, path, []byte(*in.Text)) }); err != nil {
		return out.take(ctx, err)
	}
	n, ok := tx.Index().Note(string(path))
	if !ok {
		out.wrong(fault.New(fault.InvalidPath, "%s is the path of no note", path))
		return nil
	}
	c := noteCheck{idx: tx.Index(), note: n, clock: state.Clock(tx.Index(), tx.Now()), out: out, going: state.Going(ctx)}
	c.run()
	if err := ctx.Err(); err != nil {
		return err
	}
	out.Normalized = normalNote{string(path), n.Type, n.Values()}
	return nil
}

// A noteCheck collects what is wrong with a note, and what is odd.
type noteCheck struct {
	idx   *index.Index
	note  *index.Note
	clock vault.Clock
	out   *validateOut
	going func() bool // reports whether the call goes on
}

// run checks the head of the note, the objects and traits in it, and its references.
func (c noteCheck) run() {
	if q := c.note.Quarantine; q != nil {
		c.wrong(fault.New(fault.FileError, "the frontmatter does not parse: %s", q.Message).
			With("raven_code", "parse_error"), q.Line)
		return
	}
	if err := c.idx.SchemaErr(); err != nil {
		c.out.wrong(fault.Of(err))
		return
	}
	c.object(c.note.Object(-1), c.note.DeclaredType, 1)
	for i := range c.note.Sections {
		s := &c.note.Sections[i]
		if s.DeclaredType != "" {
			c.object(c.note.Object(i), s.DeclaredType, s.Line)
		}
	}
	c.traits()
	c.refs()
}

func (c noteCheck) wrong(f *fault.Fault, line int) { c.out.wrong(f.At(c.note.Path, line)) }

func (c noteCheck) odd(f *fault.Fault, line int) {
	c.out.odd = append(c.out.odd, f.At(c.note.Path, line))
}

// object checks the type and the fields of an object that is declared in a line.
func (c noteCheck) object(o index.Object, declared string, line int) {
	s := c.idx.Schema()
	if _, ok := s.Type(declared); !ok && declared != "" {
		c.wrong(fault.Of(s.NoType(declared)).With("raven_code", "unknown_type"), line)
		return
	}
	t, ok := s.Type(o.Type())
	if !ok {
		return
	}
	fields := o.Values()
	for _, f := range t.Missing(fields) {
		c.wrong(f.With("raven_code", "missing_required_field"), line)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := line
		if field, ok := o.Field(name); ok && field.Line > 0 {
			at = field.Line
		}
		checked := t.Check(map[string]any{name: fields[name]}, c.clock)
		for _, f := range checked.Problems {
			c.wrong(f.With("raven_code", ravenFieldCode(f, t, name)), at)
		}
		for _, name := range checked.Unknown {
			c.wrong(fault.New(fault.InvalidField, "type %s has no field %q", t.Name, name).
				With("field", name).With("allowed", vault.Offered(t.FieldNames())).
				With("raven_code", "unknown_frontmatter_key").Suggest(name, t.FieldNames()), at)
		}
	}
}

// ravenFieldCode is what a Raven calls a value that a field does not take.
func ravenFieldCode(f *fault.Fault, t *vault.Type, name string) string {
	field, ok := t.Field(name)
	switch {
	case ok && f.Code == fault.InvalidValue && field.Type == "enum":
		return "invalid_enum_value"
	case ok && f.Code == fault.InvalidValue && field.IsTime():
		return "invalid_date_format"
	}
	return "invalid_field_value"
}

// traits checks the annotations of the note.
func (c noteCheck) traits() {
	s := c.idx.Schema()
	told := map[string]bool{}
	for _, t := range c.note.Annotations {
		if !c.going() {
			return
		}
		def, ok := s.Trait(t.Type)
		switch {
		case t.Field:
		case !ok && !told[t.Type] && t.Type != "id":
			told[t.Type] = true
			c.odd(fault.Of(s.NoTrait(t.Type)).With("raven_code", "undefined_trait"), t.Line)
		case ok && t.Raw == "" && !speaksBare(&def.Field):
			c.odd(fault.New(fault.InvalidValue, "Trait '%s' must have a value", t.Type).
				With("field", t.Type).With("raven_code", "invalid_trait_value"), t.Line)
		case ok:
			if _, err := def.Read(t.Value(), c.clock); err != nil {
				c.wrong(fault.Of(err).With("raven_code", "invalid_trait_value"), t.Line)
			}
		}
	}
}

// refs checks where the references of the note lead.
func (c noteCheck) refs() {
	refs := c.idx.Resolver()
	told := map[string]bool{}
	for i := range c.note.Refs {
		if !c.going() {
			return
		}
		r := &c.note.Refs[i]
		to := refs.From(c.note, r.Target)
		if told[r.Target] || to.ID != "" && !to.FragmentMissing || r.IsFile() {
			continue
		}
		told[r.Target] = true
		ref := firstRunes(r.Target)
		switch {
		case len(to.Matches) > 0:
			c.wrong(fault.New(fault.InvalidRef, "the reference %q is ambiguous", ref).
				With("ref", ref).With("matches", firstOf(to.Matches, maxMatches)).
				With("raven_code", "ambiguous_reference"), r.Line)
		case to.FragmentMissing:
			c.odd(fault.New(fault.InvalidRef, "the reference %q leads to a note that has no such section", ref).
				With("ref", ref).With("raven_code", "stale_fragment"), r.Line)
		default:
			f := fault.New(fault.InvalidRef, "nothing is called %q", ref).
				With("ref", ref).With("raven_code", "missing_reference")
			if near := c.idx.Nearest(r.Target); len(near) > 0 {
				f = f.With("nearest", near)
			}
			c.wrong(f, r.Line)
		}
	}
}

// firstRunes is a reference as a message repeats it.
func firstRunes(ref string) string {
	const most = 600
	for i := range ref {
		if i > most {
			return ref[:i]
		}
	}
	return ref
}

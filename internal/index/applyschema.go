package index

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// applySchema sets the parts of a note that depend on the schema and the settings: its types and
// those of its sections, the annotations and fields that are traits, references without brackets,
// names and days. To apply another schema, call it again on a copy; see mutableCopy. Each part can
// depend on those before it: fields are traits by the type of the note, and a field is a reference
// by the type of its object.
func (d *draft) applySchema(n *Note) {
	n.Excluded = d.excludes(n.Path)
	// The head of a template can contain placeholders, so it need not be valid YAML.
	n.quarantined = n.problem != nil && !n.isTemplate(d.config)
	n.Type = d.typeOf(n)
	for i := range n.Sections {
		switch s := &n.Sections[i]; {
		case s.declaration == nil:
		case s.DeclaredType() == "" || s.DeclaredType() == vault.Section:
			s.setType(vault.Section)
		default:
			s.setType(d.schemaType(s.DeclaredType()))
		}
	}
	d.fieldTraits(n)
	d.define(n)
	// The marks depend on the types of the note, its sections and its annotations, so they come
	// last.
	n.markTypes(make([]byte, n.markCount()))
	d.bareRefs(n)
	n.fieldNames = d.fieldBuckets(n)
	n.fieldDays = newDayList(d.fieldDays(n))
}

// excludes reports whether the note at a path is excluded from orientation.
func (d *draft) excludes(path string) bool { return d.exclusion.Excludes(path, d.folders) }

// hides reports whether the setting exclude makes the note at a path a mere file.
func (d *draft) hides(path string) bool {
	return !d.hiding.IsEmpty() && d.hiding.Excludes(path, d.hidden)
}

// fieldTraits puts a trait for each field that the type of the note declares as one before the
// annotations of the text. It replaces the field traits of an earlier call. They have no ids and
// times yet; identify sets these.
func (x *Index) fieldTraits(n *Note) {
	fields, body := []Trait(nil), n.Annotations
	for len(body) > 0 && body[0].Field {
		body = body[1:]
	}
	if t, ok := x.schema.Type(n.Type); ok {
		names := t.TraitNames()
		for i, f := range n.Fields {
			if slices.Contains(names, f.Name) {
				fields = append(fields, n.fieldTrait(f, i))
			}
		}
	}
	// OnLine relies on this order: the fields come first.
	if n.Annotations = body; len(fields) > 0 {
		n.Annotations = slices.Concat(fields, body)
	}
}

// fieldTrait returns the trait for the i-th field of the note. Its content is the id of the note,
// because a field has no line of text to show.
func (n *Note) fieldTrait(f Field, i int) Trait {
	return Trait{
		Place:      &Place{Note: n, line: small[int32](f.Line), scope: -1, Content: n.ID, end: small[int32](len(n.ID))},
		TraitValue: &TraitValue{Type: f.Name, Raw: rawOf(f.Value), value: f.Value},
		position:   small[int32](i), Field: true,
	}
}

// rawOf returns the value of a field in the form that it has in an annotation.
func rawOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case markdown.Ref:
		return "[[" + string(v) + "]]"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// define sets the values of annotations by the schema. On each line, it lets the first defined
// trait with a pin claim the id of the pin. A claim is only a candidate: several notes can claim
// the same id, and pinOwner decides.
func (d *draft) define(n *Note) {
	pinned := 0 // the last line whose pin was claimed
	for _, t := range n.EachAnnotation {
		t.TraitValue = d.typedValue(t)
		if t.claims = false; t.Defined && t.Line() != pinned && t.Pin() != "" {
			t.claims, pinned = true, t.Line()
		}
	}
}

// typedValue returns the value of a trait under the schema. Annotations that are written alike
// share one TraitValue; field traits do not. The cache of values is cleared when the schema
// changes.
func (d *draft) typedValue(t *Trait) *TraitValue {
	k := traitValueKey{t.Type, t.Raw, t.Task}
	// A field has a typed value, which its text does not determine, so fields are not shared.
	if known := d.traitValues[k]; known != nil && !t.Field {
		return known
	}
	s := *t.TraitValue
	s.define(d.schema)
	if !t.Field {
		d.traitValues[k] = &s
	}
	return &s
}

// cacheValues stores the values of the annotations of a note, so that the next note with the same
// annotations shares them.
func (d *draft) cacheValues(n *Note) {
	for _, t := range n.EachAnnotation {
		if !t.Field {
			d.traitValues[traitValueKey{t.Type, t.Raw, t.Task}] = t.TraitValue
		}
	}
}

// define sets Defined, the name of the entry, and the days of a value by the schema. It corrects
// the type to the spelling of the schema.
func (s *TraitValue) define(schema *vault.Schema) {
	def, ok := schema.Trait(s.Type)
	if s.Task {
		s.Defined, s.entry = !ok, taskEntry(s.Raw)
		return
	}
	by := clean(s.Raw)
	if ok {
		s.Type = def.Name
		by = valueKey(def, s.Value())
	}
	if s.days = nil; ok && def.IsTime() {
		value, _ := def.Typed(s.Value())
		s.days = daysOf(value)
	}
	s.Defined, s.entry = ok, valueName(s.Type, by)
}

// valueKey returns the text under which a trait with the value v is looked up: the text of the
// typed value. For a reference, the bucket of the reference and NUL precede it, so that the traits
// that refer to an object are found by its buckets, like references in the text.
func valueKey(def *vault.Trait, v any) string {
	typed, _ := def.Typed(v)
	text := clean(ValueText(typed))
	if ref, ok := typed.(markdown.Ref); ok && def.Type == "ref" {
		return key(bucketOf(string(ref)), text)
	}
	return text
}

// ValueText returns a typed value of a trait in the form in which TraitsWith and TraitsBetween
// compare it.
func ValueText(v any) string {
	if ref, ok := v.(markdown.Ref); ok {
		return string(ref)
	}
	return rawOf(v)
}

// mutableCopy returns a copy of a note to which applySchema can be applied. It copies everything
// that applySchema and identify change; a trait of the copy points to the copy.
func (n *Note) mutableCopy() *Note {
	c := *n
	f := *n.File
	c.File, f.Note, f.Hidden = &f, &c, nil
	c.Sections = slices.Clone(n.Sections)
	c.Annotations = slices.Clone(n.Annotations)
	places := make([]Place, 0, n.placeCount())
	for i, t := range n.EachAnnotation {
		if i == 0 || t.Place != n.Annotations[i-1].Place {
			places = append(places, *t.Place)
			places[len(places)-1].Note = &c
		}
		c.Annotations[i].Place = &places[len(places)-1]
	}
	return &c
}

// placeCount returns the number of places that the annotations of the note share.
func (n *Note) placeCount() int {
	count := 0
	for i := range n.Annotations {
		if i == 0 || n.Annotations[i].Place != n.Annotations[i-1].Place {
			count++
		}
	}
	return count
}

// reapply replaces a note by a copy to which the current settings are applied. Its times and, where
// the rules allow it, its ids stay. It is used for a change of settings and for a pin that moves to
// another note.
func (d *draft) reapply(old *Note) {
	n := old.mutableCopy()
	d.unclaim(old.Note)
	if d.hides(n.Path) {
		n.Hidden, n.Note = n, nil
	}
	d.applySchema(n)
	d.identify(n, identity{old: matchTraits(n, prevTraitsOf(old)), created: d.time})
	d.swap(old.File, n.File)
}

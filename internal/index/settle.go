package index

import (
	"fmt"
	"slices"
	"strconv"

	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// settle fills in what the schema says of a note: the types, which annotations and fields are traits,
// references without brackets, names, and days. It may be called again with another schema, on a copy.
func (x *Index) settle(n *Note) {
	n.Type = x.typeOf(n)
	for i := range n.Sections {
		s := &n.Sections[i]
		if s.Type = vault.Section; s.DeclaredType != "" && s.DeclaredType != vault.Section {
			s.Type = x.meaning(s.DeclaredType)
		}
	}
	x.fieldTraits(n)
	x.define(n.Annotations)
	n.bareRefs(x.schema)
	n.callings = x.callings(n)
	n.days = daysIn(x.datings(n))
}

// fieldTraits puts the fields that are traits before the annotations of the text.
func (x *Index) fieldTraits(n *Note) {
	body := slices.DeleteFunc(slices.Clone(n.Annotations), func(t *Trait) bool { return t.Field })
	var fields []*Trait
	if t, ok := x.schema.Type(n.Type); ok {
		names := t.TraitNames()
		for i, f := range n.Fields {
			if slices.Contains(names, f.Name) {
				fields = append(fields, n.fieldTrait(f, i))
			}
		}
	}
	if n.Annotations = nil; len(fields)+len(body) > 0 {
		n.Annotations = slices.Concat(fields, body)
	}
}

func (n *Note) fieldTrait(f Field, i int) *Trait {
	t := &Trait{
		Note: n, Type: f.Name, Raw: rawOf(f.Value), Line: f.Line, Position: i,
		Scope: -1, Content: n.ID, ContentText: n.ID, Field: true,
	}
	t.keep(rare{value: f.Value})
	return t
}

// rawOf is the value of a field as an annotation would have it.
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

// define says which annotations are traits, and which of a line a pin is meant for.
func (x *Index) define(all []*Trait) {
	pinned := 0 // the last line whose pin is taken
	for _, t := range all {
		def, ok := x.schema.Trait(t.Type)
		t.Defined, t.claims = ok, false
		r := rare{}
		if t.rare != nil {
			r = rare{value: t.rare.value, pin: t.rare.pin}
		}
		if ok {
			t.Type = def.Name // one text for all, as are the values of an enum
			if i := slices.Index(def.Values, t.Raw); i >= 0 {
				t.Raw = def.Values[i]
			}
			if by := clean(valueKey(def, t.Value())); by != t.Raw {
				r.key = by
			}
		}
		t.keep(r)
		if ok && r.pin != "" && t.Line != pinned {
			t.claims, pinned = true, t.Line
		}
	}
}

// valueKey is what a trait with this value is found by: a reference by its bucket, else the text of
// the typed value.
func valueKey(def *vault.Trait, v any) string {
	typed, _ := def.Typed(v)
	if ref, ok := typed.(markdown.Ref); ok && def.Type == "ref" {
		return bucketOf(string(ref))
	}
	return ValueText(typed)
}

// ValueText is a typed value of a trait as TraitsWith and TraitsBetween find it.
func ValueText(v any) string {
	if ref, ok := v.(markdown.Ref); ok {
		return string(ref)
	}
	return rawOf(v)
}

// renewed is a copy of a note that may be settled again.
func (n *Note) renewed() *Note {
	c := *n
	f := *n.File
	c.File, f.Note = &f, &c
	c.Sections = slices.Clone(n.Sections)
	c.Annotations = make([]*Trait, len(n.Annotations))
	copies := make([]Trait, len(n.Annotations))
	for i, t := range n.Annotations {
		copies[i] = *t
		copies[i].Note = &c
		c.Annotations[i] = &copies[i]
	}
	return &c
}

// renew puts a note in its place again, as the settings now say.
func (d *draft) renew(old *Note) {
	n := old.renewed()
	d.settle(n)
	d.release(old)
	d.identify(n, formerOf(old), nil)
	d.swap(old.File, n.File)
}

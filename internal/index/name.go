package index

import (
	"slices"
	"strings"

	"rookery/internal/vault"
)

// The ways in which an object goes by a name, of which the second of each pair holds the form in which
// a name is found that is written otherwise, where that is another.
const (
	aliasName kind = 'a'
	aliasSlug kind = 'A'
	fieldName kind = 'n'
	fieldSlug kind = 'N'
	shortName kind = 's' // the last segment of an id, the slug of a title or a section
	shortSlug kind = 'S'
	pathSlug  kind = 'P'
)

// slugKind is the kind of the other form.
func (k kind) slugKind() kind { return k &^ 0x20 }

// A calling is a name by which an object of a note goes.
type calling struct {
	kind    kind
	section int32 // position of the section; -1: the note
	name    string
}

// call adds a name of an object, and the form in which it is found that is written otherwise.
func call(all []calling, k kind, section int, name string) []calling {
	return callSlug(append(all, calling{k, int32(section), clean(name)}), k, section, name)
}

// callSlug adds the form in which a name is found that is written otherwise, where that is another.
func callSlug(all []calling, k kind, section int, name string) []calling {
	if slug := k.slug(name); slug != name {
		all = append(all, calling{k.slugKind(), int32(section), clean(slug)})
	}
	return all
}

// clean is a text without NUL, which parts the texts in keys.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "\ufffd") }

// ownNames are the names that a note and its sections have by themselves, but for the slugs of the
// sections.
func (n *Note) ownNames() []calling {
	all := call(nil, shortName, -1, lastSegment(n.ID))
	if n.TitleSlug != "" && n.TitleSlug != lastSegment(n.ID) {
		all = call(all, shortName, -1, n.TitleSlug)
	}
	if slug := vault.SlugPath(n.ID); slug != n.ID {
		all = call(all, pathSlug, -1, slug)
	}
	for i := range n.Sections {
		all = callSlug(all, shortName, i, n.Sections[i].Slug)
	}
	return slices.Clip(all)
}

// fieldNames are the names that the fields of the objects in a note give: their aliases, and what
// stands in the name field of their types.
func (x *Index) fieldNames(n *Note) []calling {
	var all []calling
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		if len(o.Fields()) == 0 {
			continue
		}
		for _, name := range aliases(o) {
			all = call(all, aliasName, i, name)
		}
		if name := trimRef(x.nameField(o)); name != "" {
			all = call(all, fieldName, i, name)
		}
	}
	return slices.Clip(all)
}

// aliases are the texts of the fields for other names.
func aliases(o Object) []string {
	var all []string
	for _, field := range []string{"alias", "aliases"} {
		f, _ := o.Field(field)
		list, ok := f.Value.([]any)
		if !ok {
			list = []any{f.Value}
		}
		for _, v := range list {
			if name := trimRef(textOf(v)); name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// callings yields all names of the objects in the note.
func (n *Note) callings(yield func(calling) bool) {
	for _, names := range [][]calling{n.names, n.fieldNames} {
		for _, c := range names {
			if !yield(c) {
				return
			}
		}
	}
	for i := range n.Sections {
		if !yield(calling{shortName, int32(i), clean(n.Sections[i].Slug)}) {
			return
		}
	}
}

// slug is the form in which a name is found that is written otherwise.
func (k kind) slug(name string) string {
	switch k {
	case pathSlug:
		return name
	case shortName:
		return vault.Slug(name)
	}
	return vault.SlugPath(name)
}

// called calls f with the objects that go by exactly a name.
func (x *Index) called(k kind, name string, f func(Object)) {
	name = clean(name)
	for n := range x.notesBy(k.name(name), "") {
		for c := range n.callings {
			if c.kind == k && c.name == name {
				f(n.Object(int(c.section)))
			}
		}
	}
}

// bucketOf is the bucket of the references that are written like this: the slug of the last segment
// of the id. All references to an object are in the buckets of its names, for what two ways of
// writing have in common in the rules of resolution, they have in common here.
func bucketOf(ref string) string {
	base, _, _ := strings.Cut(trimRef(ref), "#")
	return clean(vault.Slug(lastSegment(base)))
}

// buckets are the buckets that may hold references to the note or to what is in it.
func (x *Index) buckets(n *Note) []string {
	all := []string{bucketOf(n.ID)}
	for c := range n.callings {
		if c.kind != pathSlug {
			all = append(all, bucketOf(c.name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

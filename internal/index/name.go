package index

import (
	"slices"
	"strings"

	"rookery/internal/vault"
)

// A nameKind says in which way an object goes by a name. It is the first byte of the keys of names.
type nameKind byte

// The ways, of which the second of each pair holds the form in which a name is found that is written
// otherwise, where that is another.
const (
	aliasName nameKind = 'a'
	aliasSlug nameKind = 'A'
	fieldName nameKind = 'n'
	fieldSlug nameKind = 'N'
	shortName nameKind = 's' // the last segment of an id, the slug of a title or a section
	shortSlug nameKind = 'S'
	pathSlug  nameKind = 'P'
)

// slugKind is the kind of the other form.
func (k nameKind) slugKind() nameKind { return k &^ 0x20 }

// A calling is a name that an object has by its fields.
type calling struct {
	kind    nameKind
	name    string
	section int // position of the section; -1: the note
}

// key is the key of a name of an object.
func (k nameKind) key(name string) string { return string(rune(k)) + clean(name) + "\x00" }

// clean is a text without NUL, which parts the texts in keys.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "\ufffd") }

// callings are the names that the fields of the objects in a note give: their aliases, and what
// stands in the name field of their types.
func (x *Index) callings(n *Note) []calling {
	var all []calling
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		if len(o.Fields()) == 0 {
			continue
		}
		for _, name := range aliases(o) {
			all = append(all, calling{aliasName, name, i})
		}
		if name := trimRef(x.nameField(o)); name != "" {
			all = append(all, calling{fieldName, name, i})
		}
	}
	return all
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

// names calls f with each name that the objects of a note have.
func (n *Note) names(f func(kind nameKind, name string, o Object)) {
	note := Object{Note: n}
	f(shortName, lastSegment(n.ID), note)
	if n.TitleSlug != "" && n.TitleSlug != lastSegment(n.ID) {
		f(shortName, n.TitleSlug, note)
	}
	if slug := vault.SlugPath(n.ID); slug != n.ID {
		f(pathSlug, slug, note)
	}
	for i := range n.Sections {
		f(shortName, n.Sections[i].Slug, n.Object(i))
	}
	for _, c := range n.callings {
		f(c.kind, c.name, n.Object(c.section))
	}
}

// nameKeys are what is in the note, by its names.
func (n *Note) nameKeys() map[string]Object {
	if n == nil {
		return nil
	}
	keys := map[string]Object{}
	n.names(func(kind nameKind, name string, o Object) {
		place := o.Spot().key()
		keys[kind.key(name)+place] = o
		if slug := kind.slug(name); slug != name {
			keys[kind.slugKind().key(slug)+place] = o
		}
	})
	return keys
}

// slug is the form in which a name is found that is written otherwise.
func (k nameKind) slug(name string) string {
	switch k {
	case pathSlug:
		return name
	case shortName:
		return vault.Slug(name)
	}
	return vault.SlugPath(name)
}

// called yields the objects that go by exactly a name.
func (x *Index) called(kind nameKind, name string, f func(Object)) {
	prefix := kind.key(name)
	x.names.Ascend(prefix, func(k string, o Object) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		f(o)
		return true
	})
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
	n.names(func(kind nameKind, name string, _ Object) {
		if kind != pathSlug {
			all = append(all, bucketOf(name), bucketOf(kind.slug(name)))
		}
	})
	slices.Sort(all)
	return slices.Compact(all)
}

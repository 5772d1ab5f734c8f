package index

import (
	"iter"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/rookeryhq/rookery/internal/vault"
)

// The kinds of names of entries by which references find notes.
const (
	byName    kind = 'a' // the bucket of a name of the note or of an object in it
	bySection kind = 's' // the slug of a section
)

// An objectName is one name of an object in a note.
type objectName struct {
	by     nameSource
	object Object
	name   string // as it is written
}

// A nameSource is the way in which an object got a name.
type nameSource int

// The ways in which objects are named. A reference prefers earlier ones.
const (
	namedByFile    nameSource = iota // the last segment of the note's id
	namedByField                     // the name field of the object's type
	namedByTitle                     // the field title, or the heading that is the note's title
	namedByAlias                     // the fields alias and aliases
	namedByHeading                   // the slug of a section with a declaration
)

// clean returns a text with each NUL replaced by U+FFFD, because NUL separates the texts in keys.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", "\ufffd") }

// fold returns the form in which two names are equal that differ only in case, in the composition
// of characters, or in width.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return vault.Fold(sameWidth(s))
}

// sameWidth returns a text with characters of full and half width replaced by their usual forms.
func sameWidth(s string) string {
	if !strings.ContainsFunc(s, hasWidth) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hasWidth(r) {
			b.WriteString(norm.NFKC.String(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hasWidth reports whether a character is in the Unicode block of half and full width forms, or is
// the ideographic space.
func hasWidth(r rune) bool { return r == 0x3000 || r >= 0xFF00 && r <= 0xFFEF }

// isASCII reports whether s contains only ASCII characters.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// slugOf returns the slug of the folded name. Names that fold to the same text have the same slug.
func slugOf(name string) string { return vault.Slug(fold(name)) }

// bucketOf returns the bucket of a name or a reference: the slug of the last path segment before
// the first #. A reference to an object is always in the bucket of one of its names, because equal,
// folded and slug forms of a name have the same bucket. Buckets are the bridge between references
// and names: an entry byRef is found by the bucket of its object, and an entry byName by the
// bucket of a reference. Different names can have the same bucket, so a result must be compared.
func bucketOf(name string) string {
	base, _, _ := strings.Cut(trimRef(name), "#")
	return clean(slugOf(vault.Stem(lastSegment(base))))
}

// ownBuckets returns the names of the entries under which the note is found by its path, its title
// and its declarations.
func (n *Note) ownBuckets() []string {
	all := []string{byName.name(bucketOf(n.ID))}
	if n.Title != "" {
		all = append(all, byName.name(bucketOf(n.Title)))
	}
	for i := range n.Sections {
		if n.Sections[i].DeclaredType() != "" {
			all = append(all, byName.name(bucketOf(n.Sections[i].Slug)))
		}
	}
	return distinct(all)
}

// fieldBuckets returns the names of the entries under which the note is found by the fields of its
// objects: aliases, titles, and the name fields of their types.
func (x *Index) fieldBuckets(n *Note) []string {
	var all []string
	for i := -1; i < len(n.Sections); i++ {
		for _, name := range x.fieldNames(n.Object(i)) {
			all = append(all, byName.name(bucketOf(name.name)))
		}
	}
	return distinct(all)
}

// distinct sorts all in place and returns it without duplicates.
func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Clip(slices.Compact(all))
}

// fieldNames returns the names that the fields of an object give to it: the name field of its type,
// the field title, and its aliases. The first depends on the schema.
func (x *Index) fieldNames(o Object) []objectName {
	if len(o.Fields()) == 0 {
		return nil
	}
	var all []objectName
	if name := trimRef(x.NameField(o)); name != "" {
		all = append(all, objectName{namedByField, o, name})
	}
	if name := trimRef(titleField(o)); name != "" {
		all = append(all, objectName{namedByTitle, o, name})
	}
	for _, name := range aliases(o) {
		all = append(all, objectName{namedByAlias, o, name})
	}
	return all
}

// titleField returns the text of the field title; "" if there is none.
func titleField(o Object) string {
	f, _ := o.Field("title")
	return textOf(f.Value)
}

// aliases returns the distinct texts of the fields alias and aliases. Each can be a single value or
// a list; a value that is not a text or a reference is left out.
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

// namesIn yields the names of a note and of the objects in it: the file name, the title, the slugs
// of sections with a declaration, and the names in fields. Plain sections have none. The names are
// those whose buckets ownBuckets and fieldBuckets return; the three must agree, or a reference
// misses its object.
func (x *Index) namesIn(n *Note) iter.Seq[objectName] {
	return func(yield func(objectName) bool) {
		whole := Object{Note: n}
		if !yield(objectName{namedByFile, whole, vault.Stem(lastSegment(n.ID))}) ||
			n.Title != "" && !yield(objectName{namedByTitle, whole, trimRef(n.Title)}) {
			return
		}
		for i := -1; i < len(n.Sections); i++ {
			o := n.Object(i)
			if i >= 0 && o.Section.DeclaredType() != "" && !yield(objectName{namedByHeading, o, o.Section.Slug}) {
				return
			}
			for _, name := range x.fieldNames(o) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// buckets returns the buckets that can contain references to the note or to objects in it, sorted.
func (n *Note) buckets() []string {
	var all []string
	for _, names := range [][]string{n.names, n.fieldNames} {
		for _, name := range names {
			all = append(all, name[1:])
		}
	}
	return distinct(all)
}

// mostNamesakes is the largest number of notes with a name for which Named returns any.
const mostNamesakes = 20

// Named returns the paths of the notes that have text as a name: that of the file, the title, the
// name field or an alias. Case and word separators do not matter. It returns nil if more than 20
// notes have the name.
func (x *Index) Named(text string) []string {
	text = trimRef(text)
	if text == "" || len(text) > maxRef {
		return nil
	}
	s := newLookup(x, text)
	var paths []string
	for n := range x.notesBy(byName.name(s.bucket), "") {
		if !s.isName(n) {
			continue
		}
		if len(paths) == mostNamesakes {
			return nil
		}
		paths = append(paths, n.Path)
	}
	return paths
}

// isName reports whether the reference is the id or a name of the note as a whole.
func (s *lookup) isName(n *Note) bool {
	if s.compare(n.ID, s.base) != differs {
		return true
	}
	for c := range s.x.namesIn(n) {
		if c.object.Section == nil && s.compare(c.name, s.base) != differs {
			return true
		}
	}
	return false
}

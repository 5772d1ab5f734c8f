package index

import (
	"slices"
	"strings"

	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// The sources of a resolution: by what the object was found.
const (
	ByID      = "id"
	ByPath    = "path"   // its id, written otherwise
	BySuffix  = "suffix" // the end of its id
	ByShort   = "short_name"
	ByAlias   = "alias"
	ByName    = "name_field"
	ByDate    = "date"
	ByKeyword = "keyword" // a word for a day, in an argument
)

// A Resolution is what a reference leads to (reference/raven.md §1.9).
type Resolution struct {
	ID      string   // "": to nothing, or to several things
	Object  Object   // without a Note where the ID is that of a day that has no daily note yet
	Source  string   // by what it was found
	Matches []string // the ids of the candidates, sorted, where there are several
}

// A Resolver resolves references in one state of the vault, each way of writing once. It is for one
// query and one goroutine.
type Resolver struct {
	x    *Index
	memo map[string]Resolution
}

// Resolver makes a Resolver.
func (x *Index) Resolver() *Resolver { return &Resolver{x, map[string]Resolution{}} }

// Resolve is Index.Resolve, remembered.
func (r *Resolver) Resolve(ref string) Resolution {
	found, ok := r.memo[ref]
	if !ok {
		found = r.x.Resolve(ref)
		r.memo[ref] = found
	}
	return found
}

// maxRef is the length in bytes beyond which a reference leads nowhere: no text can have one, and no
// path comes near it.
const maxRef = 4096

// Resolve finds what a reference leads to, as it is written between the brackets. All ways in which
// it can be meant count alike; a section does not where its own note is a candidate.
func (x *Index) Resolve(ref string) Resolution {
	if len(ref) > maxRef {
		return Resolution{}
	}
	ref = trimRef(ref)
	if ref == "" {
		return Resolution{}
	}
	s := &lookup{x: x, ref: ref}
	s.byDate()
	s.byNames(ref)
	if strings.ContainsAny(ref, "/#") {
		s.byPath()
	} else {
		s.byShort(ref)
	}
	return s.decide()
}

// ResolveArg finds what an argument of a command names: a reference, with or without brackets, or
// `today`, `tomorrow` or `yesterday`.
func (x *Index) ResolveArg(arg string, c vault.Clock) Resolution {
	arg = strings.TrimSpace(arg)
	if ref, ok := vault.ParseRef(arg); ok {
		arg = string(ref)
	}
	if day, ok := c.Day(arg); ok && slices.Contains(vault.DayWords(), arg) {
		r := Resolution{ID: x.config.DailyPath(day).ID(), Source: ByKeyword}
		r.Object, _ = x.Find(r.ID)
		return r
	}
	return x.Resolve(arg)
}

// trimRef is a reference or a name without blanks, without `.md` behind the note's id, and with its
// characters composed: a file name that macOS gave leads to what is called so.
func trimRef(ref string) string {
	ref = vault.CleanPath(strings.TrimSpace(ref))
	base, fragment, inside := strings.Cut(ref, "#")
	base = strings.TrimSuffix(base, ".md")
	if inside {
		return base + "#" + fragment
	}
	return base
}

// A lookup collects what a reference may lead to.
type lookup struct {
	x     *Index
	ref   string
	found []candidate
	known map[string]bool // by id; there may be one in every note
}

// A candidate is something that a reference may lead to. The object of a day may not be there.
type candidate struct {
	id     string
	object Object
	source string
}

// add takes a candidate, once.
func (s *lookup) add(o Object, source string) { s.addID(o.ID(), o, source) }

func (s *lookup) addID(id string, o Object, source string) {
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if !s.known[id] {
		s.known[id] = true
		s.found = append(s.found, candidate{id, o, source})
	}
}

// byNames looks for aliases, and among the name fields. A reference into a section is matched as it is
// written only.
func (s *lookup) byNames(ref string) {
	slug := ref
	if !strings.Contains(ref, "#") {
		slug = vault.SlugPath(ref)
	}
	n := len(s.found)
	s.called(aliasName, ref, ByAlias)
	s.called(aliasSlug, ref, ByAlias)
	if len(s.found) == n {
		s.called(aliasName, slug, ByAlias)
		s.called(aliasSlug, slug, ByAlias)
	}
	s.exactElseSlug(fieldName, ref, slug, ByName)
}

// exactElseSlug looks for a name as it is written, and only if there is none for its slug.
func (s *lookup) exactElseSlug(kind kind, name, slug, source string) {
	exact := false
	s.x.called(kind, name, func(o Object) {
		s.add(o, source)
		exact = true
	})
	if !exact {
		s.called(kind, slug, source)
		s.called(kind.slugKind(), slug, source)
	}
}

func (s *lookup) called(kind kind, name, source string) {
	s.x.called(kind, name, func(o Object) { s.add(o, source) })
}

// byShort looks for the last segments of ids, and for sections.
func (s *lookup) byShort(ref string) {
	s.exactElseSlug(shortName, ref, vault.Slug(ref), ByShort)
}

// byPath looks for ids: as written, as a slug, by their end, and at last for another name of an
// object in the folder.
func (s *lookup) byPath() {
	base, fragment, inside := strings.Cut(s.ref, "#")
	n := len(s.found)
	if n1, ok := s.x.ByID(base); ok {
		s.inside(n1, fragment, inside, ByID)
	}
	if slug := vault.SlugPath(base); len(s.found) == n && base != "" {
		if n1, ok := s.x.ByID(slug); ok {
			s.inside(n1, fragment, inside, ByPath)
		}
		s.x.called(pathSlug, slug, func(o Object) { s.inside(o.Note, fragment, inside, ByPath) })
	}
	if len(s.found) == n {
		s.bySuffix(base, fragment, inside)
	}
	if len(s.found) == n && !inside {
		s.byFolder()
	}
}

// inside adds a note, or what the fragment names in it.
func (s *lookup) inside(n *Note, fragment string, inside bool, source string) {
	o, ok := Object{Note: n}, true
	if inside {
		o, ok = n.at(fragment)
		if !ok {
			o, ok = n.at(markdown.Slug(fragment))
		}
		ok = ok && fragment != ""
	}
	if ok {
		s.add(o, source)
	}
}

// bySuffix looks for notes whose ids end with what is written.
func (s *lookup) bySuffix(base, fragment string, inside bool) {
	if base == "" {
		return
	}
	s.x.called(shortName, lastSegment(base), func(o Object) {
		if o.Section == nil && strings.HasSuffix(o.Note.ID, "/"+base) {
			s.inside(o.Note, fragment, inside, BySuffix)
		}
	})
}

// byFolder looks for an object that goes by the last segment, in the folder before it.
func (s *lookup) byFolder() {
	name := lastSegment(s.ref)
	folder := "/" + strings.TrimSuffix(s.ref, name)
	among := &lookup{x: s.x, ref: name}
	among.byNames(name)
	among.byShort(name)
	for _, c := range among.found {
		in := "/" + vault.Path(c.object.Note.Path).Dir()
		if strings.HasSuffix(in, folder) {
			s.addID(c.id, c.object, c.source)
		}
	}
}

// byDate adds the day that is written. It counts although it has no daily note yet; a section of it
// does not.
func (s *lookup) byDate() {
	base, fragment, inside := strings.Cut(s.ref, "#")
	id, ok := s.x.config.DailyID(base)
	if day, daily := s.x.config.IsDaily(vault.Path(base + ".md")); daily {
		id, ok = s.x.config.DailyPath(day).ID(), true
	}
	if !ok {
		return
	}
	n, exists := s.x.ByID(id)
	switch {
	case exists:
		s.inside(n, fragment, inside, ByDate)
	case !inside:
		s.addID(id, Object{}, ByDate)
	}
}

// decide is the one candidate that is left when the sections of other candidates are dropped, or all
// that are.
func (s *lookup) decide() Resolution {
	notes := map[*Note]bool{}
	for _, c := range s.found {
		if c.object.Section == nil {
			notes[c.object.Note] = true
		}
	}
	left := slices.DeleteFunc(s.found, func(c candidate) bool {
		return c.object.Section != nil && notes[c.object.Note]
	})
	switch len(left) {
	case 0:
		return Resolution{}
	case 1:
		return Resolution{ID: left[0].id, Object: left[0].object, Source: left[0].source}
	}
	r := Resolution{Source: left[0].source}
	for _, c := range left {
		r.Matches = append(r.Matches, c.id)
	}
	slices.Sort(r.Matches)
	return r
}

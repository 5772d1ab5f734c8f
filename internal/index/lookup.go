package index

import (
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// target returns the objects to which a reference can lead: the candidates of the best tier that
// has any. References that depend on their note have none here; see relative. A reference to a
// folder (with a slash at its end) leads to nothing.
func (x *Index) target(ref string) target {
	if len(ref) > maxRef {
		return target{}
	}
	ref = trimRef(ref)
	base, fragment, inside := strings.Cut(ref, "#")
	base = strings.TrimSpace(base)
	if base == "" || isRelative(base) || strings.HasSuffix(base, "/") {
		return target{}
	}
	t := target{fragment: strings.TrimSpace(fragment), inside: inside}
	// An absolute reference is a path in the vault, and never a name.
	if root, absolute := strings.CutPrefix(base, "/"); absolute {
		t.candidates = x.atPath(root)
		return t
	}
	if inside {
		if whole := x.namedAsWritten(ref); len(whole) > 0 {
			return target{candidates: whole}
		}
	}
	t.candidates = x.candidates(base)
	return t
}

// isRelative reports whether a reference is relative to the folder of its note.
func isRelative(base string) bool {
	return strings.HasPrefix(base, "./") || strings.HasPrefix(base, "../")
}

// relative returns the objects to which a reference can lead that depends on its note: `#part`,
// `./a`, `../a`. It returns false for any other reference, and if n is nil.
func (x *Index) relative(n *Note, ref string) (target, bool) {
	if len(ref) > maxRef || n == nil {
		return target{}, false
	}
	base, fragment, inside := strings.Cut(trimRef(ref), "#")
	base = strings.TrimSpace(base)
	t := target{fragment: strings.TrimSpace(fragment), inside: inside}
	switch {
	case base == "" && inside:
		t.candidates = []candidate{{n.ID, Object{Note: n}, ByID}}
	case isRelative(base) && namesFolder(base):
	case isRelative(base):
		t.candidates = x.atPath(path.Join(vault.Path(n.Path).Dir(), base))
	default:
		return target{}, false
	}
	return t, true
}

// namesFolder reports whether the ending of a path shows that it names a folder. Such a reference
// leads to no note.
func namesFolder(path string) bool {
	last := lastSegment(path)
	return last == "" || last == "." || last == ".."
}

// atPath returns the note with an id or, without one, the notes whose ids have the same slug. It
// returns at most the candidates of one tier.
func (x *Index) atPath(id string) []candidate {
	if n, ok := x.ByID(id); ok {
		return []candidate{{n.ID, Object{Note: n}, ByID}}
	}
	s := newLookup(x, id)
	for n := range x.notesBy(byName.name(s.bucket), "") {
		if slugPath(n.ID) == s.slugPath || slugPath(vault.Stem(n.ID)) == s.slugPath {
			s.add(tierPathSlug, Object{Note: n}, ByPath)
		}
	}
	return s.found
}

// candidates returns the candidates of the best tier that has any, for a reference without
// fragment.
//
// The steps are in the order of preference: an exact id; a path below the folders that a reference
// can omit; and then the names of all notes in the bucket of the reference, which the tiers order.
// Every name that can be equal to the reference in any form is in that bucket, so no other note is
// read.
func (x *Index) candidates(base string) []candidate {
	date, isDate := x.day(base)
	if n, ok := x.ByID(base); ok {
		found := candidate{n.ID, Object{Note: n}, ByID}
		if isDate && n.ID == date {
			found.source = ByDate
		}
		return []candidate{found}
	}
	s := newLookup(x, base)
	if s.addBelowRoots(); len(s.found) > 0 {
		return s.found
	}
	for n := range x.notesBy(byName.name(s.bucket), "") {
		for c := range x.namesIn(n) {
			s.consider(c)
		}
	}
	if isDate {
		s.addDay(date)
	}
	return s.decide()
}

// addBelowRoots adds the notes at the path that the reference says below the folder for objects and
// the folder for notes without a type. A reference can omit these folders.
func (s *lookup) addBelowRoots() {
	dirs := s.x.config.Directories
	for _, root := range []string{dirs.Type, dirs.Page} {
		if n, ok := s.x.ByID(root + s.base); ok && root != "" {
			s.add(tierPath, Object{Note: n}, ByPath)
		}
	}
}

// namedAsWritten returns the objects with a name that contains a #, such as `C#`. Without this,
// the part after # would always be a fragment. Names of files and equal slugs do not count.
func (x *Index) namedAsWritten(name string) []candidate {
	s := newLookup(x, name)
	for n := range x.notesBy(byName.name(s.bucket), "") {
		for c := range x.namesIn(n) {
			if how := s.compare(c.name, name); c.by != namedByFile && how != differs && how != sameSlug {
				s.add(tierOf(c.by, how), c.object, sources[c.by])
			}
		}
	}
	return s.decide()
}

// day returns the id of the daily note that a reference names by its date.
func (x *Index) day(base string) (id string, ok bool) {
	config := x.Config()
	if day, daily := config.IsDaily(vault.Path(base + ".md")); daily {
		return config.DailyPath(day).ID(), true
	}
	return config.DailyID(base)
}

// sectionNamed returns the section with a name, if it is the only one; with several, the
// Resolution is ambiguous.
func (x *Index) sectionNamed(name string) Resolution {
	s := lookup{x: x}
	for _, slug := range []string{name, markdown.Slug(name)} {
		for n := range x.notesBy(bySection.name(clean(slug)), "") {
			for i := range n.Sections {
				if n.Sections[i].Slug == slug {
					s.add(tierPath, n.Object(i), BySection)
				}
			}
		}
		if len(s.found) > 0 {
			break
		}
	}
	return target{candidates: s.found}.from(nil)
}

// A tier says how well a name fits a reference: a smaller tier fits better. Only candidates of the
// same tier can be ambiguous. The order of the tiers is that of reference/raven-rest.md §25;
// between the constants is room for the namings in their order.
type tier int

// The tiers of names. Those from tierNames to tierSuffix are pairs of an exact and a folded form,
// in the order of namings.
const (
	tierPath        tier = 0
	tierNames       tier = 1
	tierSuffix      tier = 20
	tierPathSlug    tier = 21
	tierSlugs       tier = 22 // in the order of namings
	tierSuffixSlug  tier = 30
	tierFolderNames tier = 31 // the name of an object, in a folder that the reference names
	tierDate        tier = 40
	noTier          tier = 99
)

// A nameMatch is the form in which two names are equal, the closest first.
type nameMatch int

const (
	equal nameMatch = iota
	sameFold
	sameSlug
	differs
)

// tierOf returns the tier of an object one of whose names, given in the way by, equals the
// reference in the form how.
func tierOf(by nameSource, how nameMatch) tier {
	if how == sameSlug {
		return tierSlugs + tier(by)
	}
	return tierNames + 2*tier(by) + tier(how)
}

// sources maps each way of naming to the source that a Resolution reports.
var sources = map[nameSource]string{
	namedByFile: ByShort, namedByField: ByName, namedByTitle: ByTitle, namedByAlias: ByAlias,
	namedByHeading: ByShort,
}

// A lookup collects the candidates of the best tier so far. Candidates of a worse tier are dropped
// as soon as a better one is found, so a name in a large bucket does not collect all of it.
type lookup struct {
	x                *Index
	base             string // the reference without its fragment
	last, folder     string // its last segment, and the part before that
	bucket, slugPath string

	tier  tier // of found
	found []candidate
	known map[string]bool // by id
}

// newLookup returns a lookup without candidates for a reference without fragment.
func newLookup(x *Index, base string) *lookup {
	last := lastSegment(base)
	return &lookup{
		x: x, base: base, last: last, folder: strings.TrimSuffix(base, last),
		bucket: bucketOf(base), slugPath: slugPath(base), tier: noTier,
	}
}

// slugPath returns the form in which ids are compared that are not equal as written.
func slugPath(id string) string { return vault.SlugPath(fold(id)) }

// add adds a candidate, unless its tier is worse than that of the candidates so far. A better tier
// replaces them.
func (s *lookup) add(t tier, o Object, source string) { s.addID(t, o.ID(), o, source) }

// addID is add with an explicit id, for a day without a note. It ignores an id that was added
// before.
func (s *lookup) addID(t tier, id string, o Object, source string) {
	if t > s.tier {
		return
	}
	// The first candidate, or one of a better tier than all before.
	if t < s.tier || s.known == nil {
		s.tier, s.found, s.known = t, nil, map[string]bool{}
	}
	if !s.known[id] {
		s.known[id] = true
		s.found = append(s.found, candidate{id, o, source})
	}
}

// compare returns the closest form in which two names are equal, or differs.
func (s *lookup) compare(name, with string) nameMatch {
	switch {
	case name == with:
		return equal
	case fold(name) == fold(with):
		return sameFold
	case slugPath(name) == slugPath(with):
		return sameSlug
	}
	return differs
}

// consider adds an object if one of its names fits the reference. c is one of its names; the caller
// calls it for each.
func (s *lookup) consider(c objectName) {
	// The reference has a folder, so it is compared with the whole id and not only with its last
	// segment.
	if c.by == namedByFile && s.folder != "" {
		s.considerPath(c.object)
		return
	}
	how := s.compare(c.name, s.base)
	if c.by == namedByFile && c.name != c.object.Note.ID { // it may have another ending than .md
		how = min(how, s.compare(lastSegment(c.object.Note.ID), s.base))
	}
	if how != differs {
		s.add(tierOf(c.by, how), c.object, sources[c.by])
		return
	}
	if s.folder != "" && s.compare(c.name, s.last) != differs && s.isIn(c.object.Note) {
		s.add(tierFolderNames, c.object, sources[c.by])
	}
}

// isIn reports whether a note is in the folder that the reference names.
func (s *lookup) isIn(n *Note) bool {
	return strings.HasSuffix("/"+vault.Path(n.Path).Dir(), "/"+s.folder)
}

// considerPath adds a note if its id ends with the reference, or has the same slug. For a note with
// another ending than .md, the id without the ending is tried too.
func (s *lookup) considerPath(o Object) {
	s.considerID(o, o.Note.ID)
	if stem := vault.Stem(o.Note.ID); stem != o.Note.ID {
		s.considerID(o, stem)
	}
}

// considerID adds the object o if id, a form of its id, fits the reference.
func (s *lookup) considerID(o Object, id string) {
	switch slug := slugPath(id); {
	case strings.HasSuffix(id, "/"+s.base):
		s.add(tierSuffix, o, BySuffix)
	case slug == s.slugPath:
		s.add(tierPathSlug, o, ByPath)
	case strings.HasSuffix(slug, "/"+s.slugPath):
		s.add(tierSuffixSlug, o, BySuffix)
	}
}

// addDay adds the daily note with an id that the reference names by its date. The note need not
// exist.
func (s *lookup) addDay(id string) {
	o := Object{}
	if n, ok := s.x.ByID(id); ok {
		o.Note = n
	}
	for i := range s.found {
		if s.found[i].id == id {
			s.found[i].source = ByDate
		}
	}
	s.addID(tierDate, id, o, ByDate)
}

// decide returns the candidates, without sections of notes that are candidates themselves. A
// section that is named like its note, such as its first heading, is not a second meaning of the
// reference.
func (s *lookup) decide() []candidate {
	notes := map[*Note]bool{}
	for _, c := range s.found {
		if c.object.Section == nil {
			notes[c.object.Note] = true
		}
	}
	return slices.DeleteFunc(s.found, func(c candidate) bool {
		return c.object.Section != nil && notes[c.object.Note]
	})
}

package index

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The sources of a resolution: the property by which the object was found.
const (
	ByID      = "id"
	ByPath    = "path"       // its id in another spelling
	ByShort   = "short_name" // the last segment of its id
	ByName    = "name_field"
	ByTitle   = "title"
	ByAlias   = "alias"
	BySuffix  = "suffix" // the end of its id
	ByDate    = "date"
	BySection = "section" // the name of a section, unique in the vault; for arguments only
	ByKeyword = "keyword" // a word for a day; for arguments only
)

// A Resolution is the result of resolving a reference (reference/raven-rest.md §25).
type Resolution struct {
	ID      string   // "" if it leads to nothing or is ambiguous
	Object  Object   // its Note is nil if the ID is that of a day without a daily note
	Source  string   // one of the constants ByID to ByKeyword
	Matches []string // the sorted ids of the candidates, if ambiguous

	// FragmentMissing says that the object exists, but not the part of it that the reference names
	// after #.
	FragmentMissing bool
	Line            int // of the block that the reference names; 0 if it names none
}

// A Resolver resolves references in one state of the vault, and caches the candidates for each
// text. It must be used by one goroutine at a time, and for one query, because it keeps everything
// that it has found.
type Resolver struct {
	x    *Index
	memo map[string]target
}

// Resolver returns a new Resolver with an empty cache.
func (x *Index) Resolver() *Resolver { return &Resolver{x, map[string]target{}} }

// Resolve returns the same as Index.Resolve, from the cache if possible.
func (r *Resolver) Resolve(ref string) Resolution { return r.target(ref).from(nil) }

// From returns the same as Index.From, from the cache if possible.
func (r *Resolver) From(n *Note, ref string) Resolution {
	if t, ok := r.x.relative(n, ref); ok {
		return t.from(n)
	}
	return r.target(ref).from(n)
}

// target returns the objects to which a reference can lead, independent of its note.
func (r *Resolver) target(ref string) target {
	found, ok := r.memo[ref]
	if !ok {
		found = r.x.target(ref)
		r.memo[ref] = found
	}
	return found
}

// maxRef is the largest length of a reference in bytes. A longer one leads to nothing: no text can
// contain one, and no path is nearly as long.
const maxRef = 4096

// Resolve resolves a reference, as written between the brackets, whose note is not known. A
// reference that depends on its note (`#part`, `../a`) leads to nothing.
func (x *Index) Resolve(ref string) Resolution { return x.target(ref).from(nil) }

// From resolves a reference in the note n. Among several candidates it prefers one in the folder of
// the note.
func (x *Index) From(n *Note, ref string) Resolution {
	if t, ok := x.relative(n, ref); ok {
		return t.from(n)
	}
	return x.target(ref).from(n)
}

// ResolveArg resolves an argument of a command: a reference, with or without brackets; `today`,
// `tomorrow` or `yesterday`; or a section, if its name is unique. If a part inside an object does
// not exist, the result is the zero Resolution.
func (x *Index) ResolveArg(arg string, c vault.Clock) Resolution {
	arg = strings.TrimSpace(arg)
	if ref, ok := vault.ParseRef(arg); ok {
		arg = string(ref)
	}
	// c.Day also accepts dates. These are references, and are resolved below.
	if day, ok := c.Day(arg); ok && slices.Contains(vault.DayWords(), arg) {
		r := Resolution{ID: x.Config().DailyPath(day).ID(), Source: ByKeyword}
		r.Object, _ = x.Find(r.ID)
		return r
	}
	r := x.Resolve(arg)
	if r.FragmentMissing {
		return Resolution{}
	}
	if r.ID == "" && r.Matches == nil {
		return x.sectionNamed(arg)
	}
	return r
}

// trimRef returns a reference or a name without spaces around it, without `.md` after the note's
// id, and with its characters composed, because macOS returns decomposed file names.
func trimRef(ref string) string {
	ref = vault.CleanPath(strings.TrimSpace(ref))
	base, fragment, inside := strings.Cut(ref, "#")
	base = strings.TrimSuffix(base, ".md")
	if inside {
		return base + "#" + fragment
	}
	return base
}

// A target is the set of objects to which a reference can lead, independent of its note. It is the
// part of a resolution that can be cached by the text of the reference. from chooses among the
// candidates for one note.
type target struct {
	candidates []candidate // of one tier, distinct
	fragment   string      // the part inside the object that the reference names
	inside     bool        // it names a part inside the object
}

// A candidate is one object to which a reference can lead.
type candidate struct {
	id     string
	object Object // its Note is nil for a day without a daily note
	source string
}

// isFixed reports whether the target is the same in every note.
func (t target) isFixed() bool { return len(t.candidates) <= 1 }

// from returns the resolution of the reference in a note. A nil n means that the note is not known.
// Several candidates are ambiguous: the result has no ID, but their ids as Matches.
func (t target) from(n *Note) Resolution {
	left := t.candidates
	// Of several candidates, one in the folder of the note is meant.
	if n != nil && len(left) > 1 {
		if own := inFolderOf(left, n); len(own) > 0 {
			left = own
		}
	}
	switch len(left) {
	case 0:
		return Resolution{}
	case 1:
		return t.within(left[0])
	}
	r := Resolution{Source: left[0].source}
	for _, c := range left {
		r.Matches = append(r.Matches, c.id)
	}
	slices.Sort(r.Matches)
	return r
}

// inFolderOf returns the candidates in the folder of a note.
func inFolderOf(all []candidate, n *Note) []candidate {
	var own []candidate
	for _, c := range all {
		if c.object.Note != nil && vault.Path(c.object.Note.Path).Dir() == vault.Path(n.Path).Dir() {
			own = append(own, c)
		}
	}
	return own
}

// within returns the resolution if the reference leads to the candidate c, or to a part of it.
func (t target) within(c candidate) Resolution {
	r := Resolution{ID: c.id, Object: c.object, Source: c.source}
	if !t.inside {
		return r
	}
	r.FragmentMissing = true
	if c.object.Note == nil {
		return r
	}
	if inner, line, ok := c.object.fragment(t.fragment); ok {
		return Resolution{ID: inner.ID(), Object: inner, Source: c.source, Line: line}
	}
	return r
}

// fragment returns the object that a fragment names inside o: a section, by its slug or the text of
// its heading; a section below others (`A#B`); or a block (`^id`). For a block, inner is the note
// and line is the line of the block; otherwise line is 0.
func (o Object) fragment(fragment string) (inner Object, line int, ok bool) {
	if id, block := strings.CutPrefix(fragment, "^"); block {
		line, ok = o.Note.Blocks[id]
		return Object{Note: o.Note}, line, ok
	}
	if fragment == "" {
		return Object{}, 0, false
	}
	if inner, ok = o.part(fragment); ok { // the id of a section may have a # in it
		return inner, 0, true
	}
	inner = o
	// Each part names a section below the one before it.
	for part := range strings.SplitSeq(fragment, "#") {
		if inner, ok = inner.part(strings.TrimSpace(part)); !ok {
			return Object{}, 0, false
		}
	}
	return inner, 0, true
}

// part returns the first section below o that a heading names: by its slug, by its text, by its
// folded text, or by the slug of the text, in this order of preference. If o is a note, its title
// heading names o itself. ok is false if no section fits. It goes through the sections of the note
// once for each form.
func (o Object) part(heading string) (Object, bool) {
	if heading == "" {
		return Object{}, false
	}
	n, slug, folded := o.Note, markdown.Slug(heading), fold(heading)
	forms := []func(s, title string) bool{
		func(s, _ string) bool { return s == heading },
		func(_, title string) bool { return title == heading },
		func(_, title string) bool { return fold(title) == folded },
		func(s, _ string) bool { return s == slug },
	}
	// A better form of any section is preferred to a worse form of an earlier one.
	for _, is := range forms {
		if o.Section == nil && n.Title != "" && is(n.TitleSlug, n.Title) {
			return o, true
		}
		for i := range n.Sections {
			s := n.Object(i)
			if is(s.Section.Slug, s.Section.Title) && s.Section != o.Section && s.within(o) {
				return s, true
			}
		}
	}
	return Object{}, false
}

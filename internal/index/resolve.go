package index

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// The sources of a resolution: by what the object was found.
const (
	ByID      = "id"
	ByPath    = "path"       // its id, written otherwise
	ByShort   = "short_name" // the last segment of its id
	ByName    = "name_field"
	ByTitle   = "title"
	ByAlias   = "alias"
	BySuffix  = "suffix" // the end of its id
	ByDate    = "date"
	BySection = "section" // the name of the only section of that name, in an argument
	ByKeyword = "keyword" // a word for a day, in an argument
)

// A Resolution is what a reference leads to (reference/raven-rest.md §25).
type Resolution struct {
	ID      string   // "": to nothing, or to several things
	Object  Object   // without a Note where the ID is that of a day that has no daily note yet
	Source  string   // by what it was found
	Matches []string // the ids of the candidates, sorted, where there are several

	// FragmentMissing says that what the reference names inside the object, behind #, does not exist.
	FragmentMissing bool
	Line            int // of the block that the reference names; 0: it names none
}

// A Resolver resolves references in one state of the vault, and finds the candidates of each way of
// writing once. It is for one query and one goroutine.
type Resolver struct {
	x    *Index
	memo map[string]target
}

// Resolver makes a Resolver.
func (x *Index) Resolver() *Resolver { return &Resolver{x, map[string]target{}} }

// Resolve is Index.Resolve, remembered.
func (r *Resolver) Resolve(ref string) Resolution { return r.target(ref).from(nil) }

// From is Index.From, remembered.
func (r *Resolver) From(n *Note, ref string) Resolution {
	if t, ok := r.x.relative(n, ref); ok {
		return t.from(n)
	}
	return r.target(ref).from(n)
}

// target returns what a reference may lead to, wherever it is.
func (r *Resolver) target(ref string) target {
	found, ok := r.memo[ref]
	if !ok {
		found = r.x.target(ref)
		r.memo[ref] = found
	}
	return found
}

// maxRef is the length in bytes beyond which a reference leads nowhere: no text can have one, and no
// path comes near it.
const maxRef = 4096

// Resolve finds what a reference leads to, as it is written between the brackets, in a note that is
// not known. A reference that depends on its note (`#part`, `../a`) leads to nothing.
func (x *Index) Resolve(ref string) Resolution { return x.target(ref).from(nil) }

// From finds what a reference in a note leads to: among several candidates, to the one in the note's
// own folder.
func (x *Index) From(n *Note, ref string) Resolution {
	if t, ok := x.relative(n, ref); ok {
		return t.from(n)
	}
	return x.target(ref).from(n)
}

// ResolveArg finds what an argument of a command names: a reference, with or without brackets; `today`,
// `tomorrow` or `yesterday`; or a section, if it is the only one of that name. What does not exist inside
// an object leads to nothing.
func (x *Index) ResolveArg(arg string, c vault.Clock) Resolution {
	arg = strings.TrimSpace(arg)
	if ref, ok := vault.ParseRef(arg); ok {
		arg = string(ref)
	}
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
		return x.sectionCalled(arg)
	}
	return r
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

// A target is what a reference may lead to, before it is known which note it is in.
type target struct {
	candidates []candidate // of one tier, each object once
	fragment   string      // what it names inside the object
	inside     bool        // it names something inside the object
}

// A candidate is something that a reference may lead to.
type candidate struct {
	id     string
	object Object // without a Note: a day that has no daily note yet
	source string
}

// isFixed reports whether the target does not depend on the note that the reference is in.
func (t target) isFixed() bool { return len(t.candidates) <= 1 }

// from returns what the reference leads to in a note; nil: a note that is not known.
func (t target) from(n *Note) Resolution {
	left := t.candidates
	if n != nil && len(left) > 1 {
		if own := beside(left, n); len(own) > 0 {
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

// beside returns the candidates in the folder of a note.
func beside(all []candidate, n *Note) []candidate {
	var own []candidate
	for _, c := range all {
		if c.object.Note != nil && vault.Path(c.object.Note.Path).Dir() == vault.Path(n.Path).Dir() {
			own = append(own, c)
		}
	}
	return own
}

// within returns what the reference names inside a candidate.
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

// Package index is the index of a vault, as a value (DESIGN §1.3).
//
// An Index never changes; With is the next one. Whatever somebody holds is some true state of the
// vault, costs no lock, and may be used from many goroutines. It holds no texts: only what queries
// need, and where each text is kept. Every lookup is one in a tree; none goes through the vault.
// The package is pure: times and texts come with the commits.
package index

import (
	"iter"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"rookery/internal/vault"
)

// An Index is the state of a vault at one version. Its zero value is not used; begin with Empty.
type Index struct {
	version uint64
	time    time.Time

	files    btree.Map[string, *File]    // by path
	folded   btree.Map[string, struct{}] // what a path collides under, NUL, the path
	byType   btree.Map[string, *Note]    // type, NUL, path
	declared btree.Map[string, *Note]    // the type that the note says, NUL, path
	counts   btree.Map[string, int]      // of notes, by type
	broken   btree.Map[string, *Note]    // quarantined notes, by path
	seeds    btree.Map[string, span]     // times that an audit log tells, by id
	totals   Totals

	settings
}

// Totals are sums over the vault.
type Totals struct {
	Notes       int
	Sections    int
	Bytes       int64 // of all notes
	Quarantined int
}

// A Commit is what With takes: the files that one commit changed.
type Commit struct {
	Seq     uint64
	Time    time.Time
	Changes []Change
}

// A Change is one file that a commit changed.
type Change struct {
	Path    string
	Text    []byte // not kept
	Deleted bool
	Body    Body // where the text is kept
}

// A Body names the place of a text in the log: the run, and the part of it. To the index it is
// opaque.
type Body struct {
	Run  uint64
	Part int
}

// Empty is the index of a vault without files, at version 0.
func Empty() *Index {
	return &Index{settings: settings{}.read(settingTexts{})}
}

// Build is the index after these commits: the same as With makes of Empty, one after the other.
func Build(commits iter.Seq[Commit]) *Index {
	x := Empty()
	for c := range commits {
		x.apply(c)
	}
	return x
}

// Version is the number of the last commit.
func (x *Index) Version() uint64 { return x.version }

// Time is the time of the last commit.
func (x *Index) Time() time.Time { return x.time }

// Totals are the sums over the vault.
func (x *Index) Totals() Totals { return x.totals }

// File is the file at a path, a note or another.
func (x *Index) File(path string) (*File, bool) { return x.files.Get(path) }

// Note is the note at a path.
func (x *Index) Note(path string) (*Note, bool) {
	f, ok := x.files.Get(path)
	if !ok || f.Note == nil {
		return nil, false
	}
	return f.Note, true
}

// ByID is the note of an id: its path without `.md`.
func (x *Index) ByID(id string) (*Note, bool) { return x.Note(id + ".md") }

// An Object is a note or a section of one.
type Object struct {
	Note    *Note
	Section *Section // nil: the note as a whole
}

// ID is the object's own id.
func (o Object) ID() string {
	if o.Section == nil {
		return o.Note.ID
	}
	return o.Note.ID + "#" + o.Section.Slug
}

// Find is the object that an id names. `.md` may stand behind the note's id, a daily note goes by
// its date too, and a note by the slug of its title (reference/raven.md §6.2, §6.5).
func (x *Index) Find(id string) (Object, bool) {
	name, slug, inside := strings.Cut(id, "#")
	name = strings.TrimSuffix(name, ".md")
	n, ok := x.ByID(name)
	if daily, alias := x.config.DailyID(name); !ok && alias {
		n, ok = x.ByID(daily)
	}
	switch {
	case !ok:
		return Object{}, false
	case !inside, slug != "" && slug == n.TitleSlug:
		return Object{Note: n}, true
	}
	s, ok := n.Section(slug)
	return Object{n, s}, ok
}

// Folded is the path of a file that differs from this one by case or normalization at most: the
// same path, if there is such a file, else the first of them.
func (x *Index) Folded(path string) (string, bool) {
	if _, ok := x.files.Get(path); ok {
		return path, true
	}
	prefix, found := key(vault.Fold(path), ""), ""
	x.folded.Ascend(prefix, func(k string, _ struct{}) bool {
		if strings.HasPrefix(k, prefix) {
			found = k[len(prefix):]
		}
		return false
	})
	return found, found != ""
}

// Files yields all files by path, bytewise.
func (x *Index) Files() iter.Seq[*File] { return x.FilesAfter("") }

// FilesAfter yields the files behind a path, by path.
func (x *Index) FilesAfter(path string) iter.Seq[*File] {
	return func(yield func(*File) bool) {
		x.files.Ascend(path, func(p string, f *File) bool { return p == path || yield(f) })
	}
}

// Notes yields the notes behind a path, by path.
func (x *Index) Notes(after string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		for f := range x.FilesAfter(after) {
			if f.Note != nil && !yield(f.Note) {
				return
			}
		}
	}
}

// OfType yields the notes of a type behind a path, by path.
func (x *Index) OfType(typ, after string) iter.Seq[*Note] {
	first, prefix := key(typ, after), key(typ, "")
	return func(yield func(*Note) bool) {
		x.byType.Ascend(first, func(k string, n *Note) bool {
			return strings.HasPrefix(k, prefix) && (k == first || yield(n))
		})
	}
}

// key joins two parts of which neither holds NUL. It sorts by the first, then the second.
func key(first, second string) string { return first + "\x00" + second }

// Count is the number of notes of a type; for the type section, of sections.
func (x *Index) Count(typ string) int {
	if typ == vault.Section {
		return x.totals.Sections
	}
	n, _ := x.counts.Get(typ)
	return n
}

// Quarantined yields the notes that do not parse, by path.
func (x *Index) Quarantined() iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		x.broken.Scan(func(_ string, n *Note) bool { return yield(n) })
	}
}

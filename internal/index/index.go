// Package index is the index of a vault, as a value (DESIGN §1.3).
//
// An Index never changes; With is the next one. Whatever somebody holds is some true state of the
// vault, costs no lock, and may be used from many goroutines. It holds no texts but the lines of
// traits: only what queries need, and where each text is kept. A lookup is one in a tree, and costs
// what it yields; where one goes through the vault, its comment says so.
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

	files    tree[*File]    // by path
	folded   tree[struct{}] // what a path collides under, NUL, the path
	byType   tree[Object]   // type, NUL, spot; plain sections are not here
	declared tree[*Note]    // the type that the note or an object in it says, NUL, path
	counts   tree[int]      // of objects, by type
	broken   tree[*Note]    // quarantined notes, by path
	untyped  tree[*Note]    // notes that say no type and are no daily notes, by path
	created  tree[*Note]    // time, NUL, path
	modified tree[*Note]    // likewise
	seeds    tree[seed]     // what an audit log tells, by the id of the note
	names    tree[Object]   // a kind of name, the name, NUL, spot

	traits      tree[*Note]    // type, NUL, path; those too that the schema does not know
	traitValues tree[*Note]    // type, NUL, value, NUL, path
	traitIDs    tree[*Trait]   // by id
	pins        tree[*Trait]   // what claims an id, NUL, spot
	traitCounts tree[int]      // of traits, by type
	refs        tree[[]int32]  // bucket, NUL, path: positions among the note's references
	tags        tree[TaggedIn] // tag, NUL, path
	tagCounts   tree[int]      // of notes, by tag
	dates       tree[*Note]    // day, NUL, path

	totals Totals

	settings
}

// A tree holds values by key, and is copied on write.
type tree[V any] = btree.Map[string, V]

// Totals are sums over the vault.
type Totals struct {
	Notes       int
	Sections    int // embedded objects too
	Traits      int // that the schema knows
	Refs        int
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

	// From is the path that the file had before, if this commit moves it: what is in it keeps its
	// identity. That the file is gone there is a change of its own.
	From string

	// TraitIDs are the ids of the annotations in the text, as Note.TraitIDs gave them when the commit
	// was made. Without them, and where their number does not fit the text, the ids are found anew.
	TraitIDs []string
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
	d := &draft{Index: x}
	for c := range commits {
		d.apply(c)
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
	return func(yield func(*Note) bool) {
		if typ == vault.Section {
			return
		}
		for o := range x.Objects(typ, Spot{Path: after}) {
			if o.Section == nil && o.Note.Path != after && !yield(o.Note) {
				return
			}
		}
	}
}

// key joins two parts of which neither holds NUL. It sorts by the first, then the second.
func key(first, second string) string { return first + "\x00" + second }

// Count is the number of objects of a type, embedded ones too; for the type section, of plain
// sections.
func (x *Index) Count(typ string) int {
	n, _ := x.counts.Get(typ)
	return n
}

// Untyped yields the notes behind a path that say no type and are no daily notes, by path.
func (x *Index) Untyped(after string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		x.untyped.Ascend(after, func(p string, n *Note) bool { return p == after || yield(n) })
	}
}

// Quarantined yields the notes that do not parse, by path.
func (x *Index) Quarantined() iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		x.broken.Scan(func(_ string, n *Note) bool { return yield(n) })
	}
}

// Package index is the index of a vault, as a value (DESIGN §1.3).
//
// An Index never changes; With is the next one. Whatever somebody holds is some true state of the
// vault, and costs no lock. It holds no texts: only what queries need, and where each text is kept.
// Every lookup is one in a tree; none goes through the vault.
package index

import (
	"iter"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"rookery/internal/vault"
)

// An Index is the state of a vault at one version. Its zero value is not used; begin with Empty.
type Index struct {
	version uint64
	time    time.Time

	files  btree.Map[string, *File]  // by path
	folded btree.Map[string, string] // path of a note, by what it collides under
	byType btree.Map[string, *Note]  // by type, NUL, path
	types  btree.Map[string, int]    // numbers of objects
	broken btree.Map[string, *Note]  // quarantined notes, by path
	totals Totals

	schema    *vault.Schema
	schemaErr error
	config    vault.Config
	configErr error
	raven     []byte // the text of raven.yaml, for it and rookery.yaml are read together
	rookery   []byte
	seeds     seeds
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

// A Body names the place of a text in the log: the run, and the part of it.
type Body struct {
	Run  uint64
	Part int
}

// Empty is the index of a vault without files, at version 0.
func Empty() *Index {
	x := &Index{}
	x.readSchema(nil)
	x.readConfig(nil, nil)
	return x
}

// Build is the index after these commits.
func Build(commits iter.Seq[Commit]) *Index {
	x := Empty()
	for c := range commits {
		x = x.With(c)
	}
	return x
}

// next is a copy that may be changed until it is handed out. The trees are copied on write: what
// the old index holds stays as it is.
func (x *Index) next(c Commit) *Index {
	y := *x
	y.version, y.time = c.Seq, c.Time
	y.files = *y.files.Copy()
	y.folded = *y.folded.Copy()
	y.byType = *y.byType.Copy()
	y.types = *y.types.Copy()
	y.broken = *y.broken.Copy()
	return &y
}

// Version is the number of the last commit.
func (x *Index) Version() uint64 { return x.version }

// Time is the time of the last commit.
func (x *Index) Time() time.Time { return x.time }

// Totals are the sums over the vault.
func (x *Index) Totals() Totals { return x.totals }

// Schema is the schema of the vault; of one whose schema.yaml does not load, the built-in types.
func (x *Index) Schema() *vault.Schema { return x.schema }

// SchemaErr is why schema.yaml does not load, nil if it does.
func (x *Index) SchemaErr() error { return x.schemaErr }

// Config is the configuration of the vault; of one whose files do not load, the default.
func (x *Index) Config() vault.Config { return x.config }

// ConfigErr is why raven.yaml or rookery.yaml does not load, nil if they do.
func (x *Index) ConfigErr() error { return x.configErr }

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

// Folded is the path of the note that differs from this one by case or normalization at most.
func (x *Index) Folded(path string) (string, bool) { return x.folded.Get(vault.Fold(path)) }

// Files yields all files by path, bytewise.
func (x *Index) Files() iter.Seq[*File] { return x.FilesAfter("") }

// FilesAfter yields the files behind a path.
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
		first := typeKey(typ, after)
		x.byType.Ascend(first, func(key string, n *Note) bool {
			if n.Type != typ {
				return false
			}
			return key == first || yield(n)
		})
	}
}

// typeKey is the key of byType. No path holds NUL.
func typeKey(typ, path string) string { return typ + "\x00" + path }

// Count is the number of notes of a type; for the type section, of sections.
func (x *Index) Count(typ string) int {
	if typ == vault.Section {
		return x.totals.Sections
	}
	n, _ := x.types.Get(typ)
	return n
}

// Quarantined yields the notes that do not parse, by path.
func (x *Index) Quarantined() iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		x.broken.Scan(func(_ string, n *Note) bool { return yield(n) })
	}
}

// Section finds a section of a note by its slug.
func (n *Note) Section(slug string) (*Section, bool) {
	i := slices.IndexFunc(n.Sections, func(s Section) bool { return s.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return &n.Sections[i], true
}

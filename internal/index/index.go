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
	"slices"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Index is the state of a vault at one version. Its zero value is not used; begin with Empty.
type Index struct {
	version uint64
	time    time.Time

	files    tree[*File]         // by path
	entries  entries             // by what the files are found
	traitIDs traitOwners         // by id, the path of the note
	uids     traitOwners         // by the key of a UID, the path of the file
	pins     tree[*Trait]        // what claims an id, NUL, spot
	seeds    tree[importedTimes] // what an audit log tells, by the id of the note
	rows     tree[Row]           // of the notes that are in lists, by path
	counts   tree[int]           // by the name of an entry, of what goes by it, where that is summed up

	folderVersions tree[uint64] // by the path of a folder, with its slash; see FolderVersion
	notesVersion   uint64

	memories *memory.Index

	totals Totals
	held   int64 // bytes that the files take, for Size

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
	Things      int // of all notes; see Note.Things
	Unindexed   int // notes with more things than are indexed
	Counted     Counted
}

// Counted are sums over the notes that orientation counts: those that are not Excluded.
type Counted struct {
	Notes       int
	Units       int // of search
	Bytes       int64
	Quarantined int
}

// add adds a note, or takes it off.
func (c *Counted) add(n *Note, by int) {
	if n.Excluded {
		return
	}
	c.Notes += by
	c.Units += by * n.Units
	c.Bytes += int64(by * n.Size)
	if n.Quarantine != nil {
		c.Quarantined += by
	}
}

// A Commit is what With takes: the files that one commit changed.
type Commit struct {
	Seq     uint64
	Time    time.Time
	Changes []Change
	Items   []memory.Change // what became of memories, and of what belongs to them

	// Erases says that the commit erases what earlier ones say: who reads the log afterwards does not know with which of
	// them a folder changed, so all folders count as changed with this one.
	Erases bool
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

	// Nodes are the UIDs of the nodes in the text, as File.NodeIDs gave them when the commit was made; a zero one is
	// of a node that the commit brings. Without them, and where their number does not fit the text, the UIDs are found anew.
	Nodes []UID

	// Past, of a note that was gone and comes back, or to which parts come back, has the times of it and
	// of what is in it. Nil: they begin now, or go on.
	Past *Past

	// Since, of a file that is read for the first time, is when it was changed last: what is in it is
	// as old as that, but for what an audit log tells of. Zero: it begins now.
	Since time.Time
}

// A Body names the place of a text in the log: the run, and the part of it. To the index it is
// opaque.
type Body struct {
	Run  uint64
	Part int
}

// Empty is the index of a vault without files, at version 0.
func Empty() *Index {
	return &Index{
		settings: settings{}.read(settingTexts{}), entries: newEntries(&baseList{}),
		traitIDs: newHolders(heldList{}), uids: newHolders(heldList{}), memories: memory.Empty(),
	}
}

// Version is the number of the last commit.
func (x *Index) Version() uint64 { return x.version }

// Time is the time of the last commit.
func (x *Index) Time() time.Time { return x.time }

// Totals are the sums over the vault.
func (x *Index) Totals() Totals { return x.totals }

// Memories is what is known of the vault's memories.
func (x *Index) Memories() *memory.Index { return x.memories }

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

// Kept is the note at a path, also one that exclude makes a mere file: for who keeps what a note has, not for
// answers.
func (x *Index) Kept(path string) (*Note, bool) {
	f, _ := x.files.Get(path)
	n := f.parsed()
	return n, n != nil
}

// Hides reports whether a file at a path is no note because of exclude, whether there is one or not.
func (x *Index) Hides(path string) bool {
	return !x.hiding.IsEmpty() && isNote(path) && x.hiding.Excludes(path, nil)
}

// HiddenPaths yields the paths of the files that are no notes because of exclude, by path.
func (x *Index) HiddenPaths() iter.Seq[string] { return x.entries.paths(isHidden.name(""), "") }

// ByID is the note of an id: its path without `.md`, or its path if it ends otherwise.
func (x *Index) ByID(id string) (*Note, bool) {
	n, ok := x.Note(id + ".md")
	if !ok && vault.HasNoteEnding(id) {
		return x.Note(id) // a note with another ending has it in its id
	}
	return n, ok
}

// Folded is the path of a file that differs from this one by case or normalization at most: the
// same path, if there is such a file, else the first of them.
func (x *Index) Folded(path string) (string, bool) {
	if _, ok := x.files.Get(path); ok {
		return path, true
	}
	fold := vault.Fold(path)
	_, ok := x.files.Get(fold)
	for found := range x.entries.paths(byFold.name(fold), "") {
		if !ok || found < fold {
			return found, true
		}
		break
	}
	return fold, ok
}

// NotesFolded returns the notes at a path and at all that differ from it by case or normalization only, by
// path.
func (x *Index) NotesFolded(path string) []*Note {
	var notes []*Note
	fold := vault.Fold(path)
	if n, ok := x.Note(fold); ok {
		notes = append(notes, n)
	}
	for n := range x.notesBy(byFold.name(fold), "") {
		if n != nil {
			notes = append(notes, n)
		}
	}
	slices.SortFunc(notes, func(a, b *Note) int { return strings.Compare(a.Path, b.Path) })
	return notes
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
		for o := range x.Objects(typ, Location{Path: after}) {
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
func (x *Index) Count(typ string) int { return x.count(byType, typ) }

// count is a sum.
func (x *Index) count(k kind, name string) int {
	n, _ := x.counts.Get(k.name(name))
	return n
}

// Untyped yields the notes behind a path that say no type and are no daily notes, by path.
func (x *Index) Untyped(after string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		for n := range x.notesBy(isUntyped.name(""), after) {
			if n.Path != after && !yield(n) {
				return
			}
		}
	}
}

// UntypedCount is the number of notes that Untyped yields from the beginning.
func (x *Index) UntypedCount() int { return x.count(isUntyped, "") }

// Quarantined yields the notes that do not parse, by path.
func (x *Index) Quarantined() iter.Seq[*Note] { return x.notesBy(isBroken.name(""), "") }

// Unindexed yields the notes with more things than are indexed, by path.
func (x *Index) Unindexed() iter.Seq[*Note] { return x.notesBy(isUnindexed.name(""), "") }

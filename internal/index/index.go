// Package index is the index of a vault, as a value (DESIGN §1.3).
//
// An Index is immutable; With returns the next one. So every Index is a consistent state of the
// vault, and several goroutines can use it without a lock. It contains no texts of notes except the
// lines of traits: only the values that queries need, and where each text is stored. A lookup
// searches a tree, and takes time in proportion to its results; functions that go through the whole
// vault say so. The package is pure: times and texts come with the commits.
//
// The main parts are:
//
//   - A File, and the Note, the Sections, the Traits and the Refs in it, are the parsed form of one
//     text. They are immutable, and states of the vault share them.
//   - The entries map names, such as a type, a tag or the bucket of a reference, to the paths of
//     the files that have them. Almost all queries start with a range of entries. The counts have
//     the number of occurrences by name.
//   - The trees of ids and UIDs map each to the path of the file that contains the trait or node.
//   - A draft is the mutable form of an index, in which With and a Builder apply commits.
//   - An Image is the serialized form of an index, from which a process starts.
//
// # A commit
//
// With copies the trees on write into a draft (with.go) and applies the commit to it in these
// steps:
//
//   - The files of the commit are parsed (read.go). That depends on nothing but the texts, so
//     several files are parsed at once; a Builder also parses the next commits (build.go).
//   - If the commit changes a file of settings, the notes that the change affects are found by
//     entries and renewed (reapply.go). Only the parts that depend on the schema are computed
//     again; no text is parsed.
//   - Each changed note gets the parts that depend on the schema (applyschema.go), and its traits
//     and nodes get their ids and times: those that the commit contains, those of the same thing in
//     the note before, or new ones (identity.go, node.go, importedtimes.go, notetimes.go).
//   - Ids that notes claim with `@id(…)` are given to their owners (pin.go).
//   - applyLookups compares the names of each changed file before and after, and writes the
//     difference to the entries and the counts (applylookups.go).
//
// The result must depend only on the commits and their order, not on the process, on the number of
// commits that a Builder applies at once, or on an image in between: every reader of a log must
// compute the same ids. So nothing may depend on the order of a map, and new ids are hashes.
//
// # Queries
//
// The files that answer queries are named for their subject: object.go, trait.go, traitset.go,
// task.go, tag.go, date.go, facet.go, row.go and node.go list things; resolve.go, lookup.go,
// name.go and fragment.go find the object of a reference; backlink.go goes
// the other way; nearest.go suggests ids. walk.go has the iteration over entries that they
// share. Lists are sorted by path and continue after a Location, so that a page of a list costs no
// more than its length.
//
// event.go, lines.go and reindex.go compute the entries of the audit log from two states of the
// vault.
//
// # Memory
//
// An index of a large vault has millions of entries. Most of them are in immutable lists of bytes
// (list.go, baselist.go, traitowners.go), which are used in place in the bytes of an image; trees
// have only the difference since. Equal values are shared: the names of entries, the TraitValues,
// the Mentions and the Times. size.go estimates the result.
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

// An Index is the state of a vault at one version. The zero value is not usable; start with Empty.
type Index struct {
	version uint64
	time    time.Time

	files         tree[*File]         // by path
	entries       entries             // the names by which files are looked up
	traitIDs      traitOwners         // ids of traits, with the path of the note
	uids          traitOwners         // keys of UIDs, with the path of the file
	pins          tree[*Trait]        // traits with a pin, by pin, NUL and the key of the location
	importedTimes tree[importedTimes] // times from audit logs, by the id of the note
	rows          tree[Row]           // of the notes that are in lists (IsListed), by path
	tags          *tagNumbers         // of rows; shared with the indexes that are made from this one
	counts        tree[int]           // by the name of an entry; see kind.isCounted and tally

	folderVersions tree[uint64] // by path of a folder, with a slash at the end; see FolderVersion
	notesVersion   uint64

	memories *memory.Index

	totals    Totals
	fileBytes int64 // bytes of memory of the files, for Size

	settings
}

// A tree is a map with sorted keys that is copied on write. A copy takes constant time; a change
// copies the nodes on the path to it, unless they belong to this copy only.
type tree[V any] = btree.Map[string, V]

// Totals are sums over the vault.
type Totals struct {
	Notes       int
	Sections    int // including embedded objects
	Traits      int // that the schema defines, without checkboxes
	Refs        int
	Bytes       int64 // of all notes
	Quarantined int
	Things      int // of all notes; see Note.Things
	Unindexed   int // notes with more things than are indexed
	Counted     Counted
}

// Counted is sums over the notes that orientation counts: those that are not Excluded.
type Counted struct {
	Notes       int
	Units       int // passages of search
	Bytes       int64
	Quarantined int
}

// add adds a note if by is 1, and subtracts it if by is -1. It ignores an excluded note.
func (c *Counted) add(n *Note, by int) {
	if n.Excluded {
		return
	}
	c.Notes += by
	c.Units += by * n.Units()
	c.Bytes += int64(by * n.Size)
	if n.Quarantine() != nil {
		c.Quarantined += by
	}
}

// A Commit is the input of With: the files that one commit changed.
type Commit struct {
	// Seq becomes the version of the index.
	Seq uint64
	// Time is the time of creation and change of everything that the commit creates or changes,
	// unless a Change says otherwise.
	Time time.Time
	// Changes are applied in order.
	Changes []Change
	Items   []memory.Change // the changes of memories and of their records

	// Erases says that the commit erases data of earlier commits. A later reader of the log cannot
	// find out which of them changed a folder, so all folders count as changed by this commit.
	Erases bool
}

// A Change is the change of one file by a commit.
type Change struct {
	// Path is relative to the vault, with slashes.
	Path    string
	Text    []byte // not retained by the index
	Deleted bool
	Body    Body // where the text is stored

	// Parsed is the parsed text, if the caller has it. A Parsed of another path or text is ignored.
	Parsed *Parsed

	// From is the path from which the commit moves the file; empty if it does not. Everything in
	// the file keeps its identity. The deletion at From is a separate Change.
	From string

	// TraitIDs are the ids of the annotations in the text, as Note.TraitIDs returned them when the
	// commit was made. Without them, or if their number does not fit the text, the ids are
	// computed.
	TraitIDs []string

	// Nodes are the UIDs of the nodes in the text, as File.NodeIDs returned them when the commit
	// was made. A zero UID means a new node. Without them, or if their number does not fit the
	// text, the UIDs are computed.
	Nodes []UID

	// Times has the times of a deleted note that is restored, or of a note to which parts are
	// restored, and of everything in it. If it is nil, the times are computed.
	Times *NoteTimes

	// Since is the last modification time of a file that is imported. It is the time of creation of
	// everything in the file, except where an audit log says otherwise. The zero time means the
	// time of the commit.
	Since time.Time
}

// A Body is the place of a text in the log: a run, and the number of a part of it. The index does
// not interpret it.
type Body struct {
	Run  uint64
	Part int
}

// Empty returns the index of a vault without files, at version 0.
func Empty() *Index {
	return &Index{
		settings: settings{}.read(settingTexts{}), entries: newEntries(&baseList{}), tags: &tagNumbers{},
		traitIDs: newTraitOwners(ownerList{}), uids: newTraitOwners(ownerList{}), memories: memory.Empty(),
	}
}

// Version returns the sequence number of the last commit.
func (x *Index) Version() uint64 { return x.version }

// Time returns the time of the last commit, in UTC; the zero time for Empty.
func (x *Index) Time() time.Time { return x.time }

// Totals returns the sums over the vault.
func (x *Index) Totals() Totals { return x.totals }

// Memories returns the index of the vault's memories.
func (x *Index) Memories() *memory.Index { return x.memories }

// File returns the file at a path, which can be a note or any other file.
func (x *Index) File(path string) (*File, bool) { return x.files.Get(path) }

// Note returns the note at a path. A note that the setting exclude hides is not found; see Kept.
func (x *Index) Note(path string) (*Note, bool) {
	f, ok := x.files.Get(path)
	if !ok || f.Note == nil {
		return nil, false
	}
	return f.Note, true
}

// Kept returns the note at a path, even if the setting exclude hides it. Use it to preserve the
// data of notes, not for answers.
func (x *Index) Kept(path string) (*Note, bool) {
	f, _ := x.files.Get(path)
	n := f.parsed()
	return n, n != nil
}

// Hides reports whether the setting exclude makes a file at this path a mere file. The file need
// not exist.
func (x *Index) Hides(path string) bool {
	return !x.hiding.IsEmpty() && isNote(path) && x.hiding.Excludes(path, nil)
}

// HiddenPaths yields the paths of the files that are not notes because of the setting exclude,
// sorted.
func (x *Index) HiddenPaths() iter.Seq[string] { return x.entries.paths(isHidden.name(""), "") }

// ByID returns the note with an id: its path without `.md`, or the whole path if it has another
// ending.
func (x *Index) ByID(id string) (*Note, bool) {
	n, ok := x.Note(id + ".md")
	if !ok && vault.HasNoteEnding(id) {
		return x.Note(id) // a note with another ending has it in its id
	}
	return n, ok
}

// Folded returns the path of an existing file that equals path except for case and normalization:
// path itself, if it exists, else the first in sorted order. If there is none, it returns false.
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

// NotesFolded returns the notes whose paths equal path except for case and normalization, the note
// at path included, by path.
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

// FilesAfter yields the files whose paths are greater than path, by path.
func (x *Index) FilesAfter(path string) iter.Seq[*File] {
	return func(yield func(*File) bool) {
		x.files.Ascend(path, func(p string, f *File) bool { return p == path || yield(f) })
	}
}

// Notes yields the notes whose paths are greater than after, by path.
func (x *Index) Notes(after string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		for f := range x.FilesAfter(after) {
			if f.Note != nil && !yield(f.Note) {
				return
			}
		}
	}
}

// OfType yields the notes of a type whose paths are greater than after, by path. It yields no
// embedded objects, and nothing for the type section.
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

// Declaring yields, by path and from a path on, the notes that declare a type or in which an object
// does, whether the schema has the type or not.
func (x *Index) Declaring(typ, from string) iter.Seq[*Note] {
	return x.notesBy(byDeclared.name(typ), from)
}

// key joins two texts, of which the first must not contain NUL; see clean. Keys sort by the first,
// then the second, so all keys with the same first text are a range.
func key(first, second string) string { return first + "\x00" + second }

// Count returns the number of objects of a type, embedded ones included; for the type section, the
// number of plain sections.
func (x *Index) Count(typ string) int { return x.count(byType, typ) }

// count returns the count of a name of a kind; 0 if it does not occur. Only names of kinds with
// counts have one: see kind.isCounted and tally.
func (x *Index) count(k kind, name string) int {
	n, _ := x.counts.Get(k.name(name))
	return n
}

// Untyped yields the notes after a path that declare no type and are not daily notes, by path.
func (x *Index) Untyped(after string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		for n := range x.notesBy(isUntyped.name(""), after) {
			if n.Path != after && !yield(n) {
				return
			}
		}
	}
}

// UntypedCount returns the number of notes that Untyped yields from the beginning.
func (x *Index) UntypedCount() int { return x.count(isUntyped, "") }

// Quarantined yields the quarantined notes, by path.
func (x *Index) Quarantined() iter.Seq[*Note] { return x.notesBy(isBroken.name(""), "") }

// Unindexed yields the notes that have more things than are indexed, by path.
func (x *Index) Unindexed() iter.Seq[*Note] { return x.notesBy(isUnindexed.name(""), "") }

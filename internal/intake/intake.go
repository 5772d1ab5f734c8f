// Package intake turns outside edits of the files of a vault into commits of its log: it pairs the
// halves of moves, finds the text with which an edit began, merges, and holds back edits that
// remove too much (reference/log.md §5).
//
// It does not access files, so it is used for folders and for buckets. Its callers find the changed
// files, decide when they are ingested, and write files back.
package intake

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Tool is the operation of commits that ingest edits (log.md §5).
const Tool = "reindex"

// A Found is an outside edit of a file. Path is required.
type Found struct {
	Path     string
	Text     []byte       // nil: the file is gone
	Digest   index.Digest // of Text
	Before   *index.File  // the file in the log before the edit; nil: there was none
	UpTo     uint64       // the file contained no later version of the log than this one; 0: than that of Before
	At       time.Time    // when its last change was seen
	Modified time.Time    // the file's modification time in its store
	To       string       // the new spelling of the file's name, if only that has changed
	Kept     bool         // it was in the held batch before

	// Seen reports whether the author of the edit had seen the text of a version. It is nil if that
	// is unknown.
	Seen func(repo.Revision) bool

	From  *Found // the file that was moved here; see Pair
	Moved bool   // the file was moved to another path

	Was     []byte // the text with which the edit began, nil if unknown; see LookBack
	Exact   bool   // Text is equal to an earlier text
	Reverts bool   // Text is older than a text that the author had seen, so it reverts that
}

// Gone reports whether the file does not exist any more.
func (f *Found) Gone() bool { return f.Text == nil }

// TakesAway reports whether the edit removes or reverts a note, so that it counts for the removal
// guard. A move does not count.
func (f *Found) TakesAway() bool {
	return f.Before != nil && !vault.InTrash(f.Path) && (f.Reverts || f.Gone() && !f.Moved)
}

// A Taken is the result of ingesting edits.
type Taken struct {
	Created, Changed, Moved, Removed int // number of files
	Conflicts                        int // conflict copies of texts that could not be merged

	// Restored is the number of files that were written again, because the log had changed them
	// since or the batch was discarded.
	Restored int

	Index index.Counts // objects, traits and files in the commits
	Held  *repo.Held   // the edits that need confirmation; nil if there are none
}

// Add adds the counts of more. It does not change Held.
func (t *Taken) Add(more Taken) {
	t.Created += more.Created
	t.Changed += more.Changed
	t.Moved += more.Moved
	t.Removed += more.Removed
	t.Conflicts += more.Conflicts
	t.Restored += more.Restored
	t.Index.Add(more.Index)
}

// Unfit returns the reason why a text cannot be that of a note; empty if it can.
func Unfit(text []byte) repo.Reason {
	switch {
	case len(text) > repo.MaxNote:
		return repo.LeftSize
	case !utf8.Valid(text):
		return repo.LeftEncoding
	}
	return ""
}

// A Place is the relation of a file to the vault of its folder or bucket.
type Place int

// The places.
const (
	NotOurs  Place = iota // not a file of the vault
	Ours                  // a note, or another kind of file that a vault has
	Misnamed              // would be a note if its name were valid
)

// PlaceOf returns the path in the vault of a file, and its Place. The path is composed (NFC),
// unlike names that macOS creates, and empty unless the Place is Ours.
func PlaceOf(idx *index.Index, key string) (path string, p Place) {
	if strings.HasPrefix(key, vault.Trash) {
		if _, ok := idx.File(key); ok {
			return key, Ours
		}
		return "", NotOurs
	}
	switch kind := vault.Path(key).Kind(); {
	case kind == vault.KindNone, kind == vault.KindAudit, Hidden(key) && kind != vault.KindConfig:
		return "", NotOurs
	}
	path = vault.CleanPath(key)
	if _, err := vault.ParseFile(path); err != nil {
		return "", Misnamed
	}
	return path, Ours
}

// Hidden reports whether the name of a file, or of a folder that contains it, begins with a dot.
func Hidden(key string) bool { return key[0] == '.' || strings.Contains(key, "/.") }

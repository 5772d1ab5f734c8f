// Package intake turns what somebody did to the files of a vault into commits of its log: it pairs moves, finds the
// text that an edit began with, merges, and holds back what would take away too much (reference/log.md §5).
//
// It knows files only as what was found of them, so that it serves a folder and a bucket alike. Which files changed,
// when they are taken in, and what is written back is decided by its callers.
package intake

import (
	"time"

	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// Tool is the operation of commits that take edits in (log.md §5).
const Tool = "reindex"

// A Found is what is in the files of a vault where somebody changed something. Path is required.
type Found struct {
	Path     string
	Text     []byte       // nil: the file is gone
	Digest   index.Digest // of Text
	Before   *index.File  // what the file had been; nil: there was none
	UpTo     uint64       // the file had nothing of the log that is newer than this version; 0: than before
	At       time.Time    // when it was seen to change last
	Modified time.Time    // of the file, as its store has it
	To       string       // this file has only another spelling of its name now
	Kept     bool         // it was held before

	// Seen reports whether the author of the edit had seen the text of a version. Nil: that is not known.
	Seen func(repo.Revision) bool

	From  *Found // the file that was moved here; see Pair
	Moved bool   // away, to another path

	Was     []byte // the text that they began with, as far as that can be told; see LookBack
	Exact   bool   // it is one of the earlier texts
	Reverts bool   // it is older than what they had seen, and so takes that back
}

// Gone reports whether there is no file any more.
func (f *Found) Gone() bool { return f.Text == nil }

// TakesAway reports whether taking the edit in takes something away, so that it counts for the guard.
// To move a note does not.
func (f *Found) TakesAway() bool {
	return f.Before != nil && !vault.InTrash(f.Path) && (f.Reverts || f.Gone() && !f.Moved)
}

// Taken says what was taken in.
type Taken struct {
	Created, Changed, Moved, Removed int          // files
	Conflicts                        int          // copies that were made of texts that could not be merged
	Restored                         int          // files that were written again: the log had changed them since, or the batch was discarded
	Index                            index.Counts // objects, traits and files that the commits tell of
	Held                             *repo.Held   // what waits for a word
}

// Add adds the counts of another.
func (t *Taken) Add(more Taken) {
	t.Created += more.Created
	t.Changed += more.Changed
	t.Moved += more.Moved
	t.Removed += more.Removed
	t.Conflicts += more.Conflicts
	t.Restored += more.Restored
	t.Index.Add(more.Index)
}

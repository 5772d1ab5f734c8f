package repo

import (
	"fmt"
	"time"
)

// A Freshness describes the relation of a vault's answers to the files in the folder (DESIGN §5).
// Answers always reflect the head of the log; the files may differ from it.
type Freshness string

// The values of Freshness.
const (
	Fresh        Freshness = "fresh"        // no outside edit is known
	Pending      Freshness = "pending"      // outside edits were noticed, and are not in the log
	Updating     Freshness = "updating"     // a reindex is running
	Stale        Freshness = "stale"        // the last sweep found differences, or edits may be noticed late
	Incompatible Freshness = "incompatible" // the log has a newer format than this release reads
	Unknown      Freshness = "unknown"      // the files were not compared with the log yet
)

// MaxNamed is how many paths each list of files in a control item has at most, unless VaultOptions
// sets another limit. The counts are always complete.
const MaxNamed = 100

// MaxNamed returns how many paths each list of files in the control item of this vault has at most.
// Writers of the control item must observe it.
func (v *Vault) MaxNamed() int { return v.named }

// A Noticed describes known outside edits that are not in the log: files that were changed, created
// or removed by another program. They are ingested when nothing has changed for two seconds.
type Noticed struct {
	At    time.Time `json:"at"`              // when the last of them was noticed
	Paths []string  `json:"paths,omitempty"` // at most 100
	Count int       `json:"count"`           // total
}

// A Held describes a batch of outside edits that would remove or revert too much to be ingested
// without confirmation (log.md §5). It stays pending until it is accepted or discarded.
type Held struct {
	Since    time.Time `json:"since"`
	Version  uint64    `json:"version"`            // version of the vault at Since
	Removed  int       `json:"removed,omitempty"`  // notes whose files are missing
	Reverted int       `json:"reverted,omitempty"` // notes whose files have an earlier text of theirs
	Changed  int       `json:"changed,omitempty"`  // files with a text that is in no version
	Moved    int       `json:"moved,omitempty"`    // notes that were renamed
	Created  int       `json:"created,omitempty"`  // files without a note
	Paths    []string  `json:"paths,omitempty"`    // of all these files; at most 100
	Going    []string  `json:"going,omitempty"`    // of the removed and reverted files; at most 100
}

// Count returns how many files the batch has. A nil batch has none.
func (h *Held) Count() int {
	if h == nil {
		return 0
	}
	return h.Removed + h.Reverted + h.Changed + h.Moved + h.Created
}

// A Left lists the files in the folder that cannot be ingested. They are left unchanged, and are
// not notes.
type Left struct {
	Files []LeftFile `json:"files,omitempty"` // at most 100
	Count int        `json:"count"`           // total
	Twins int        `json:"twins,omitempty"` // how many of them have a colliding name
}

// A Late lists the files that do not have the text in the log yet, or got it only a moment ago. A
// program that reads such a file may work on an old text, and its next edit is then based on that
// text. Had and After of a file limit which text that was.
type Late struct {
	Files []LateFile `json:"files,omitempty"` // at most 100; those that are behind come first
	Count int        `json:"count"`           // total

	// For the files that are not in Files: the version up to which they have the texts of the log,
	// and whether any of them is behind.
	After  uint64 `json:"after,omitempty"`
	Behind bool   `json:"behind,omitempty"`
}

// A LateFile is one file of a Late.
type LateFile struct {
	Path   string    `json:"path"`
	Behind bool      `json:"behind,omitempty"` // it has nothing newer than version Had
	Had    uint64    `json:"had,omitempty"`
	After  uint64    `json:"after,omitempty"` // later versions were written to the file at Since
	Since  time.Time `json:"since,omitzero"`
}

// A LeftFile is a file that cannot be ingested.
type LeftFile struct {
	Path string `json:"path"`
	Why  Reason `json:"why"`
	Twin string `json:"twin,omitempty"` // the note whose name is equal except for case or normalization
}

// A Reason is the reason why a file cannot be ingested.
type Reason string

// The reasons.
const (
	LeftTwin     Reason = "twin"     // its name differs from another one only by case or normalization
	LeftName     Reason = "name"     // its name is not a valid name of a note
	LeftSize     Reason = "size"     // it is too large
	LeftEncoding Reason = "encoding" // it is not UTF-8
	LeftForeign  Reason = "foreign"  // it is not a regular file: a link, or a folder with the name of a note
	LeftUnread   Reason = "unread"   // it, or a folder, cannot be read
	LeftQuota    Reason = "quota"    // the vault is full
	LeftAway     Reason = "away"     // the vault's folder was moved, unmounted, or cannot be read
)

// Problem returns a message that says why the file cannot be ingested.
func (f LeftFile) Problem() string {
	switch f.Why {
	case LeftTwin:
		if f.Twin != "" {
			return "its name differs only by case or normalization from " + f.Twin
		}
		return "its name differs only by case or normalization from that of another"
	case LeftName:
		return "invalid file name"
	case LeftSize:
		return fmt.Sprintf("it is larger than %d KiB", MaxNote>>10)
	case LeftEncoding:
		return "it is not UTF-8"
	case LeftForeign:
		return "it is not a regular file: it is a link, or a folder with the name of a note"
	case LeftUnread:
		return "it cannot be read"
	case LeftQuota:
		return "the vault has no room for it"
	case LeftAway:
		return UnwatchedAway.Problem()
	}
	return "it cannot be synced"
}

// Remedy returns an instruction after which the file can be ingested.
func (f LeftFile) Remedy() string {
	switch f.Why {
	case LeftTwin, LeftName:
		return "rename it, or move it out of the folder"
	case LeftSize:
		return "split it, or move it out of the folder"
	case LeftEncoding:
		return "save it as UTF-8"
	case LeftForeign:
		return "replace it with a regular file, or move it out of the folder"
	case LeftUnread:
		return "give the user that runs Rookery permission to read it"
	case LeftQuota:
		return "delete notes that are not needed, or move it out of the folder"
	case LeftAway:
		return UnwatchedAway.Remedy()
	}
	return "move it out of the folder"
}

// An Unwatched is the reason why changes of files may be noticed late, so that Freshness is not
// Fresh. The zero value means that they are noticed at once.
type Unwatched string

// The reasons.
const (
	UnwatchedLimit Unwatched = "watches" // the operating system allows no more watches
	UnwatchedAway  Unwatched = "away"    // the folder was moved, unmounted, or cannot be read
)

// Problem returns a message about the problem; "" for the zero value.
func (u Unwatched) Problem() string {
	switch u {
	case UnwatchedLimit:
		return "the system allows no more watches: changes in some folders are found by comparing them every 2 seconds"
	case UnwatchedAway:
		return "the folder of the vault was moved or unmounted, or cannot be read: changes are stored in " +
			"the log, and written to the folder when it is available again"
	}
	return ""
}

// Remedy returns an instruction to fix the problem; "" for the zero value.
func (u Unwatched) Remedy() string {
	switch u {
	case UnwatchedLimit:
		return "on Linux: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=1024; on other " +
			"systems: raise the limit of open files; then start the server again"
	case UnwatchedAway:
		return "restore or mount the folder, or serve it at its new path"
	}
	return ""
}

// Freshness returns the freshness that the control item implies at a time. It uses nothing else:
// the processes that compare files record their results there. If several states apply, the most
// informative one is returned: a running reindex is about to look at the noticed edits, and these
// are newer than the last sweep.
func (c Control) Freshness(now time.Time) Freshness {
	switch {
	case c.Newer():
		return Incompatible
	case c.Lease.Held(now):
		return Updating
	case c.Noticed != nil && c.Noticed.Count > 0, c.Held.Count() > 0:
		return Pending
	case c.Sweep == nil:
		return Unknown
	case c.Sweep.Count > 0 || c.Sweep.Missed > 0, c.Unwatched != "":
		return Stale
	}
	return Fresh
}

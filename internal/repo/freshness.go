package repo

import (
	"fmt"
	"time"
)

// Freshness says how what a vault answers stands to the files that people see (DESIGN §5). An answer is
// always true of the log's head; what may differ is the checkout.
type Freshness string

// The states, by what orientation calls them.
const (
	Fresh        Freshness = "fresh"        // no change from outside is known
	Pending      Freshness = "pending"      // changes from outside were noticed, and are not in the log
	Updating     Freshness = "updating"     // a reindex holds its lease
	Stale        Freshness = "stale"        // the last sweep found files that are not as the log says
	Incompatible Freshness = "incompatible" // the log is of a newer format than this release reads
	Unknown      Freshness = "unknown"      // nobody has compared the files with the log yet
)

// MaxNamed is how many files a control item names of each kind at most, unless VaultOptions says otherwise. All
// are counted.
const MaxNamed = 100

// MaxNamed is how many files the control item of the vault names of each kind at most.
func (v *Vault) MaxNamed() int { return v.named }

// Noticed are the changes from outside that are known and not in the log: files that somebody else
// changed, made or took away. They are taken in when nothing has changed for two seconds.
type Noticed struct {
	At    time.Time `json:"at"`              // when the last of them was met
	Paths []string  `json:"paths,omitempty"` // at most 100
	Count int       `json:"count"`           // of all
}

// Held is a batch of changes from outside that would take away or put back too much to be taken in
// without a word (log.md §5): somebody accepts or discards it.
type Held struct {
	Since    time.Time `json:"since"`
	Version  uint64    `json:"version"`            // of the vault then
	Removed  int       `json:"removed,omitempty"`  // notes whose files are gone
	Reverted int       `json:"reverted,omitempty"` // notes whose files are as they were once
	Changed  int       `json:"changed,omitempty"`  // files with a text that no version has
	Moved    int       `json:"moved,omitempty"`    // notes that have another name
	Created  int       `json:"created,omitempty"`  // files where there was no note
	Paths    []string  `json:"paths,omitempty"`    // of all of them; at most 100
	Going    []string  `json:"going,omitempty"`    // of those that are gone or as they were once; at most 100
}

// Count is how many files the batch has.
func (h *Held) Count() int {
	if h == nil {
		return 0
	}
	return h.Removed + h.Reverted + h.Changed + h.Moved + h.Created
}

// Left are the files in the folder that cannot be taken in. They stay as they are, and are no notes.
type Left struct {
	Files []LeftFile `json:"files,omitempty"` // at most 100
	Count int        `json:"count"`           // of all
	Twins int        `json:"twins,omitempty"` // of these, those whose name collides
}

// Late are the files that do not have, or have only just got, what the log made of them.
type Late struct {
	Files []LateFile `json:"files,omitempty"` // at most 100, those that are behind first
	Count int        `json:"count"`           // of all

	// Of the files that are not named: the version up to which they have the texts, and whether some of
	// them are behind.
	After  uint64 `json:"after,omitempty"`
	Behind bool   `json:"behind,omitempty"`
}

// A LateFile is one of them.
type LateFile struct {
	Path   string    `json:"path"`
	Behind bool      `json:"behind,omitempty"` // it has nothing that is newer than version Had
	Had    uint64    `json:"had,omitempty"`
	After  uint64    `json:"after,omitempty"` // the texts of later versions came into the file at Since
	Since  time.Time `json:"since,omitzero"`
}

// A LeftFile is one of them.
type LeftFile struct {
	Path string `json:"path"`
	Why  Reason `json:"why"`
	Twin string `json:"twin,omitempty"` // the note whose name it has but for case or normalization
}

// A Reason says why a file cannot be taken in.
type Reason string

// The reasons.
const (
	LeftTwin     Reason = "twin"     // its name differs from another's by case or normalization only
	LeftName     Reason = "name"     // its name can be none of a note
	LeftSize     Reason = "size"     // it is too large
	LeftEncoding Reason = "encoding" // it is not UTF-8
	LeftForeign  Reason = "foreign"  // it is no plain file: a link, or a folder with the name of a note
	LeftUnread   Reason = "unread"   // it, or a folder, cannot be read
	LeftQuota    Reason = "quota"    // the vault is full
	LeftAway     Reason = "away"     // the folder itself was moved away or unmounted, or cannot be read
)

// Problem says what is wrong with the file.
func (f LeftFile) Problem() string {
	switch f.Why {
	case LeftTwin:
		if f.Twin != "" {
			return "its name differs only by case or normalization from " + f.Twin
		}
		return "its name differs only by case or normalization from that of another"
	case LeftName:
		return "its name can be none of a note"
	case LeftSize:
		return fmt.Sprintf("it is larger than %d KiB", MaxNote>>10)
	case LeftEncoding:
		return "it is not UTF-8"
	case LeftForeign:
		return "it is no plain file: a link, or a folder with the name of a note"
	case LeftUnread:
		return "it cannot be read"
	case LeftQuota:
		return "the vault has no room for it"
	case LeftAway:
		return UnwatchedAway.Problem()
	}
	return "it cannot be taken in"
}

// Remedy says what to do, so that the file can be taken in.
func (f LeftFile) Remedy() string {
	switch f.Why {
	case LeftTwin, LeftName:
		return "rename it, or move it out of the folder"
	case LeftSize:
		return "split it, or move it out of the folder"
	case LeftEncoding:
		return "save it as UTF-8"
	case LeftForeign:
		return "put a plain file in its place, or move it out of the folder"
	case LeftUnread:
		return "let the user that runs Rookery read it"
	case LeftQuota:
		return "delete notes that nobody needs, or move it out of the folder"
	case LeftAway:
		return UnwatchedAway.Remedy()
	}
	return "move it out of the folder"
}

// An Unwatched is why changes of files may not be noticed at once, so that Freshness cannot be Fresh; empty: they
// are.
type Unwatched string

// The reasons.
const (
	UnwatchedLimit Unwatched = "watches" // the system allows no more watches
	UnwatchedAway  Unwatched = "away"    // the folder was moved away or unmounted, or cannot be read
)

// Problem says what is wrong; "" if nothing is.
func (u Unwatched) Problem() string {
	switch u {
	case UnwatchedLimit:
		return "the system allows no more watches: changes in some folders are found by comparing them every 2 seconds"
	case UnwatchedAway:
		return "the folder of the vault was moved away or unmounted, or cannot be read: changes are kept in the log " +
			"and written to the folder when it is back"
	}
	return ""
}

// Remedy says what to do; "" if nothing is wrong.
func (u Unwatched) Remedy() string {
	switch u {
	case UnwatchedLimit:
		return "on Linux: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=1024; on other " +
			"systems: raise the limit of open files; then start the server again"
	case UnwatchedAway:
		return "put the folder back or mount it, or serve it where it is now"
	}
	return ""
}

// A Lease says that somebody is at work. One that its holder did not give back, for it was killed, ends
// by itself.
type Lease struct {
	Holder string    `json:"holder"` // names who took it, once
	Until  time.Time `json:"until"`
}

// Held reports whether the lease still holds at a time. A nil lease does not.
func (l *Lease) Held(now time.Time) bool { return l != nil && now.Before(l.Until) }

// Freshness is what the control item says at a time. Nothing else is looked at: those who know write
// there what they found. Where several states hold, it is the one that tells most of what comes next:
// who is updating is about to look at what was noticed, and what was noticed is newer than what the
// last sweep found.
func (c Control) Freshness(now time.Time) Freshness {
	switch {
	case c.Format > controlFormat:
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

package eventlog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// A Commit is one atomic change of a log: the effect of one call.
type Commit struct {
	// Seq is the number of the commit in the log, from 1.
	Seq  uint64
	Call string // id of the call, by which its process recognizes the commit
	Time time.Time
	Who  Who
	Tool string // name of the tool

	Key *Key // nil if the call had no idempotency key

	// Notes, Items and Records are the changes of the commit, in the order in which they were
	// staged.
	Notes   []Note
	Items   []Item
	Records []Record
	Status  Status // new status of the log; empty: unchanged

	// Took is how long the call had taken when the commit was sealed, just before it was written,
	// in whole milliseconds. 0: the start of the call is not known.
	Took time.Duration
}

// Bare returns a copy of the commit without notes, items, records and key.
func (c *Commit) Bare() *Commit {
	return &Commit{Seq: c.Seq, Call: c.Call, Time: c.Time, Who: c.Who, Tool: c.Tool, Status: c.Status, Took: c.Took}
}

// NoteAt returns the change of a file by the commit; false if there is none.
func (c *Commit) NoteAt(path string) (Note, bool) {
	for _, n := range c.Notes {
		if n.Path == path {
			return n, true
		}
	}
	return Note{}, false
}

// ItemOf returns the change of an item by the commit; false if there is none.
func (c *Commit) ItemOf(kind, id string) (Item, bool) {
	for _, i := range c.Items {
		if i.Kind == kind && i.ID == id {
			return i, true
		}
	}
	return Item{}, false
}

// Earlier returns the path of a file before the commit, and the commit that changed it before; 0 if
// this commit created it.
func (c *Commit) Earlier(n Note) (path string, seq uint64) {
	// The move removed the file at its old path in the same commit, with the previous commit of
	// that path.
	if was, moved := c.NoteAt(n.From); moved && n.From != "" && n.Prev == 0 {
		return n.From, was.Prev
	}
	return n.Path, n.Prev
}

// TextSize returns the total size, in bytes, of the texts of notes and values of items in the
// commit.
func (c *Commit) TextSize() int {
	size := 0
	for i := range c.Notes {
		size += len(c.Notes[i].Text)
	}
	for i := range c.Items {
		size += len(c.Items[i].Value)
	}
	return size
}

// A Who identifies the author of a commit.
type Who struct {
	// Principal, Agent and Request identify the caller and its request; see auth.Caller.
	Principal string `json:"principal"`
	Agent     string `json:"agent,omitempty"`
	Request   string `json:"request_id,omitempty"`

	// The credential, where it does not follow from the principal: the id of the API token, or the
	// issuer and the subject of the workload token.
	Token   string `json:"token,omitempty"`
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// size returns about how many bytes w adds to a header.
func (w Who) size() int {
	return len(w.Principal) + len(w.Agent) + len(w.Request) + len(w.Token) + len(w.Issuer) +
		len(w.Subject)
}

// A Note is the change of one file of a vault in a commit.
type Note struct {
	// Path is the path of the file in the vault.
	Path    string
	Text    []byte // nil if Deleted
	Deleted bool
	Prev    uint64 // the commit that changed it before; 0: none
	// Was is the index.Digest of the text before. Empty: there was no file. Nil: written by an
	// earlier release, which did not record it.
	Was    []byte
	Traits []string        // the ids of its traits, in reading order; not part of the text
	Nodes  []byte          // the UIDs of its nodes, in text order, 16 bytes each; not part of the text
	Events json.RawMessage // the audit events, a JSON array, without time and author
	// Past contains the times of a note that returns, or to which parts return. Nil: the times
	// begin, or continue.
	Past   *Past
	From   string    // the path it is moved from; its contents keep their identity
	Since  time.Time // of a file that is read for the first time: its modification time
	Erased bool      // its history was erased: nothing else is known of the change

	// Parsed is what Options.Apply derives from Text, if the function of the call or Options.Step has
	// it already. It is not stored.
	Parsed any

	// Theirs is the text that an outside edit had put into the file, if the commit ingested the
	// edit and changed the text further. The checkout may overwrite a file with this text (log.md
	// §4), and the next edit of the file may be based on it. Nil: there was none.
	Theirs []byte
}

// A Past contains the times of a note at some version, and of the things in it by their position.
type Past struct {
	Note     Times   `json:"note"` // of the note as a whole
	Sections []Times `json:"sections,omitempty"`
	Traits   []Times `json:"traits,omitempty"`
}

// Times are the times at which a note, or a thing in it, was created and modified.
type Times struct{ Created, Modified time.Time }

// A Record is a small value that is stored whole in the log, for example an entry of a tenant.
type Record struct {
	// Kind and ID identify the entry. A later record with the same Kind and ID replaces it.
	Kind  string          `json:"kind"`
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"` // absent: the entry is removed
}

// A Key is the use of an idempotency key by a commit (log.md §2.6).
type Key struct {
	Hash    []byte          // of principal and key; see hashKey
	Request []byte          // digest of the request that the key is bound to
	Answer  json.RawMessage // the answer of the call; nil: it was erased
}

// A Status is the status of a log as a whole. A change of status is a commit, so an append that was
// prepared before it loses the race (log.md §2.8).
type Status string

// The statuses of a log.
const (
	Active Status = "active"
	// ReadOnly: no call writes until the log is active again. Outside edits are still ingested,
	// because they have already happened.
	ReadOnly Status = "readonly"
	Trashed  Status = "trashed" // no reads or writes until the log is active again
	Sealed   Status = "sealed"  // no reads or writes any more: the log is being erased
)

// Version returns the name of a commit in the API: "v" and the seq.
func Version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// ParseVersion returns the seq of a name that Version returned, and false for any other string. It
// accepts "v0", but no leading zeros and no sign, and seqs below 2^63.
func ParseVersion(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "v")
	if !ok || digits == "" || digits[0] == '+' || (digits[0] == '0' && len(digits) > 1) {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 63)
	return seq, err == nil
}

package repo

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"rookery/internal/index"
)

// A Commit is the effect of one call.
type Commit struct {
	Seq  uint64
	Call string // names the call, so that its author knows the commit again
	Time time.Time
	Who  Who
	Tool string // the operation: the tool's name

	Key *Key // where the call had an idempotency key

	Notes   []Note
	Items   []Item
	Records []Record
	Status  Status // what the commit makes of the log as a whole; empty: nothing

	// Took is how long its call had taken when the commit was sealed, just before it was written: whole
	// milliseconds. 0: nobody said when the call began.
	Took time.Duration
}

// Who made a commit.
type Who struct {
	Principal string `json:"principal"`
	Agent     string `json:"agent,omitempty"`
	Request   string `json:"request_id,omitempty"`

	// What proved it, where that does not follow from the principal: the id of the API token, or the issuer
	// and the subject of a workload's token.
	Token   string `json:"token,omitempty"`
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// size is about how many bytes it takes.
func (w Who) size() int {
	return len(w.Principal) + len(w.Agent) + len(w.Request) + len(w.Token) + len(w.Issuer) +
		len(w.Subject)
}

// A Note is one file of a vault that a commit changed.
type Note struct {
	Path    string
	Text    []byte // nil if Deleted
	Deleted bool
	Prev    uint64          // the commit that changed it before; 0: none
	Was     []byte          // the index.Digest of the text before; empty: there was no file; nil: an earlier release did not say
	Traits  []string        // the ids of its traits, in reading order: no text says them
	Nodes   []index.UID     // the UIDs of its nodes, in text order; likewise
	Events  json.RawMessage // the audit events, a JSON list, without time and author
	Past    *index.Past     // of a note that returns, or to which parts return: the times; nil: they begin, or go on
	From    string          // the path that it had before, if the commit moves it: what is in it stays what it is
	Since   time.Time       // of a file that was read for the first time: when it was changed last
	Erased  bool            // its history was erased: nothing else is known of the change

	// Theirs is the text that somebody had put into the file, of a commit that took it in and made
	// another text of it. What follows the log may replace it (log.md §4), and what they save next may
	// build on it. Nil: there was none.
	Theirs []byte
}

// A Record is a small thing that is kept whole in the log: an entry of a tenant, for instance.
type Record struct {
	Kind  string          `json:"kind"`
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"` // absent: the thing is gone
}

// A Key is the use of an idempotency key (log.md §2.6).
type Key struct {
	Hash    []byte          // of principal and key
	Request []byte          // digest of the request that it is bound to
	Answer  json.RawMessage // what the call was answered; nil: it was erased
}

// Status is what a log as a whole is. An append that was made before a change of status loses the
// race to it, for the change is a commit (log.md §2.8).
type Status string

// The statuses of a log.
const (
	Active Status = "active"
	// ReadOnly is that of a log to which no call writes until it is active again. What was changed outside
	// is taken in all the same: it has happened.
	ReadOnly Status = "readonly"
	Trashed  Status = "trashed" // nothing is read or written until it is active again
	Sealed   Status = "sealed"  // nothing is read or written any more: it is being erased
)

// Version is the name of a seq as callers see it.
func Version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// ParseVersion reads what Version wrote.
func ParseVersion(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "v")
	if !ok || digits == "" || digits[0] == '+' || (digits[0] == '0' && len(digits) > 1) {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 63)
	return seq, err == nil
}

package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// A span is when an object was first and last seen, as an audit log that was brought in tells it
// (reference/raven.md §6.9).
type span struct{ first, last time.Time }

// An auditEntry is what seeds need of a line of an audit log, in the format of
// spec/raven-agent-improvements.md, "Audit Log Format".
type auditEntry struct {
	TS         time.Time `json:"ts"`
	Op         string    `json:"op"`
	Entity     string    `json:"entity"`
	ID         string    `json:"id"`
	Parent     string    `json:"parent"`
	File       string    `json:"file"`
	Discovered []string  `json:"discovered"`
	Modified   []string  `json:"modified"`
	Removed    []string  `json:"removed"`
}

// seed takes the times that an audit log tells. A line that cannot be read is passed over: other
// programs wrote it.
func (x *Index) seed(log []byte) {
	x.seeds.Clear()
	told := spans{}
	for line := range bytes.Lines(log) {
		var e auditEntry
		if json.Unmarshal(line, &e) == nil && !e.TS.IsZero() {
			told.tell(e)
		}
	}
	for id, s := range told {
		s.first, s.last = s.first.UTC(), s.last.UTC()
		x.seeds.Set(id, s)
		if n, ok := x.ByID(id); ok {
			x.backdate(n, s)
		}
	}
}

// backdate gives a note the times that the audit log tells.
func (x *Index) backdate(n *Note, s span) {
	now := *n
	now.Created, now.Modified = s.before(n.Created, n.Modified)
	if now.Created != n.Created {
		x.replace(n, now)
	}
}

// before is when a note was made and changed that came here, and was changed here last, at these
// times. What is told counts as far as it is older, and the last change only if the note is as it
// came.
func (s span) before(came, changed time.Time) (created, modified time.Time) {
	created, modified = came, changed
	if s.first.Before(came) {
		created = s.first
		if changed.Equal(came) && s.last.Before(came) {
			modified = s.last
		}
	}
	return created, modified
}

// spans are the times of notes, by id.
type spans map[string]span

// tell takes one entry in. Every change in a file counts for its note.
func (s spans) tell(e auditEntry) {
	switch {
	case e.Op == "delete" && e.Entity == "object" && !strings.Contains(e.ID, "#"):
		delete(s, e.ID)
	case e.Op == "reindex":
		s.reindex(e)
	case e.Entity == "object":
		s.see(e.ID, e.TS)
	case e.Entity == "trait" && e.Parent != "":
		s.see(e.Parent, e.TS)
	}
}

// reindex takes in what was found in a file that somebody had edited.
func (s spans) reindex(e auditEntry) {
	if e.File != "" {
		s.see(strings.TrimSuffix(e.File, ".md"), e.TS)
	}
	for _, name := range append(e.Discovered, e.Modified...) {
		if id, ok := strings.CutPrefix(name, "object:"); ok {
			s.see(id, e.TS)
		}
	}
	for _, name := range e.Removed {
		if id, ok := strings.CutPrefix(name, "object:"); ok && !strings.Contains(id, "#") {
			delete(s, id)
		}
	}
}

// see notes that an object, or something in its file, was there at a time.
func (s spans) see(id string, at time.Time) {
	id, _, _ = strings.Cut(id, "#")
	old, ok := s[id]
	if !ok || at.Before(old.first) {
		old.first = at
	}
	if at.After(old.last) {
		old.last = at
	}
	s[id] = old
}

package raven

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"iter"
	"slices"
	"strings"
)

// A commitLog contains the entries of a commit in the order of their ids. A note can have 20,000 of
// them and a commit 1,000 notes, so only the head of each event is decoded at first, and those of a
// large commit are packed while they are not read.
type commitLog struct {
	commit *eventlog.Commit // with its notes only if packed is nil
	same   logEntry         // the fields that are the same in all entries
	heads  []logHead        // sorted by id or, for a reindex, by file; nil if packed is set
	packed *packedLog       // the remembered entries; nil: heads has them
}

// A logHead is an entry whose event is decoded only as far as its head.
type logHead struct {
	eventHead
	events *noteEvents // contains the complete event; nil: the head is complete
	at     int         // its position among them
}

// An eventHead contains the fields of an event that determine its order and that most filters test.
type eventHead struct {
	Op     string `json:"op"`
	Entity string `json:"entity"`
	ID     string `json:"id"`
	File   string `json:"file"`
}

// A noteEvents contains the events of one note in a commit.
//
// All heads of a note share one noteEvents, so the array is split at most once for each note, and
// only if an entry of it is shown or must be compared completely.
type noteEvents struct {
	path string
	text json.RawMessage   // a JSON array
	each []json.RawMessage // its elements; nil before the first call of one
}

// one returns the JSON of the event at an index.
func (n *noteEvents) one(at int) (json.RawMessage, error) {
	if n.each == nil {
		if err := json.Unmarshal(n.text, &n.each); err != nil {
			return nil, err
		}
	}
	return n.each[at], nil
}

// newCommitLog returns the log of a commit without entries.
func newCommitLog(c *eventlog.Commit) *commitLog {
	return &commitLog{commit: c, same: logEntry{
		TS: c.Time.UTC(), Tool: c.Tool, Principal: c.Who.Principal, Agent: c.Who.Agent,
		RequestID: c.Who.Request, Version: eventlog.Version(c.Seq),
	}}
}

// entriesOf returns the entries of a commit. If ids is not empty, there is no entry for an erasure.
func entriesOf(c *eventlog.Commit, ids []string) (*commitLog, error) {
	l := newCommitLog(c)
	for _, n := range c.Notes {
		if err := l.add(&noteEvents{path: n.Path, text: n.Events}); err != nil {
			return l, l.unreadable(err)
		}
	}
	if len(ids) == 0 && c.Erases() > 0 {
		l.heads = append(l.heads, logHead{eventHead: eventHead{Op: "erase"}})
	}
	slices.SortStableFunc(l.heads, func(a, b logHead) int {
		return strings.Compare(cmp.Or(a.ID, a.File), cmp.Or(b.ID, b.File))
	})
	return l, nil
}

// add appends the events of a note. The number of heads is estimated from the text, to allocate the
// list once.
func (l *commitLog) add(events *noteEvents) error {
	if len(events.text) == 0 {
		return nil
	}
	heads := make([]eventHead, 0, bytes.Count(events.text, []byte(`{"op":`)))
	if err := json.Unmarshal(events.text, &heads); err != nil {
		return err
	}
	for i, head := range heads {
		l.heads = append(l.heads, logHead{head, events, i})
	}
	return nil
}

// unreadable returns the error of events that cannot be decoded.
func (l *commitLog) unreadable(err error) error {
	return fmt.Errorf("read the events of %s: %w", l.same.Version, err)
}

// after yields the entries after the first `passed`. It ends with the first error.
func (l *commitLog) after(passed int) iter.Seq2[logRecord, error] {
	if l.packed != nil {
		return l.unpacked(passed)
	}
	return func(yield func(logRecord, error) bool) {
		for i := min(passed, len(l.heads)); i < len(l.heads); i++ {
			if !yield(l.entry(i+1, l.heads[i]), nil) {
				return
			}
		}
	}
}

// entry returns the entry with a number, with only its head decoded; see logged.complete.
func (l *commitLog) entry(number int, h logHead) logRecord {
	e := logRecord{logEntry: l.same, number: number, events: h.events, at: h.at}
	e.Op, e.Entity, e.ID, e.File = h.Op, h.Entity, h.ID, h.File
	if h.events != nil {
		e.path = h.events.path
	}
	return e
}

// complete decodes the rest of an entry. It does nothing if the entry is complete.
//
// The fields that the commit determines, such as the time and the principal, are not part of the
// stored event and are kept. It must be called before the other fields of logEntry are read.
func (e *logRecord) complete() error {
	if e.events == nil {
		return nil
	}
	same := e.logEntry
	raw, err := e.events.one(e.at)
	if err == nil {
		e.logEntry = logEntry{}
		event := json.NewDecoder(bytes.NewReader(raw))
		event.UseNumber() // a float64 cannot represent every number that a field can have
		err = event.Decode(&e.logEntry)
	}
	if err != nil {
		return fmt.Errorf("read an event of %s: %w", same.Version, err)
	}
	e.TS, e.Tool, e.Principal, e.Agent = same.TS, same.Tool, same.Principal, same.Agent
	e.RequestID, e.Version, e.events = same.RequestID, same.Version, nil
	return nil
}

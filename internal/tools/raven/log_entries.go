package raven

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/repo"
)

// A commitLog contains the entries of a commit in the order of their ids. A note can have 20,000 of
// them and a commit 1,000 notes, so only the head of each event is decoded at first.
//
// Entries are ordered by id, so that the numbers that page tokens contain stay valid when the same
// commit is read again.
type commitLog struct {
	same logEntry // the fields that are the same in all entries
	// heads are sorted by id or, for a reindex, by file.
	heads []logHead
}

// An eventHead contains the fields of an event that determine its order and that most filters test.
type eventHead struct {
	Op     string `json:"op"`
	Entity string `json:"entity"`
	ID     string `json:"id"`
	File   string `json:"file"`
}

// A logHead is an entry whose event is decoded only as far as its head.
type logHead struct {
	eventHead
	events *noteEvents // contains the complete event; nil: the head is complete
	at     int         // its position among them
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

// entriesOf returns the entries of a commit. If ids is not empty, there is no entry for an erasure.
//
// An erasure has one entry without an id; it says only that a history was erased. The events are
// sorted stably: those of one id keep the order in which the commit made them.
func entriesOf(c *repo.Commit, ids []string) (commitLog, error) {
	l := commitLog{same: logEntry{
		TS: c.Time.UTC(), Tool: c.Tool, Principal: c.Who.Principal, Agent: c.Who.Agent,
		RequestID: c.Who.Request, Version: repo.Version(c.Seq),
	}}
	for _, n := range c.Notes {
		if err := l.add(&noteEvents{path: n.Path, text: n.Events}); err != nil {
			return l, fmt.Errorf("read the events of %s: %w", l.same.Version, err)
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

// behind yields the entries after the first `passed`.
func (l commitLog) behind(passed int) iter.Seq[logged] {
	return func(yield func(logged) bool) {
		for i := min(passed, len(l.heads)); i < len(l.heads); i++ {
			if !yield(l.entry(i)) {
				return
			}
		}
	}
}

// entry returns an entry with only its head decoded; see logged.complete.
func (l commitLog) entry(i int) logged {
	h := &l.heads[i]
	e := logged{logEntry: l.same, number: i + 1, events: h.events, at: h.at}
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
func (e *logged) complete() error {
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

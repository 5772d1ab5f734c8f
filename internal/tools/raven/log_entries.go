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

// A commitLog is the entries of a commit, in the order of their ids. There may be 20,000 of one note, and 1,000 notes in a
// commit, so only the head of each event is decoded, and an entry is made when it is asked for.
type commitLog struct {
	same  logEntry // what all entries have in common
	heads []logHead
}

// An eventHead is what puts an event in order, and what tells most events from those that a filter asks for.
type eventHead struct {
	Op     string `json:"op"`
	Entity string `json:"entity"`
	ID     string `json:"id"`
	File   string `json:"file"`
}

// A logHead is an entry of which only the head is decoded.
type logHead struct {
	eventHead
	events *noteEvents // that the entry is one of; nil: the head is all of it
	at     int         // its position among them
}

// noteEvents are the events of a note in a commit.
type noteEvents struct {
	path string
	text json.RawMessage   // a JSON array
	each []json.RawMessage // its elements, when one was asked for
}

// one returns the text of an event.
func (n *noteEvents) one(at int) (json.RawMessage, error) {
	if n.each == nil {
		if err := json.Unmarshal(n.text, &n.each); err != nil {
			return nil, err
		}
	}
	return n.each[at], nil
}

// entriesOf returns the entries of a commit; with ids, without that of an erasure.
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

// add appends the events of a note.
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

// behind yields the entries but for a number of the first.
func (l commitLog) behind(passed int) iter.Seq[logged] {
	return func(yield func(logged) bool) {
		for i := min(passed, len(l.heads)); i < len(l.heads); i++ {
			if !yield(l.entry(i)) {
				return
			}
		}
	}
}

// entry makes an entry, of which only the head is decoded; see logged.complete.
func (l commitLog) entry(i int) logged {
	h := &l.heads[i]
	e := logged{logEntry: l.same, number: i + 1, events: h.events, at: h.at}
	e.Op, e.Entity, e.ID, e.File = h.Op, h.Entity, h.ID, h.File
	if h.events != nil {
		e.path = h.events.path
	}
	return e
}

// complete decodes the rest of an entry.
func (e *logged) complete() error {
	if e.events == nil {
		return nil
	}
	same := e.logEntry
	raw, err := e.events.one(e.at)
	if err == nil {
		e.logEntry = logEntry{}
		event := json.NewDecoder(bytes.NewReader(raw))
		event.UseNumber() // a float64 would not hold every number that a field may have
		err = event.Decode(&e.logEntry)
	}
	if err != nil {
		return fmt.Errorf("read an event of %s: %w", same.Version, err)
	}
	e.TS, e.Tool, e.Principal, e.Agent = same.TS, same.Tool, same.Principal, same.Agent
	e.RequestID, e.Version, e.events = same.RequestID, same.Version, nil
	return nil
}

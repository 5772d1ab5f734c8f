package raven

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
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

const (
	// largeEvents is how many bytes of events a commit has at least whose entries are remembered.
	largeEvents = 64 << 10

	// packedEntries is the number of entries that are packed together. A page unpacks one or two
	// blocks of them.
	packedEntries = 128
)

// A packedLog is what is remembered of a large commit: its entries in their order, so that the next
// page need not decode and sort the events of the whole commit.
type packedLog struct {
	paths  []string // of the notes
	blocks [][]byte // of packedEntries entries each, see repo.PackDerived
	count  int      // number of entries
}

// A block consists of the entries one behind the other: the number of the note in paths, plus 1,
// and the length of the event, as varints, and the event in JSON. For the entry of an erasure, which
// belongs to no note, both numbers are 0.

// size returns about how many bytes the log takes.
func (p *packedLog) size() int64 {
	n := 0
	for _, path := range p.paths {
		n += len(path) + 16
	}
	for _, block := range p.blocks {
		n += cap(block) + 24
	}
	return int64(n)
}

// packing is about how many times smaller events are when they are packed.
const packing = 4

// remember adds the entries of a large commit to the cache, if they fit.
func (l *commitLog) remember(known repo.Derivations) {
	size := 0
	for i := range l.commit.Notes {
		size += len(l.commit.Notes[i].Events)
	}
	if l.packed != nil || size < largeEvents || !known.Fits(int64(size/packing)) {
		return
	}
	// Events that cannot be decoded are not remembered; who reads them gets the error.
	if p, err := l.pack(); err == nil {
		known.Add(l.commit, p, p.size())
	}
}

// pack returns the entries of a commit, packed.
func (l *commitLog) pack() (*packedLog, error) {
	p := &packedLog{count: len(l.heads)}
	numbers := map[*noteEvents]uint64{nil: 0}
	var block []byte
	for i, h := range l.heads {
		number, known := numbers[h.events]
		if !known {
			p.paths = append(p.paths, h.events.path)
			number = uint64(len(p.paths))
			numbers[h.events] = number
		}
		block = binary.AppendUvarint(block, number)
		var event json.RawMessage
		if h.events != nil {
			var err error
			if event, err = h.events.one(h.at); err != nil {
				return nil, l.unreadable(err)
			}
		}
		block = binary.AppendUvarint(block, uint64(len(event)))
		if block = append(block, event...); (i+1)%packedEntries == 0 || i+1 == len(l.heads) {
			p.blocks = append(p.blocks, repo.PackDerived(block))
			block = block[:0]
		}
	}
	return p, nil
}

// remembered returns the entries of a commit that are in the cache; false if they are not.
func remembered(known repo.Derivations, seq uint64) (*commitLog, bool) {
	c, value, _ := known.Of(seq)
	p, ok := value.(*packedLog)
	if !ok {
		return nil, false
	}
	l := newCommitLog(c)
	l.packed = p
	return l, true
}

// unpacked yields the remembered entries after the first `passed`. It ends with the first error.
func (l *commitLog) unpacked(passed int) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		for passed < l.packed.count {
			heads, err := l.packed.block(passed / packedEntries)
			if err != nil {
				yield(logRecord{}, l.unreadable(err))
				return
			}
			for _, h := range heads[passed%packedEntries:] {
				passed++
				if !yield(l.entry(passed, h), nil) {
					return
				}
			}
		}
	}
}

// block returns the entries of a block.
func (p *packedLog) block(at int) ([]logHead, error) {
	data, err := repo.UnpackDerived(p.blocks[at])
	if err != nil {
		return nil, err
	}
	heads := make([]logHead, 0, packedEntries)
	for len(data) > 0 {
		number, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || number > uint64(len(p.paths)) || size > uint64(len(data)-n-m) {
			return nil, errors.New("a block of packed events is damaged")
		}
		event := data[n+m : n+m+int(size)]
		data = data[n+m+int(size):]
		h := logHead{eventHead: eventHead{Op: "erase"}}
		if number > 0 {
			h = logHead{events: &noteEvents{path: p.paths[number-1], each: []json.RawMessage{event}}}
			if err := json.Unmarshal(event, &h.eventHead); err != nil {
				return nil, err
			}
		}
		heads = append(heads, h)
	}
	return heads, nil
}

// An event is one event in the history of an object, trait or file.
type event struct {
	index.Event
	found string // by a reindex: discovered, modified or removed; empty: not by a reindex
}

// An entry is one stored change: a single event or, for an outside edit, all changes that a reindex
// found in a file.
//
// The three lists contain names of the form KIND:ID; Changes has the changes of each by that name.
type entry struct {
	index.Event
	Discovered []string `json:"discovered"`
	Modified   []string `json:"modified"`
	Removed    []string `json:"removed"`
}

// eventsOf yields the events of a revision. It decodes them one at a time, because there can be
// 20,000 of them. After an error it yields nothing more.
//
// The log stores them as a JSON array. A revision without events yields nothing.
func eventsOf(r *repo.Revision) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		unread := func(err error) {
			yield(event{}, fmt.Errorf("read the events of %s: %w", eventlog.Version(r.Seq), err))
		}
		if len(r.Events) == 0 || string(r.Events) == "null" {
			return
		}
		list := json.NewDecoder(bytes.NewReader(r.Events))
		list.UseNumber() // a float64 cannot represent every number that a field can have
		if _, err := list.Token(); err != nil {
			unread(err)
			return
		}
		for list.More() {
			var e entry
			if err := list.Decode(&e); err != nil {
				unread(err)
				return
			}
			for h := range e.each {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

// each yields the events of an entry.
func (e *entry) each(yield func(event) bool) {
	if e.Op != reindexOp {
		yield(event{Event: e.Event})
		return
	}
	for _, found := range []struct {
		how   string
		names []string
	}{{"discovered", e.Discovered}, {"modified", e.Modified}, {"removed", e.Removed}} {
		for _, name := range found.names {
			if !yield(e.one(found.how, name)) {
				return
			}
		}
	}
}

// reindexOp is the Op of an outside edit in the log.
const reindexOp = "reindex"

// one returns the event of one object or trait that a reindex found. name has the form KIND:ID.
//
// A discovered trait has all its values as changes from nothing; they become the fields of the
// event, as in the event of a creation by a tool.
func (e *entry) one(found, name string) event {
	kind, id, _ := strings.Cut(name, ":")
	h := event{index.Event{Op: reindexOp, Entity: kind, ID: id}, found}
	changes, _ := e.Changes[name].(map[string]any)
	if found == "discovered" {
		h.begin(changes)
	} else {
		h.Changes = changes
	}
	return h
}

// begin sets the event's fields from the changes of a discovered trait, whose old values are empty.
func (h *event) begin(changes map[string]any) {
	now := func(field string) any {
		change, _ := changes[field].(map[string]any)
		return change["new"]
	}
	h.Trait, _ = now("trait").(string)
	h.Parent, _ = now("parent").(string)
	h.Content, _ = now("content").(string)
	h.Value = now("value")
	if line, ok := now("line").(json.Number); ok {
		n, _ := line.Int64()
		h.Line = int(n)
	}
}

// A parentFinder finds the parents of traits that a reindex entry names, because the entry does not
// contain them.
//
// Parents are found by parsing the texts of the two revisions, which is done at most once for each
// of them, and only if a trait of the reindex has no parent. The texts must be loaded already.
type parentFinder struct {
	now, was *repo.Revision // the revision of the reindex, and the one before it

	nowIn, wasIn map[string]string // ids of parents by ids of traits; nil: not computed yet
}

// setParent sets the parent of a trait, if the event does not have it. For a removed trait that is its
// last parent.
func (p *parentFinder) setParent(e *event) {
	switch {
	case e.Entity != "trait" || e.Parent != "":
	case e.found == "removed":
		if p.wasIn == nil {
			p.wasIn = parentsIn(p.was)
		}
		e.Parent = p.wasIn[e.ID]
	default:
		if p.nowIn == nil {
			p.nowIn = parentsIn(p.now)
		}
		e.Parent = p.nowIn[e.ID]
	}
}

// parentsIn returns the ids of the parents of all traits in a revision of a file, by the traits'
// ids.
func parentsIn(r *repo.Revision) map[string]string {
	parents := map[string]string{}
	if r == nil || r.Deleted {
		return parents
	}
	x := index.Empty().With(index.Commit{Changes: []index.Change{
		{Path: r.Path, Text: r.Text, TraitIDs: r.Traits},
	}})
	if n, ok := x.Note(r.Path); ok {
		for _, t := range n.EachAnnotation {
			parents[t.ID] = t.Parent().ID()
		}
	}
	return parents
}

// reindexed marks the revision as an outside edit.
func (r *revision) reindexed() {
	found := map[string]string{"create": "discovered", "delete": "removed", "update": "modified"}
	if word, ok := found[r.Op]; ok {
		r.Op, r.Found = reindexOp, word
	}
}

package raven

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A event is an event in the history of something. One that was found by a reindex says as what.
type event struct {
	index.Event
	found string // discovered, modified or removed; empty: it was no reindex
}

// An entry is what the log has of a change: an event or, of a change from outside, all that was found
// in a file.
type entry struct {
	index.Event
	Discovered []string `json:"discovered"`
	Modified   []string `json:"modified"`
	Removed    []string `json:"removed"`
}

// eventsOf yields the events of a revision, one at a time: there may be 20,000 of them.
func eventsOf(r *repo.Revision) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		unread := func(err error) {
			yield(event{}, fmt.Errorf("read the events of %s: %w", repo.Version(r.Seq), err))
		}
		if len(r.Events) == 0 || string(r.Events) == "null" {
			return
		}
		list := json.NewDecoder(bytes.NewReader(r.Events))
		list.UseNumber() // a float64 would not hold every number that a field may have
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

// each yields what an entry tells.
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

// reindexOp is what the log calls a change from outside.
const reindexOp = "reindex"

// one is the event of what was found in one way.
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

// begin takes over what an entry says of a trait that was discovered: how it changed from nothing.
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

// places know in which object a trait is that a reindex names, or was: its entry does not tell.
type places struct {
	now, was *repo.Revision // with and before the reindex

	nowIn, wasIn map[string]string // the objects by ids of traits; nil: not known yet
}

// place says of a trait in which object it is, or was.
func (p *places) place(e *event) {
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

// parentsIn are the objects in which a revision of a file has its traits, by their ids.
func parentsIn(r *repo.Revision) map[string]string {
	parents := map[string]string{}
	if r == nil || r.Deleted {
		return parents
	}
	x := index.Empty().With(index.Commit{Changes: []index.Change{
		{Path: r.Path, Text: r.Text, TraitIDs: r.Traits},
	}})
	if n, ok := x.Note(r.Path); ok {
		for _, t := range n.Annotations {
			parents[t.ID] = t.Parent().ID()
		}
	}
	return parents
}

// reindexed says that the revision is a change from outside, and as what it was found.
func (r *revision) reindexed() {
	found := map[string]string{"create": "discovered", "delete": "removed", "update": "modified"}
	if word, ok := found[r.Op]; ok {
		r.Op, r.Found = reindexOp, word
	}
}

package raven

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

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
		for _, t := range n.Annotations {
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

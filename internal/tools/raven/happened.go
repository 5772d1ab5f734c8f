package raven

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"rookery/internal/index"
	"rookery/internal/repo"
)

// A happened is an event in the history of something. One that was found by a reindex says as what.
type happened struct {
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

// eventsOf are the events of a revision.
func eventsOf(r *repo.Revision) ([]happened, error) {
	if len(r.Events) == 0 {
		return nil, nil
	}
	var entries []entry
	numbers := json.NewDecoder(bytes.NewReader(r.Events))
	numbers.UseNumber() // a float64 would not hold every number that a field may have
	if err := numbers.Decode(&entries); err != nil {
		return nil, fmt.Errorf("read the events of %s: %w", repo.Version(r.Seq), err)
	}
	var all []happened
	for _, e := range entries {
		if e.Op != reindexOp {
			all = append(all, happened{Event: e.Event})
			continue
		}
		all = append(all, e.all("discovered", e.Discovered)...)
		all = append(all, e.all("modified", e.Modified)...)
		all = append(all, e.all("removed", e.Removed)...)
	}
	return all, nil
}

// reindexOp is what the log calls a change from outside.
const reindexOp = "reindex"

// all are the events of what was found in one way.
func (e *entry) all(found string, names []string) []happened {
	var all []happened
	for _, name := range names {
		kind, id, _ := strings.Cut(name, ":")
		one := happened{index.Event{Op: reindexOp, Entity: kind, ID: id}, found}
		changes, _ := e.Changes[name].(map[string]any)
		if found == "discovered" {
			one.begin(changes)
		} else {
			one.Changes = changes
		}
		all = append(all, one)
	}
	return all
}

// begin takes over what an entry says of a trait that was discovered: how it changed from nothing.
func (h *happened) begin(changes map[string]any) {
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

// placeIn says of the traits that a reindex names in which object they are, or were: its entry does
// not.
func placeIn(events []happened, r, before *repo.Revision) {
	var now, was map[string]string
	for i := range events {
		e := &events[i]
		switch {
		case e.Entity != "trait" || e.Parent != "":
		case e.found == "removed":
			if was == nil {
				was = parentsIn(before)
			}
			e.Parent = was[e.ID]
		default:
			if now == nil {
				now = parentsIn(r)
			}
			e.Parent = now[e.ID]
		}
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

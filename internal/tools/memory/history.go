package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A historyIn is the input of memory_history. The history ends at the version of as_of, if it is
// given.
type historyIn struct {
	tool.Vault
	// mem_…; also of a deleted memory
	MemoryID string `json:"memory_id" complete:"memory" names:"target"`
	tool.AsOf
	tool.Page
}

// A historyOut is the output of memory_history: one page of the changes, newest first.
type historyOut struct {
	tool.Aside `json:"-"`
	MemoryID   string `json:"memory_id"`
	// the newest first
	Items []revision `json:"items"`
}

// A revision is one change of a memory, or of its outgoing links. Op is create, update, delete, or
// link for a change of the links alone. Changed lists the paths of the changed members, such as
// "outcome.summary", and "links" if the links changed with them; it is empty for create and delete.
//
// Version is the commit; Tool, Principal and Agent are those of the call that made it.
type revision struct {
	Version string `json:"version"`
	// Unix milliseconds
	TS int64 `json:"ts" format:"unix-ms" title:"when"`
	// create, update, link or delete
	Op string `json:"op" title:"change"`
	// the tool that made the change
	Tool      string `json:"tool"`
	Principal string `json:"principal" title:"who"`
	Agent     string `json:"agent"`
	// members that changed: outcome.summary
	Changed []string `json:"changed,omitempty"`
}

// history returns the tool that lists the changes of a memory, newest first.
func (f tools) history() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "memory_history", Short: "history", Family: Family, Title: "Show the history of a memory",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/memories/history/{memory_id}"},
		Commands: []tool.Command{{Words: "memory history", Args: []string{"memory_id"}}},
		Columns:  []string{"version", "ts", "op", "tool", "principal", "changed"},
	}, listHistory)
}

// listHistory returns one page of the changes of a memory, newest first. A memory that never
// existed is NOT_FOUND; a deleted one still has its history. The page token is the version of the
// last revision of the page before, so the next page begins one version below it.
//
// The token needs no position inside a version, because a commit changes an item at most once. If
// the answer is full before the limit, the page is shorter, and has_more is true.
func listHistory(ctx context.Context, v view, in historyIn) (historyOut, error) {
	out := historyOut{MemoryID: in.MemoryID, Items: []revision{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	upTo := v.Index.Version()
	if after != "" {
		if upTo, err = strconv.ParseUint(after, 10, 63); err != nil {
			return out, state.OtherList(Family)
		}
		upTo--
	}
	more, last := false, uint64(0)
	for r, err := range v.revisions(ctx, in.MemoryID, upTo) {
		if err != nil {
			return out, err
		}
		if more = len(out.Items) == in.Limit || !out.Fits(r); more {
			break
		}
		last, _ = eventlog.ParseVersion(r.Version)
		out.Items = append(out.Items, r)
	}
	if len(out.Items) == 0 && after == "" {
		return out, noMemory(in.MemoryID, "memory_id")
	}
	out.Note("count", len(out.Items))
	out.Note("has_more", more)
	if more {
		out.Note("next_page_token", tool.Token(strconv.FormatUint(last, 10)))
	}
	return out, nil
}

// revisions yields the changes of a memory and of its links up to a version, newest first. It
// yields nothing for an id that was never a memory up to then.
//
// A memory and its links are two items with histories of their own. revisions merges the two by
// version, and yields one revision for a commit that changed both, such as a deletion. It reads
// only as far as the consumer does: one read for each change.
func (v view) revisions(ctx context.Context, id string, upTo uint64) iter.Seq2[revision, error] {
	return func(yield func(revision, error) bool) {
		own, err := v.last(ctx, memory.KindMemory, id, upTo)
		if err != nil || own == 0 {
			if err != nil {
				yield(revision{}, err)
			}
			return
		}
		links, err := v.last(ctx, memory.KindLinks, id, upTo)
		if err != nil {
			yield(revision{}, err)
			return
		}
		a := newChangeIter(v.Vault.ItemRevisions(ctx, memory.KindMemory, id, own))
		b := newChangeIter(v.Vault.ItemRevisions(ctx, memory.KindLinks, id, links))
		defer a.stop()
		defer b.stop()
		for a.valid() || b.valid() {
			if err := cmp.Or(a.err, b.err); err != nil {
				yield(revision{}, err)
				return
			}
			if !yield(nextRevision(a, b), nil) {
				return
			}
		}
	}
}

// last returns the sequence number of the last commit up to a version that changed an item, or 0 if
// there is none. The index answers for an item that exists and did not change since; otherwise the
// log is searched, which costs more.
func (v view) last(ctx context.Context, kind, id string, upTo uint64) (uint64, error) {
	if _, version, ok := v.memories.Place(kind, id); ok && version <= upTo {
		return version, nil
	}
	return v.Vault.LastOfItem(ctx, kind, id, upTo)
}

// A changeIter iterates over the changes of an item, newest first. It reads one change ahead,
// because a change is described by comparison with the older one. If that read fails, err is set,
// and the current change must not be used.
type changeIter struct {
	next       func() (repo.ItemRevision, error, bool)
	stop       func()
	now        repo.ItemRevision // the current change, if hasCurrent
	older      repo.ItemRevision // the one before now
	err        error
	hasCurrent bool // now is valid
	hasOlder   bool // older is valid: there is an older change
}

// newChangeIter returns a chain at the first change of all. The caller must call stop, which
// releases the iterator. A chain of no changes is not on.
func newChangeIter(all iter.Seq2[repo.ItemRevision, error]) *changeIter {
	c := &changeIter{}
	c.next, c.stop = iter.Pull2(all)
	c.older, c.err, c.hasOlder = c.next()
	c.advance()
	return c
}

// advance advances to the next older change, and reads the one after it. Without an older change,
// or after an error, the chain has no current change.
func (c *changeIter) advance() {
	c.now, c.hasCurrent = c.older, c.hasOlder && c.err == nil
	if c.hasCurrent {
		c.older, c.err, c.hasOlder = c.next()
	}
}

// valid reports whether the chain has a current change or failed. The caller checks err before it
// uses the change.
func (c *changeIter) valid() bool { return c.hasCurrent || c.err != nil }

// nextRevision returns the newest change of two chains and advances past it. If both chains have a
// change in that commit, it describes both. a is the chain of the memory, b that of its links; one
// of them must have a current change.
func nextRevision(a, b *changeIter) revision {
	var of *eventlog.Commit
	if a.hasCurrent {
		of = a.now.Commit
	}
	if b.hasCurrent && (of == nil || b.now.Seq > of.Seq) {
		of = b.now.Commit
	}
	r := revision{
		Version: eventlog.Version(of.Seq), TS: of.Time.UnixMilli(), Op: "link", Tool: of.Tool,
		Principal: of.Who.Principal, Agent: of.Who.Agent,
	}
	if a.hasCurrent && a.now.Seq == of.Seq {
		r.Op = opOf(a)
		r.Changed = append(r.Changed, changedPaths(a)...)
		a.advance()
	}
	if b.hasCurrent && b.now.Seq == of.Seq {
		if r.Op == "link" || r.Op == "update" {
			r.Changed = append(r.Changed, "links")
		}
		b.advance()
	}
	return r
}

// opOf returns the operation of the current change: create, update or delete. A change after a
// deletion is a create, and so is the oldest change that can still be read.
func opOf(c *changeIter) string {
	switch {
	case c.now.Item.Gone:
		return "delete"
	case !c.hasOlder || c.older.Item.Gone:
		return "create"
	}
	return "update"
}

// changedPaths returns the sorted paths of the members that an update changed; nil for other
// operations. The time of the update is not listed, because every update changes it. A member that
// was added or removed is listed too: its text differs from the empty one.
func changedPaths(c *changeIter) []string {
	if opOf(c) != "update" {
		return nil
	}
	was, now := flatten(c.older.Item.Value), flatten(c.now.Item.Value)
	var names []string
	for name := range maps.Keys(merge(was, now)) {
		if name != "updated" && was[name] != now[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// merge returns the union of two maps. For a key in both, it has the value of b. Neither map is
// changed.
func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// flatten returns the members of a JSON object, and those of the objects in it, as JSON texts by
// path: "intent.goal". It returns an empty map if the value is not an object. Deeper objects and
// lists stay one text, so a change in them is reported for the member as a whole.
func flatten(value []byte) map[string]string {
	all := map[string]string{}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return all
	}
	for name, raw := range members {
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) != nil {
			all[name] = string(raw)
			continue
		}
		for member, raw := range inner {
			all[name+"."+member] = string(raw)
		}
	}
	return all
}

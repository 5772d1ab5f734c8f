package index

import (
	"iter"
	"runtime"
	"sync"
)

// Build returns the index after these commits. The result is the same as that of applying With to
// Empty, one commit after the other, but it takes less time. The texts of the commits must not
// change until Build returns.
func Build(commits iter.Seq[Commit]) *Index {
	b := NewBuilder(Empty())
	for c := range commits {
		b.Add(c)
	}
	return b.Index()
}

// parseAhead is how many commits a Builder parses ahead of the one that it applies. It bounds the
// number of texts that are in memory at once.
const parseAhead = 16

// A Builder applies many commits, one after the other. It updates the lookups once, at the end,
// where With does so for each commit, and it parses the next notes while it applies earlier ones.
// It must be used by one goroutine at a time. A Builder that is no longer needed can be dropped
// without a call.
type Builder struct {
	draft *draft
	queue []*parsedCommit // being parsed, not yet applied
}

// NewBuilder returns a Builder that starts from the index x. It does not change x.
func NewBuilder(x *Index) *Builder { return &Builder{draft: newDraft(x)} }

// Add queues a commit and may apply earlier ones. The texts of c must not change until Index is
// called or sixteen more commits were added.
func (b *Builder) Add(c Commit) {
	if len(b.queue) == parseAhead {
		b.applyFirst()
	}
	b.queue = append(b.queue, startParsing(c))
}

// Index returns the index after all commits. The Builder must not be used afterwards.
func (b *Builder) Index() *Index {
	for len(b.queue) > 0 {
		b.applyFirst()
	}
	b.draft.applyLookups()
	return b.draft.Index
}

// applyFirst applies the first commit of the queue, after it waited until its files are parsed.
func (b *Builder) applyFirst() {
	first := b.queue[0]
	b.queue[0], b.queue = nil, b.queue[1:]
	// Later commits are parsed meanwhile; they are applied in order.
	first.Wait()
	b.draft.apply(first)
}

// A parsedCommit is a commit whose files are parsed by other goroutines. Wait waits for them; after
// it, the fields can be read without a lock.
type parsedCommit struct {
	Commit
	sync.WaitGroup
	files []*File // by position of the change; nil for a deleted file
}

// startParsing starts to parse the files of a commit, on at most as many goroutines as there are
// processors.
func startParsing(c Commit) *parsedCommit {
	r := &parsedCommit{Commit: c, files: make([]*File, len(c.Changes))}
	parts := min(runtime.GOMAXPROCS(0), len(c.Changes))
	for part := range parts {
		r.Go(func() { r.parsePart(part, parts) })
	}
	return r
}

// parseCommit returns a commit with its files parsed. A commit of one change is parsed without
// another goroutine.
func parseCommit(c Commit) *parsedCommit {
	// A single file is parsed on this goroutine: another one would cost more than it saves.
	if len(c.Changes) > 1 {
		r := startParsing(c)
		r.Wait()
		return r
	}
	r := &parsedCommit{Commit: c, files: make([]*File, len(c.Changes))}
	r.parsePart(0, 1)
	return r
}

// parsePart parses the files of one part: every parts-th, starting with part.
func (r *parsedCommit) parsePart(part, parts int) {
	for i := part; i < len(r.Changes); i += parts {
		if ch := r.Changes[i]; !ch.Deleted {
			r.files[i] = newFile(r.Seq, ch)
		}
	}
}

// A Reindex is the entry of the audit log for a file with an outside edit: all changes found in it,
// in one line (spec/raven-agent-improvements.md, "Handling External Edits"; reference/raven.md
// §6.9). Things are named by kind and id: `trait:due-1f2e3d4c`, `object:daily/2025-02-01#standup`,
// `file:schema.yaml`.
type Reindex struct {
	Op         string                    `json:"op"` // always reindex
	File       string                    `json:"file"`
	Cause      string                    `json:"cause,omitempty"` // such as CauseGit; empty if unknown
	Discovered []string                  `json:"discovered,omitempty"`
	Modified   []string                  `json:"modified,omitempty"`
	Removed    []string                  `json:"removed,omitempty"`
	Changes    map[string]map[string]any `json:"changes,omitempty"` // of Modified and of discovered traits
}

// CauseGit is the cause of changes by git: a checkout of another branch, a reset, a pull.
const CauseGit = "git checkout"

// Reindexed returns the entry that replaces the events of a file. For a discovered trait it has the
// same data as an entry of its own, because otherwise the id could not be found again from the
// audit log alone. The events must be those of Events for the file; their order is that of the
// lists.
func Reindexed(path string, events []Event) Reindex {
	r := Reindex{Op: "reindex", File: path, Changes: map[string]map[string]any{}}
	for _, e := range events {
		name := e.Entity + ":" + e.ID
		switch e.Op {
		case "create":
			r.Discovered = append(r.Discovered, name)
			if e.Entity == "trait" {
				r.Changes[name] = e.beginning()
			}
		case "delete":
			r.Removed = append(r.Removed, name)
		default:
			r.Modified = append(r.Modified, name)
			r.Changes[name] = e.Changes
		}
	}
	return r
}

// beginning returns the data of a new trait as changes from null.
func (e *Event) beginning() map[string]any {
	return map[string]any{
		"trait": OldNew{nil, e.Trait}, "parent": OldNew{nil, e.Parent}, "value": OldNew{nil, e.Value},
		"content": OldNew{nil, e.Content}, "line": OldNew{nil, e.Line},
	}
}

// Counts are the numbers of things in a Reindex.
type Counts struct{ Discovered, Modified, Removed int }

// Counts counts the things in the entry.
func (r Reindex) Counts() Counts {
	return Counts{len(r.Discovered), len(r.Modified), len(r.Removed)}
}

// Add adds other counts to c.
func (c *Counts) Add(more Counts) {
	c.Discovered += more.Discovered
	c.Modified += more.Modified
	c.Removed += more.Removed
}

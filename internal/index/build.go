package index

import (
	"iter"
	"runtime"
	"sync"
)

// Build is the index after these commits: the same as With makes of Empty, one after the other, but
// sooner. Texts must stay as they are until it returns.
func Build(commits iter.Seq[Commit]) *Index {
	b := NewBuilder(Empty())
	for c := range commits {
		b.Add(c)
	}
	return b.Index()
}

// ahead is how many commits a Builder reads ahead of the one that it takes in.
const ahead = 16

// A Builder takes many commits in, one after the other: what With does for each of them it does once,
// at the end, and it reads the next notes while it takes in the last ones. It is for one goroutine, and
// may be dropped at any time.
type Builder struct {
	draft *draft
	queue []*reading // that are not taken in yet
}

// NewBuilder makes a Builder that goes on from an index, which stays as it is.
func NewBuilder(x *Index) *Builder { return &Builder{draft: newDraft(x)} }

// Add takes a commit in. Its texts must stay as they are until Index is called, or sixteen more commits
// came.
func (b *Builder) Add(c Commit) {
	if len(b.queue) == ahead {
		b.takeFirst()
	}
	b.queue = append(b.queue, begin(c))
}

// Index is the index after all commits. The Builder is used up by it.
func (b *Builder) Index() *Index {
	for len(b.queue) > 0 {
		b.takeFirst()
	}
	b.draft.applyLookups()
	return b.draft.Index
}

// takeFirst takes the first commit in that waits.
func (b *Builder) takeFirst() {
	first := b.queue[0]
	b.queue[0], b.queue = nil, b.queue[1:]
	first.Wait()
	b.draft.apply(first)
}

// A reading is a commit whose files are read on other goroutines.
type reading struct {
	Commit
	sync.WaitGroup
	files []*File // by position of the change; nil where a file is deleted
}

// begin begins to read a commit: a large one in as many parts as there are processors.
func begin(c Commit) *reading {
	r := &reading{Commit: c, files: make([]*File, len(c.Changes))}
	parts := min(runtime.GOMAXPROCS(0), len(c.Changes))
	for part := range parts {
		r.Go(func() { r.read(part, parts) })
	}
	return r
}

// read is a commit that is read.
func read(c Commit) *reading {
	if len(c.Changes) > 1 {
		r := begin(c)
		r.Wait()
		return r
	}
	r := &reading{Commit: c, files: make([]*File, len(c.Changes))}
	r.read(0, 1)
	return r
}

// read reads one part of the files.
func (r *reading) read(part, parts int) {
	for i := part; i < len(r.Changes); i += parts {
		if ch := r.Changes[i]; !ch.Deleted {
			r.files[i] = newFile(r.Seq, ch)
		}
	}
}

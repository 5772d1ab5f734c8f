package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"rookery/bench/corpus"
	"rookery/internal/index"
)

// indexed is what the index of the vault costs in this process, without a server.
type indexed struct {
	Build time.Duration
	Heap  int64           // bytes that it holds
	With  []time.Duration // a commit of one note, shortest first
}

// P is the time that this many percent of the commits did not exceed.
func (i indexed) P(percent int) time.Duration { return percentile(i.With, percent) }

// withCommits is how many commits of one note are measured.
const withCommits = 2000

// library measures package index: the build from the vault's texts, and the next index for a commit
// of one note.
func (s *suite) library(context.Context) error {
	progress("%d notes: index in process", s.result.Notes)
	texts := changes(s.files)
	before := heap()
	begun := time.Now()
	idx := index.Build(slices.Values(commits(texts)))
	s.result.Index.Build = time.Since(begun)
	s.result.Index.Heap = heap() - before
	notes := texts[1:] // the first is the schema
	for i := range withCommits {
		next := index.Commit{
			Seq: idx.Version() + 1, Time: begun,
			Changes: []index.Change{notes[i*stride%len(notes)]},
		}
		begun := time.Now()
		idx = idx.With(next)
		s.result.Index.With = append(s.result.Index.With, time.Since(begun))
	}
	slices.Sort(s.result.Index.With)
	return nil
}

// changes are the files as a commit brings them.
func changes(files []corpus.File) []index.Change {
	all := make([]index.Change, len(files))
	for i, f := range files {
		all[i] = index.Change{Path: f.Path, Text: []byte(f.Text)}
	}
	return all
}

// commits parts the changes as an import does.
func commits(all []index.Change) []index.Commit {
	var list []index.Commit
	for part := range slices.Chunk(all, maxNotes) {
		list = append(list, index.Commit{Seq: uint64(len(list) + 1), Time: time.Now(), Changes: part})
	}
	return list
}

// heap is how many bytes are in use, garbage not counted.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

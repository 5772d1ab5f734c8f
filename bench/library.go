package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

// An indexed is the cost of the indexes of the vault in this process, without a server.
type indexed struct {
	Builds  []built // of the index, of the search index, and of both
	Changes []changed
	Totals  index.Totals
	Tags    int // number of different tags
	Hot     int // number of references to the object with the most references
	Units   int // number of passages in the search index
}

// A built is the cost of building something from the texts.
type built struct {
	What string
	Took time.Duration
	Peak int64 // maximum number of bytes on the heap, including garbage, above the number before
	Held int64 // bytes on the heap afterwards
}

// A changed is the cost of the next index after a change of one note.
type changed struct {
	What   string
	Bytes  int // of the note, on average
	Index  []time.Duration
	Search []time.Duration
	// Alone is like Index, in a vault that has no other note.
	Alone []time.Duration
}

// P returns a percentile of the times of the index.
func (c changed) P(percent int) time.Duration { return percentile(c.Index, percent) }

// SearchP returns a percentile of the times of the search index.
func (c changed) SearchP(percent int) time.Duration { return percentile(c.Search, percent) }

// AloneP returns a percentile of the times of the index of a vault without other notes.
func (c changed) AloneP(percent int) time.Duration { return percentile(c.Alone, percent) }

// The names of the rows, as on the page and in the goals.
const (
	bothIndexes = "both"
	usualNote   = "a note"
	hotNote     = "the note that most refer to"
	agendaNote  = "the note with 10,000 traits"

	handbookNote = "the note with 10,000 headings"
	popularNote  = "the note that half of the notes refer to"
)

// An indexes contains both indexes of a vault at one version.
type indexes struct {
	index  *index.Index
	search *search.Index
}

// library measures the packages index and search: the build from the texts of the vault, and the
// next index after a change of one note.
func (s *suite) library(context.Context) error {
	progress("%d notes: the indexes in process", s.result.Notes)
	x := s.builds()
	s.result.Index.count(x)
	s.drawCalls(x.index)
	for _, c := range []struct {
		what  string
		times int
		paths []string
	}{
		{usualNote, s.cfg.ops, s.paths()},
		{hotNote, (s.cfg.ops + 5) / 6, []string{corpus.Hot + ".md"}},
		{popularNote, (s.cfg.ops + 5) / 6, []string{s.popular + ".md"}},
		{agendaNote, (s.cfg.ops + 149) / 150, []string{corpus.AgendaPath}},
		{handbookNote, (s.cfg.ops + 149) / 150, []string{corpus.HandbookPath}},
	} {
		s.result.Index.Changes = append(s.result.Index.Changes, s.change(x, c.what, c.times, c.paths))
	}
	return nil
}

// count records the size of the vault.
func (i *indexed) count(x indexes) {
	i.Totals, i.Units = x.index.Totals(), x.search.Units()
	i.Hot = x.index.Resolver().CountBacklinks(corpus.Hot)
	for range x.index.Tags() {
		i.Tags++
	}
}

// builds builds both indexes from the texts.
func (s *suite) builds() indexes {
	var x indexes
	before := heap()
	first := measureBuild("the index", before, func() { x.index = index.Build(commits(s.files)) })
	second := measureBuild("the search index", before, func() { x.search = s.searchIndex(x.index) })
	runtime.KeepAlive(x)
	both := built{
		What: bothIndexes, Took: first.Took + second.Took,
		Peak: max(first.Peak, second.Peak), Held: second.Held,
	}
	second.Held -= first.Held
	s.result.Index.Builds = []built{first, second, both}
	return x
}

// measureBuild runs build, and returns its duration and its use of the heap above before.
func measureBuild(what string, before int64, build func()) built {
	w := watchHeap()
	begun := time.Now()
	build()
	took := time.Since(begun)
	peak := w.end() - before
	return built{What: what, Took: took, Peak: peak, Held: heap() - before}
}

// commits yields the files in commits of the size of an import. Like there, the texts of only one
// commit are in memory.
func commits(files []corpus.File) iter.Seq[index.Commit] {
	return func(yield func(index.Commit) bool) {
		seq := uint64(0)
		for part := range slices.Chunk(files, maxNotes) {
			seq++
			c := index.Commit{Seq: seq, Time: time.Now()}
			for _, f := range part {
				c.Changes = append(c.Changes, index.Change{Path: f.Path, Text: []byte(f.Text)})
			}
			if !yield(c) {
				return
			}
		}
	}
}

// searchIndex builds the search index of the files as package repo does: each text is in memory
// only while it is read.
func (s *suite) searchIndex(x *index.Index) *search.Index {
	return search.Empty(x.Config().Language).WithAll(func(yield func(search.Change) bool) {
		for _, f := range s.files {
			n, ok := x.Note(f.Path)
			if !ok {
				continue
			}
			note := repo.SearchNote(n, []byte(f.Text))
			if !yield(search.Change{Doc: f.Path, Note: note}) {
				return
			}
		}
	})
}

// paths returns the notes of usual size, in an order without locality.
func (s *suite) paths() []string {
	var list []string
	notes := s.files[1:] // the first is the schema
	for i := range notes {
		if path := notes[i*stride%len(notes)].Path; path != corpus.AgendaPath &&
			path != corpus.HandbookPath {
			list = append(list, path)
		}
	}
	return list
}

// change measures the given number of changes, each of one note.
func (s *suite) change(x indexes, what string, times int, paths []string) changed {
	c := changed{What: what}
	texts := map[string]string{}
	for _, f := range s.files {
		texts[f.Path] = f.Text
	}
	for i := range times {
		path := paths[i%len(paths)]
		text := fmt.Appendf(nil, "%s\nEdit %d.\n", texts[path], i)
		c.Bytes += len(text)
		c.next(&x, path, text)
	}
	c.Bytes /= times
	c.alone(paths, texts, times)
	for _, waits := range [][]time.Duration{c.Index, c.Search, c.Alone} {
		slices.Sort(waits)
	}
	return c
}

// next measures the next version of both indexes.
func (c *changed) next(x *indexes, path string, text []byte) {
	var took time.Duration
	x.index, took = nextIndex(x.index, path, text)
	c.Index = append(c.Index, took)
	n, _ := x.index.Note(path)
	begun := time.Now()
	x.search = x.search.With([]search.Change{{Doc: path, Note: repo.SearchNote(n, text)}})
	c.Search = append(c.Search, time.Since(begun))
}

// alone measures the next index of vaults that contain only the schema and one of the notes.
func (c *changed) alone(paths []string, texts map[string]string, times int) {
	paths = paths[:min(len(paths), times)]
	each := times / len(paths)
	for _, path := range paths {
		x := index.Build(commits([]corpus.File{
			{Path: corpus.SchemaPath, Text: texts[corpus.SchemaPath]}, {Path: path, Text: texts[path]},
		}))
		for i := range each {
			var took time.Duration
			x, took = nextIndex(x, path, fmt.Appendf(nil, "%s\nEdit %d.\n", texts[path], i))
			c.Alone = append(c.Alone, took)
		}
	}
}

// nextIndex returns the index after one more commit, and the time to compute it.
func nextIndex(x *index.Index, path string, text []byte) (*index.Index, time.Duration) {
	c := index.Commit{
		Seq: x.Version() + 1, Time: x.Time(), Changes: []index.Change{{Path: path, Text: text}},
	}
	begun := time.Now()
	next := x.With(c)
	return next, time.Since(begun)
}

// isNote reports whether a path is that of a note.
func isNote(path string) bool { return strings.HasSuffix(path, ".md") }

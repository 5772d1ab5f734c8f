// Package search finds notes by their words, as a value.
//
// An Index never changes; With is the next one. Whatever somebody holds is some true state of the
// vault, costs no lock, and may be used from many goroutines. How an index came about makes no
// difference: the same notes give the same hits, in the same order, with the same scores.
//
// A note is searched by its title, its path, what else it is called, its headings and all of its
// text, which is cut into units: sections, and parts of long ones. Every word of every note finds
// it, whatever its language. Scoring is BM25F. An Index keeps no texts and no positions: phrases
// and snippets are read from the text again, which the caller of Search hands over.
package search

import (
	"cmp"
	"iter"
	"slices"
)

// An Index is what can be searched: the notes of a vault at one version.
type Index struct {
	profile  Profile
	analyzer *analyzer
	layers   []liveSegment // the largest first, more or less
	totals   totals
}

// A Change is what became of one note.
type Change struct {
	Doc     string // the path of the note
	Deleted bool
	Note    *Note // what is searched from now on; nil as Deleted
}

// A Note is what is searched of a note. Nothing of it is kept.
type Note struct {
	Title    string
	Also     []string  // by which words it goes too: aliases, tags, a description
	Text     []byte    // all of it, with the frontmatter
	Body     int       // where the text after the frontmatter begins
	Sections []Section // in text order
	Unsure   bool      // for some tools the body begins further behind; see Index.Proven

	Memory *MemoryFields // of a memory, whose Title, Body and Sections are not looked at
}

// A Section is a heading of a note, which opens a unit.
type Section struct {
	Heading string
	Start   int // where the heading's line begins in the text
}

// totals are sums over the notes, from which averages come.
type totals struct {
	notes, units int
	head, unit   [2]uint64 // words, of the fields whose lengths slots have
}

// Empty is the index of no notes, for a vault that is written in a language: an English name or a
// code of ISO 639, as in BCP 47 ("german", "de", "de-AT"). Of a language that Stems does not know,
// words are found as they are written.
func Empty(language string) *Index { return New(Notes(), language) }

// New is Empty for things of another profile.
func New(p Profile, language string) *Index {
	return &Index{profile: p, analyzer: newAnalyzer(language)}
}

// Notes is the number of notes.
func (x *Index) Notes() int { return x.totals.notes }

// Units is the number of units that the notes are cut into.
func (x *Index) Units() int { return x.totals.units }

// With is the index after some changes. The old one stays as it is. Of several changes of a note
// the last one counts. It takes time in proportion to the notes that change, but for a share of
// merging, which is that times the logarithm of the number of notes.
func (x *Index) With(changes []Change) *Index {
	return x.WithAll(slices.Values(last(changes)))
}

// WithAll is With for many changes, none of them of the same note as another. They come one by one:
// of each only what is searched of it is kept, so that never more than a few texts are in memory.
// Several processors work on them.
func (x *Index) WithAll(changes iter.Seq[Change]) *Index {
	y := &Index{x.profile, x.analyzer, slices.Clone(x.layers), x.totals}
	c := workers{builds: x.builder}
	defer c.dismiss()
	for change := range changes {
		y.remove(change.Doc)
		if !change.Deleted && change.Note != nil {
			c.add(change)
		}
	}
	for _, s := range c.finish() {
		y.push(s)
	}
	y.settle()
	return y
}

// last are the changes that count, by path.
func last(changes []Change) []Change {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b Change) int { return cmp.Compare(a.Doc, b.Doc) })
	kept := sorted[:0]
	for i, c := range sorted {
		if i+1 == len(sorted) || sorted[i+1].Doc != c.Doc {
			kept = append(kept, c)
		}
	}
	return kept
}

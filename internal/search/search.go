// Package search is a full-text index of notes, as an immutable value.
//
// An Index never changes; With returns a new one. So an Index is always a consistent state of the
// vault, needs no lock, and can be used from many goroutines. The history of an Index does not
// matter: the same notes give the same hits, in the same order, with the same scores.
//
// A search covers the title, the path, the keywords, the headings and the text of a note. The
// text is divided into passages: sections, and parts of long sections. Every word of a note finds
// it, in any language. Scores are BM25F. An Index contains no texts and no positions: phrases are
// verified in the text, and snippets taken from it, which the caller of Search provides.
//
// # Structure
//
// An Index is a list of layers, each of which is an immutable segment with a bit set of its
// deleted documents. With builds segments of the changed notes, marks their old versions as
// deleted, and merges layers, so that their number grows with the logarithm of the number of
// notes. A segment has a sorted list of terms with their postings. A posting counts the
// occurrences of a term in a slot: the head of a note, with its title, path and keywords, or a
// passage.
//
// # Scores
//
// A word of a query becomes one or two concepts, which have several forms: its stem, the word as
// written, and both without accents. The weights of all occurrences of a concept in the head and
// in a passage of a note are added up to c, and the concept adds idf*c/(c+k1) to the score of the
// passage. The score of a note is that of its best passage, with a share of the second best.
//
// In an Index of memories, each document has one passage. The best documents are scored again, in
// full: with the words of their neighbours in the same thread, a share of the best score in the
// thread, and a factor for the person that the query names.
//
// # Phrases
//
// Words of a phrase restrict the candidates to slots that have all of them, and signatures (see
// phraseFilter) to passages in which they can be adjacent. Only then the text is read: it is first
// searched for the phrase as written, and normalized only if that is not found.
package search

import (
	"cmp"
	"iter"
	"slices"
)

// An Index is a searchable set of notes or memories: those of a vault at one version.
type Index struct {
	profile  Profile
	analyzer *analyzer
	layers   []liveSegment // approximately by descending size
	totals   totals
}

// A Change sets or deletes one note.
type Change struct {
	Doc     string // path of the note
	Deleted bool
	Note    *Note // its new content; nil if Deleted
}

// A Note contains the searched content of a note. The index does not retain it.
type Note struct {
	Title    string
	Keywords []string  // keywords: aliases, tags, a description
	Text     []byte    // all of it, with the frontmatter
	Body     int       // offset of the text after the frontmatter
	Sections []Section // in text order
	Unsure   bool      // for some tools the body begins later; see Index.Proven

	Memory *MemoryFields // of a memory; its Title, Body and Sections are ignored
}

// A Section is a heading of a note, which begins a passage.
type Section struct {
	Heading string
	Start   int // offset of the heading's line in the text
}

// totals are sums over the documents that are not deleted. Average lengths are computed from
// them.
type totals struct {
	notes, units int
	head, unit   [2]uint64 // words, by field with a length
}

// Empty returns an index without notes, for a vault in a language: an English name, or an ISO 639
// code as in BCP 47 ("german", "de", "de-AT"). If Stems returns false for the language, words
// match only as written.
func Empty(language string) *Index { return New(Notes(), language) }

// New returns an index without documents, like Empty, for a profile.
func New(p Profile, language string) *Index {
	return &Index{profile: p, analyzer: newAnalyzer(language)}
}

// Notes returns the number of notes.
func (x *Index) Notes() int { return x.totals.notes }

// Units returns the number of passages of all notes.
func (x *Index) Units() int { return x.totals.units }

// With returns the index after some changes; x stays unchanged. If several changes are of the
// same note, the last one counts. It takes time in proportion to the changed notes, plus an
// amortized cost of merging, which is that times the logarithm of the number of notes.
func (x *Index) With(changes []Change) *Index {
	return x.WithAll(slices.Values(last(changes)))
}

// WithAll returns the same as With, for many changes, of which no two must be of the same note.
// It takes the changes one by one and keeps only their terms, so that only a few texts are in
// memory at a time. It uses several processors.
func (x *Index) WithAll(changes iter.Seq[Change]) *Index {
	// The clone of the layers makes y independent of x; the segments are shared.
	y := &Index{x.profile, x.analyzer, slices.Clone(x.layers), x.totals}
	c := workers{newBuilder: x.builder}
	defer c.stop()
	for change := range changes {
		y.remove(change.Doc)
		// A change always replaces the whole note.
		if !change.Deleted && change.Note != nil {
			c.add(change)
		}
	}
	for _, s := range c.finish() {
		y.push(s)
	}
	y.mergeLayers()
	return y
}

// last returns the last change of each path, sorted by path.
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

package index

import (
	"runtime"

	"github.com/rookeryhq/rookery/internal/parallel"
)

// manyChanges is the number of changes of a commit from which prepare is worth other goroutines.
const manyChanges = 32

// A preparedNote is the part of applying a changed note that depends only on the index before the
// commit: the settings are applied to the note, and its traits are matched with the earlier ones.
type preparedNote struct {
	was    *Note        // the note before; nil for a new one
	traits []*prevTrait // by position of the annotation: its earlier state; see matchTraits
}

// A preparation has the preparedNote of each change of a commit, nil where there is no note. It may
// be empty.
type preparation []*preparedNote

// of returns the preparedNote of a change; nil if there is none.
func (p preparation) of(change int) *preparedNote {
	if change >= len(p) {
		return nil
	}
	return p[change]
}

// prepare prepares the notes of a large commit on as many goroutines as there are processors, and
// those of other commits not at all. It must run when the settings of the commit are in effect, and
// before its other changes are applied.
//
// Each goroutine has caches of its own, so equal values of notes can be in memory once for each of
// them. A Builder therefore does not prepare: it keeps its caches for all of its commits.
func (d *draft) prepare(r *parsedCommit) preparation {
	if !d.prepares || len(r.Changes) < manyChanges {
		return nil
	}
	ready := make(preparation, len(r.Changes))
	inStrides(len(r.Changes), d.fork, func(own *draft, i int) {
		ch, f := r.Changes[i], r.files[i]
		if f.parsed() == nil {
			return
		}
		old, _ := d.files.Get(ch.Path)
		ready[i] = own.prepareNote(f, old, d.previousNote(ch, old))
		for _, t := range ready[i].traits {
			if t != nil {
				t.holder, t.isHeld = d.traitIDs.get(t.id), true
			}
		}
	})
	return ready
}

// fork returns a draft of the same index with caches of its own, for a goroutine that changes
// nothing in the index.
func (d *draft) fork() *draft {
	return &draft{
		Index: d.Index, moved: d.moved, entryNames: map[term]string{},
		traitValues: map[traitValueKey]*TraitValue{}, mentions: map[Mention]*Mention{},
		folders: map[string]bool{}, hidden: map[string]bool{},
	}
}

// inStrides calls do with each number below n, on as many goroutines as there are processors. Each
// goroutine has a value of its own, which newOwn returns. It waits for all calls, and returns the
// values.
func inStrides[T any](n int, newOwn func() T, do func(own T, i int)) []T {
	all := make([]T, min(runtime.GOMAXPROCS(0), n))
	parallel.Range(len(all), func(part int) {
		all[part] = newOwn()
		for i := part; i < n; i += len(all) {
			do(all[part], i)
		}
	})
	return all
}

// prepareNote applies the settings to the note in a file, and matches its traits with those of was,
// the note before; nil for a new note. old is the file at the same path before.
func (d *draft) prepareNote(f, old *File, was *Note) *preparedNote {
	if f.Note != nil && d.hides(f.Path) {
		f.Hidden, f.Note = f.Note, nil
	}
	n := f.parsed()
	d.cacheValues(noteOf(old))
	d.applySchema(n)
	ready := &preparedNote{was: was}
	if was != nil {
		ready.traits = matchTraits(n, prevTraitsOf(was))
	}
	return ready
}

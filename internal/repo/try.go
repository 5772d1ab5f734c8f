package repo

import (
	"bytes"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// Try runs a function that stages a part of the commit. If it returns an error, Try discards the
// changes that the function staged, and returns the error. Calls of Try and Part may be nested.
func (tx *Tx) Try(part func() error) error {
	draft, rest := tx.mark(), *tx
	rest.names, rest.stock.of = maps.Clone(tx.names), maps.Clone(tx.stock.of)
	err := tx.Part(part)
	if err != nil {
		*tx.Draft = draft
		*tx = rest
	}
	return err
}

// Part runs a function that stages a part of the commit, for Start and Touched. Unlike Try it
// cannot discard: if the function returns an error, the call must fail.
func (tx *Tx) Part(part func() error) error {
	outer, from := tx.part, tx.from
	tx.part, tx.from = tx.Index(), tx.staging
	err := part()
	tx.part, tx.from = outer, from
	return err
}

// Start returns the index at the beginning of the part that Try or Part runs; outside of them, the
// index at the beginning of the call.
func (tx *Tx) Start() *index.Index {
	if tx.part != nil {
		return tx.part
	}
	return tx.Before()
}

// Touched reports whether the part that Try or Part runs has staged something; outside of them,
// whether the call has.
func (tx *Tx) Touched() bool { return tx.staging > tx.from }

// mark returns a copy of the draft that is independent of later changes to the draft.
func (d *Draft[S]) mark() Draft[S] {
	m := *d
	m.commit.Notes = slices.Clone(d.commit.Notes)
	m.commit.Items = slices.Clone(d.commit.Items)
	m.commit.Records = slices.Clone(d.commit.Records)
	m.places, m.fresh = maps.Clone(d.places), slices.Clone(d.fresh)
	return m
}

// settle normalizes the commit before it is written, so that it is the one that a single step would
// have made. It drops notes that are unchanged in the end, and recomputes the index from the commit
// alone. The ids of traits stay those that earlier steps saw.
func (tx *Tx) settle() {
	// A note that was staged twice may be unchanged in the end.
	if tx.again {
		tx.State()
		tx.adoptIDs()
		tx.dropSame()
		tx.whole()
		return
	}
	if tx.State(); tx.folds > 1 {
		tx.adoptIDs()
		tx.whole()
	}
}

// manyFresh is the number of staged notes from which foldMany applies the draft as a whole.
const manyFresh = 32

// foldMany applies the draft as a whole if most of the staged notes are not in the index yet and
// earlier steps have applied the others. That costs at most twice as much as another step, and
// settle then need not apply everything again.
func (tx *Tx) foldMany() {
	fresh := len(tx.fresh)
	if tx.folds == 0 || tx.again || tx.stale || fresh < manyFresh || 2*fresh < len(tx.commit.Notes) {
		return
	}
	tx.adoptIDs()
	tx.whole()
}

// adoptIDs sets the ids of traits and nodes in the staged notes to those in the index. Notes that
// the index does not reflect yet are left as they are.
func (tx *Tx) adoptIDs() {
	after := tx.after
	fresh := make(map[int]bool, len(tx.fresh))
	for _, i := range tx.fresh {
		fresh[i] = true
	}
	for i := range tx.commit.Notes {
		if fresh[i] {
			continue
		}
		n := &tx.commit.Notes[i]
		if note, ok := after.Kept(n.Path); ok && !n.Erased {
			n.Traits = note.TraitIDs()
		}
		if f, ok := after.File(n.Path); ok && !n.Erased {
			n.Nodes = f.NodeIDs()
		}
	}
}

// dropSame drops the staged notes that are the same as before the call.
func (tx *Tx) dropSame() {
	tx.commit.Notes = slices.DeleteFunc(tx.commit.Notes, func(n Note) bool {
		f, existed := tx.Before().File(n.Path)
		if n.Deleted || !existed {
			return n.Deleted && !existed
		}
		return n.Theirs == nil && n.From == "" && bytes.Equal(n.Was, f.Digest[:]) &&
			index.DigestOf(n.Text) == f.Digest
	})
	tx.places = make(map[string]int, len(tx.commit.Notes))
	for i, n := range tx.commit.Notes {
		tx.places[n.Path] = i
	}
}

package repo

import (
	"bytes"
	"maps"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// Try runs a function that stages a part of the commit. If it returns an error, Try discards the
// changes that the function staged, and returns the error. Calls of Try and Part may be nested. It
// copies the draft first, which costs time in proportion to the notes that are staged already, and
// computes the index.
func (tx *Tx) Try(part func() error) error {
	draft, rest := tx.draft.Mark(), *tx
	rest.names, rest.stock.of = maps.Clone(tx.names), maps.Clone(tx.stock.of)
	err := tx.Part(part)
	if err != nil {
		*tx.draft = draft
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

// settle normalizes the commit before it is written, so that it is the one that a single step would
// have made. It drops notes that are unchanged in the end. The ids of traits stay those that
// earlier steps saw.
func (tx *Tx) settle() { tx.draft.Settle(tx.isSame) }

// adoptIDs sets the ids of traits and nodes in a staged note to those in the index; see
// eventlog.Options.Adopt.
func adoptIDs(after *index.Index, n *eventlog.Note) {
	if note, ok := after.Kept(n.Path); ok && !n.Erased {
		n.Traits = note.TraitIDs()
	}
	if f, ok := after.File(n.Path); ok && !n.Erased {
		n.Nodes = index.PackUIDs(f.NodeIDs())
	}
}

// isSame reports whether a staged note is the same as before the call.
func (tx *Tx) isSame(n eventlog.Note) bool {
	f, existed := tx.Before().File(n.Path)
	if n.Deleted || !existed {
		return n.Deleted && !existed
	}
	return n.Theirs == nil && n.From == "" && bytes.Equal(n.Was, f.Digest[:]) &&
		index.DigestOf(n.Text) == f.Digest
}

package repo

import (
	"cmp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Default limits of a vault (CONTRACT §9).
const (
	MaxNote  = 1 << 20 // bytes of one note; not configurable
	MaxNotes = 100_000
	MaxVault = 1 << 30 // bytes of all notes

	MaxMemories = 200_000

	// Headings, traits, references and tags of all notes in the index; see index.Totals.
	MaxThings       = 5_000_000
	MaxHostedThings = 2_000_000 // if a server has several tenants, or is reachable from other machines
)

// Limits are the limits of one vault. Zero values stand for MaxNotes, MaxVault, MaxThings and
// MaxMemories.
type Limits struct {
	Notes  int   // number of notes
	Bytes  int64 // total size of the notes in bytes
	Things int   // number of indexed things

	Memories int // number of memories
}

// OrDefault returns the limits with the defaults in place of zero values.
func (l Limits) OrDefault() Limits {
	return Limits{cmp.Or(l.Notes, MaxNotes), cmp.Or(l.Bytes, MaxVault), cmp.Or(l.Things, MaxThings),
		cmp.Or(l.Memories, MaxMemories)}
}

// A size is the growth of a vault by a change, and the number of indexed things in the changed
// file.
type size struct{ notes, bytes, things int }

// room returns QUOTA_EXCEEDED if the vault has no room for a change that makes it grow. A change
// that shrinks the vault is always allowed, also in a vault over its limits.
func (tx *Tx) room(path vault.Path, more size) error {
	if !counted(path) {
		return nil
	}
	most, now := tx.v.limits, tx.Before().Totals()
	fits := more.notes <= 0 || now.Notes+tx.notes+more.notes <= most.Notes
	fits = fits && (more.bytes <= 0 || now.Bytes+tx.bytes+int64(more.bytes) <= most.Bytes)
	if fits {
		return nil
	}
	return fault.New(fault.QuotaExceeded, "a vault has at most %d notes and %d bytes",
		most.Notes, most.Bytes)
}

// grow counts a staged change.
func (tx *Tx) grow(path vault.Path, more size) {
	if counted(path) {
		tx.notes += more.notes
		tx.bytes += int64(more.bytes)
		tx.stock.set(path, tx.stock.at(tx.Before(), path), more.things)
	}
}

// counted reports whether a file counts against the limits of a vault: whether it is a note in
// index.Totals.
func counted(path vault.Path) bool {
	return path.Kind() == vault.KindNote && path[0] != '.'
}

// A stock counts the indexed things of the notes that a Tx changes. The counts are upper bounds,
// computed quickly from the bytes of the texts, unless exact is set; exact counts are used only if
// the vault is nearly full. Once exact is set, it stays set.
type stock struct {
	of    map[vault.Path]int // number of things by path
	grown int                // by how many things the vault grows
	exact bool
}

// at returns the number of things in a file: as staged by the Tx, or else as in the index before.
func (s *stock) at(before *index.Index, path vault.Path) int {
	if n, staged := s.of[path]; staged {
		return n
	}
	if n, ok := before.Kept(string(path)); ok {
		return n.Things()
	}
	return 0
}

// set records that the file at path has `has` things instead of `had`.
func (s *stock) set(path vault.Path, had, has int) {
	if s.of == nil {
		s.of = map[vault.Path]int{}
	}
	s.of[path] = has
	s.grown += has - had
}

// roomForThings returns the number of indexed things in a text, or an upper bound. It returns
// QUOTA_EXCEEDED if the text has more than the file has now and the vault has no room for them.
func (tx *Tx) roomForThings(path vault.Path, text []byte) (int, error) {
	if !counted(path) {
		return 0, nil
	}
	if !tx.stock.exact {
		has := index.ThingsAtMost(text)
		if tx.fitsThings(path, has) {
			return has, nil
		}
		tx.countExactly()
	}
	has := index.Things(text)
	if !tx.fitsThings(path, has) {
		return 0, fault.New(fault.QuotaExceeded,
			"a vault has at most %d headings, traits, references and tags", tx.v.limits.Things).
			With("limit", tx.v.limits.Things)
	}
	return has, nil
}

// fitsThings reports whether the vault has room for `has` things in a file. A number that is not
// greater than the current one always fits.
func (tx *Tx) fitsThings(path vault.Path, has int) bool {
	more := has - tx.stock.at(tx.Before(), path)
	return more <= 0 || tx.Before().Totals().Things+tx.stock.grown+more <= tx.v.limits.Things
}

// countExactly replaces the counts of the staged files by exact ones. It parses all of them.
func (tx *Tx) countExactly() {
	tx.stock = stock{exact: true}
	for _, n := range tx.staged() {
		path := vault.Path(n.Path)
		if !counted(path) {
			continue
		}
		has := 0
		if !n.Deleted {
			has = index.Things(n.Text)
		}
		tx.stock.set(path, tx.stock.at(tx.Before(), path), has)
	}
}

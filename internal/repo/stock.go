package repo

import (
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// A stock is how many indexed things the notes have that a Tx changes: at most so many, as a look at
// their bytes tells, and exactly where the vault is nearly full.
type stock struct {
	of    map[vault.Path]int
	grown int // by how many the vault grows
	exact bool
}

// at returns how many things the file of a path has so far, before or by the Tx.
func (s *stock) at(before *index.Index, path vault.Path) int {
	if n, staged := s.of[path]; staged {
		return n
	}
	if n, ok := before.Kept(string(path)); ok {
		return n.Things()
	}
	return 0
}

// set notes that the file of a path has so many things, and no longer as many as it had.
func (s *stock) set(path vault.Path, had, has int) {
	if s.of == nil {
		s.of = map[vault.Path]int{}
	}
	s.of[path] = has
	s.grown += has - had
}

// roomForThings returns how many indexed things a text would have. It is a fault if it has more than the
// file has, and the vault is too full for them.
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

// fitsThings reports whether the vault has room for a file with so many things. One with no more than it
// has always fits.
func (tx *Tx) fitsThings(path vault.Path, has int) bool {
	more := has - tx.stock.at(tx.Before(), path)
	return more <= 0 || tx.Before().Totals().Things+tx.stock.grown+more <= tx.v.limits.Things
}

// countExactly counts the things of the files that are staged.
func (tx *Tx) countExactly() {
	tx.stock = stock{exact: true}
	for _, n := range tx.commit.Notes {
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

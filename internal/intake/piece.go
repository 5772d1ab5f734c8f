package intake

import (
	"slices"

	"rookery/internal/fault"
	"rookery/internal/vault"
)

// How much one commit takes in at most. Where a batch takes something away it is one commit as far as
// a commit can hold it, so that nobody sees half of it; else it may come piece by piece.
const (
	PieceFiles = 500
	pieceBytes = 4 << 20
	wholeFiles = 5000
	wholeBytes = 24 << 20
)

// Pieces are the parts of a batch that are one commit each: the settings first, by which notes are
// read, and what is taken away last, so that nothing is gone before what is new is there.
func Pieces(all []*Found) [][]*Found {
	order := slices.Clone(all)
	order = slices.DeleteFunc(order, func(f *Found) bool { return f.Moved }) // with where they went
	slices.SortStableFunc(order, func(x, y *Found) int { return x.rank() - y.rank() })
	files, bytes := PieceFiles, pieceBytes
	if slices.ContainsFunc(order, func(f *Found) bool { return f.Before != nil || f.From != nil }) {
		files, bytes = wholeFiles, wholeBytes
	}
	var pieces [][]*Found
	size := 0
	for _, f := range order {
		last := len(pieces) - 1
		if last < 0 || len(pieces[last]) >= files || size+len(f.Text) > bytes {
			pieces, size = append(pieces, nil), 0
			last++
		}
		pieces[last] = append(pieces[last], f)
		size += len(f.Text)
	}
	return pieces
}

// rank is where in a batch an edit has its place.
func (f *Found) rank() int {
	k := vault.Path(f.Path).Kind()
	switch {
	case k == vault.KindSchema || k == vault.KindConfig:
		return 0
	case f.Gone():
		return 2
	}
	return 1
}

// InHalves does something that is a commit, in two parts where one commit cannot hold all of it: what
// was found is not all that goes into it.
func InHalves(piece []*Found, do func(part []*Found) error) error {
	err := do(piece)
	half := len(piece) / 2
	if half == 0 || !fault.Is(err, fault.BatchTooLarge) {
		return err
	}
	if err := InHalves(piece[:half], do); err != nil {
		return err
	}
	return InHalves(piece[half:], do)
}

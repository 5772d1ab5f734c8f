package intake

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Bounds of one commit. A batch that changes or moves existing notes is one commit up to the larger
// bounds, so that readers never see half of it. Other batches are divided.
const (
	PieceFiles = 500
	pieceBytes = 4 << 20
	wholeFiles = 5000
	wholeBytes = 24 << 20
)

// Pieces divides a batch into commits. The settings come first, because they determine how notes
// are read, and removals last, so that nothing is removed before the new notes exist.
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

// rank returns the position of an edit in a batch.
func (f *Found) rank() int {
	switch {
	case isSettings(f.Path):
		return 0
	case f.Gone():
		return 2
	}
	return 1
}

// isSettings reports whether a path is that of the schema or of a configuration.
func isSettings(path string) bool {
	k := vault.Path(path).Kind()
	return k == vault.KindSchema || k == vault.KindConfig
}

// SettingsFirst moves the paths of settings before all others, and returns paths. The order is
// otherwise unchanged.
func SettingsFirst(paths []string) []string {
	rank := func(path string) int {
		if isSettings(path) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(paths, func(x, y string) int { return rank(x) - rank(y) })
	return paths
}

// InHalves calls do with a part that is one commit. If do returns BATCH_TOO_LARGE, because a commit
// contains more than the files, InHalves calls it with each half instead.
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

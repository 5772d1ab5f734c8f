package checkout

import (
	"bytes"
	"context"

	"rookery/internal/fault"
	"rookery/internal/merge"
	"rookery/internal/repo"
)

// maxEarlier is how many earlier texts of a note are looked at for the nearest.
const maxEarlier = 1000

// lookBack finds for every file with another text the earlier text of the note that is nearest to it,
// ties to the newest: that is what somebody began to edit. With the newest as base, a copy that is a
// week old would take back what was done in that week (log.md §5).
func (b *batch) lookBack(ctx context.Context) error {
	from, near := map[string]uint64{}, map[string]*nearest{}
	for _, f := range b.found {
		if !f.gone() && f.before != nil {
			from[f.path] = f.before.Version
			near[f.path] = &nearest{measure: merge.From(f.text), text: f.text}
		}
	}
	if len(from) == 0 {
		return nil
	}
	err := b.vault.Trail(ctx, from, func(path string, r repo.Revision) bool {
		return near[path].take(r.Note)
	})
	if err != nil && !fault.Is(err, fault.IndexError) {
		return err
	}
	for _, f := range b.found {
		if n := near[f.path]; n != nil {
			f.was, f.reverts = n.was, n.exact
		}
	}
	return nil
}

// A nearest looks for the earlier text that is nearest to one.
type nearest struct {
	measure merge.Measure
	text    []byte
	was     []byte
	apart   int
	exact   bool
	looked  int
}

// take looks at an earlier text, and at what somebody had put into the file then: what they saved next
// may build on that. It reports whether it is worth it to look further back.
func (n *nearest) take(r repo.Note) bool {
	if r.Deleted || r.Erased {
		return true
	}
	n.looked++
	if bytes.Equal(r.Text, n.text) {
		n.was, n.apart, n.exact = n.text, 0, true
		return false
	}
	if r.Theirs != nil {
		n.consider(r.Theirs)
	}
	n.consider(r.Text)
	return n.looked < maxEarlier && n.apart > 0
}

func (n *nearest) consider(text []byte) {
	if apart := n.measure.To(text); n.was == nil || apart < n.apart {
		n.was, n.apart = bytes.Clone(text), apart
	}
}

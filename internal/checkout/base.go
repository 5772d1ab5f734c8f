package checkout

import (
	"bytes"
	"context"
	"time"

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
		return near[path].take(r)
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
	written time.Time // what is newer was not there when the text was written; zero: that is not known
	was     []byte
	apart   int
	exact   bool
	begun   bool // the newest text that somebody saved was looked at
	looked  int
}

// take looks at an earlier text, and at what somebody had put into the file then: what they saved next
// may build on that. It reports whether it is worth it to look further back.
func (n *nearest) take(r repo.Revision) bool {
	if r.Deleted || r.Erased {
		return true
	}
	n.looked++
	if bytes.Equal(r.Text, n.text) {
		n.was, n.apart, n.exact = n.text, 0, true
		return false
	}
	if !n.written.IsZero() && r.Time.After(n.written) {
		return n.looked < maxEarlier
	}
	if n.goesOn(r) {
		return false
	}
	if r.Theirs != nil {
		n.consider(r.Theirs)
	}
	n.consider(r.Text)
	return n.looked < maxEarlier && n.apart > 0
}

// goesOn reports whether the text begins with all of what somebody had saved before it: then they have
// only written on, however near it is to another. An editor may save so slowly that the beginning of a
// text, or an empty file, is taken in before the rest is there.
func (n *nearest) goesOn(r repo.Revision) bool {
	saved := r.Theirs
	if saved == nil && r.Tool == reindex {
		saved = r.Text
	}
	if n.begun || saved == nil {
		return false
	}
	n.begun = true
	if bytes.HasPrefix(n.text, saved) {
		n.was, n.apart = bytes.Clone(saved), 0
	}
	return n.was != nil && n.apart == 0
}

func (n *nearest) consider(text []byte) {
	if apart := n.measure.To(text); n.was == nil || apart < n.apart {
		n.was, n.apart = bytes.Clone(text), apart
	}
}

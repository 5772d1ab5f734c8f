package intake

import (
	"bytes"
	"context"
	"time"

	"rookery/internal/fault"
	"rookery/internal/merge"
	"rookery/internal/repo"
)

// MaxEarlier is how many earlier texts of a note are looked at.
const MaxEarlier = 1000

// LookBack finds for every file with another text the earlier text of the note that is nearest to it,
// ties to the newest: that is what somebody began to edit. With the newest as base, a copy that is a
// week old would take back what was done in that week (log.md §5).
func LookBack(ctx context.Context, v *repo.Vault, all []*Found) error {
	from, near := map[string]uint64{}, map[string]*Nearest{}
	for _, f := range all {
		if !f.Gone() && f.Before != nil {
			from[f.Path] = f.Before.Version
			near[f.Path] = &Nearest{
				measure: merge.From(f.Text), text: f.Text, upTo: f.UpTo, came: f.Seen,
			}
		}
	}
	if len(from) == 0 {
		return nil
	}
	err := v.Trail(ctx, from, func(path string, r repo.Revision) bool {
		return near[path].Take(r)
	})
	if err != nil && !fault.Is(err, fault.IndexError) {
		return err
	}
	for _, f := range all {
		if n := near[f.Path]; n != nil {
			f.Was, f.Exact, f.Reverts = n.was, n.exact, n.exact && n.passed
		}
	}
	return nil
}

// A Nearest looks for the text that somebody began with: the earlier text that is nearest to theirs.
//
// It looks no further back than to the newest text that somebody saved in this folder: whoever saves
// now has read that, or written it. If it were passed over, one who takes back what they wrote a moment
// ago would get it back, for the text before it is nearer to what they have. For a text that was
// displaced this does not hold: it is older than it seems.
//
// A text that is one of the earlier ones to the byte may come from an editor that has not read the file
// since, or from somebody who wants to have it back. So it takes back only what its author had seen; it
// changes nothing if it is no older than that.
//
// To save once more what was merged already says nothing new: so does an editor that never reads the
// file again. Who saves it a third time, and found the same each time, means the note to be so, if they
// had seen it.
type Nearest struct {
	measure merge.Measure
	text    []byte
	upTo    uint64                     // what is newer than this version was not in the file; 0: all was
	came    func(r repo.Revision) bool // whether the text of a version was seen; nil: that is not known
	written time.Time                  // what is newer was not there when the text was written; zero: that is not known
	was     []byte
	apart   int
	exact   bool
	found   bool   // the base is found, and older texts are only looked at for one that is the same
	passed  bool   // what is older than this was seen
	seen    []byte // the newest text that was seen
	again   []byte // the text of the newest version, if it was merged with this very text
	looked  int
}

// NearestTo looks for the base of a text that was in the file until a time, and not after it.
func NearestTo(text []byte, written time.Time) *Nearest {
	return &Nearest{measure: merge.From(text), text: text, written: written}
}

// Was returns the text that somebody began with, as far as that can be told. Nil: it cannot.
func (n *Nearest) Was() []byte { return n.was }

// Exact reports whether the text is one of the earlier ones, to the byte.
func (n *Nearest) Exact() bool { return n.exact }

// Take looks at an earlier text, and at what somebody had put into the file then: what they saved next
// may build on that. It reports whether it is worth it to look further back.
func (n *Nearest) Take(r repo.Revision) bool {
	if r.Deleted || r.Erased || n.upTo > 0 && r.Seq > n.upTo {
		return true
	}
	n.looked++
	if bytes.Equal(r.Text, n.text) {
		n.was, n.apart, n.exact = n.text, 0, true
		if n.passed {
			n.was = n.seen
		}
		return false
	}
	same := r.Theirs != nil && bytes.Equal(r.Theirs, n.text)
	switch {
	case n.tooNew(r):
	case n.looked == 1 && same:
		n.was, n.apart, n.found, n.again = n.text, 0, true, bytes.Clone(r.Text)
	case n.looked == 2 && same && n.again != nil && bytes.Equal(r.Text, n.again) && n.hasSeen(r):
		n.was = n.again
		return false
	case !n.found:
		n.weigh(r)
	}
	n.pass(r)
	return n.looked < MaxEarlier
}

// tooNew reports whether a version was not there when the text was written. Its time is a whole
// millisecond, rounded down. What was saved in the folder and was taken in within the millisecond is
// newer: it was found in the place of the text.
func (n *Nearest) tooNew(r repo.Revision) bool {
	if n.written.IsZero() {
		return false
	}
	return r.Time.After(n.written) ||
		r.Tool == Tool && !r.Time.Before(n.written.Truncate(time.Millisecond))
}

func (n *Nearest) hasSeen(r repo.Revision) bool { return n.came != nil && n.came(r) }

// pass notes the newest text that was seen: one that was in the file for long enough, or that somebody
// saved there.
func (n *Nearest) pass(r repo.Revision) {
	saved := savedIn(r)
	switch {
	case n.passed:
		return
	case n.hasSeen(r):
		n.seen = bytes.Clone(r.Text)
	case saved != nil:
		n.seen = bytes.Clone(saved)
	default:
		return
	}
	n.passed = true
}

// savedIn returns the text that somebody had saved in the folder when a version was made of it; nil if
// nobody had.
func savedIn(r repo.Revision) []byte {
	if r.Theirs == nil && r.Tool == Tool {
		return r.Text
	}
	return r.Theirs
}

// weigh compares the text with those of a version.
func (n *Nearest) weigh(r repo.Revision) {
	saved := savedIn(r)
	if saved != nil && bytes.HasPrefix(n.text, saved) {
		// They have only written on, however near the text is to another. An editor may save so slowly
		// that the beginning of a text, or an empty file, is taken in before the rest is there.
		n.was, n.apart, n.found = bytes.Clone(saved), 0, true
		return
	}
	if r.Theirs != nil {
		n.consider(r.Theirs)
	}
	n.consider(r.Text)
	n.found = n.apart == 0 || saved != nil && n.written.IsZero()
}

func (n *Nearest) consider(text []byte) {
	if apart := n.measure.To(text); n.was == nil || apart < n.apart {
		n.was, n.apart = bytes.Clone(text), apart
	}
}

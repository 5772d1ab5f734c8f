package intake

import (
	"bytes"
	"context"
	"encoding/hex"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/merge"
	"github.com/rookeryhq/rookery/internal/repo"
)

// MaxEarlier is how many earlier texts of a note are compared.
const MaxEarlier = 1000

// LookBack sets for every file with another text the earlier text of the note that is nearest to
// it, or the newest one if several are equally near. That is the text with which the edit began.
// With the newest text as the base, saving a copy that is a week old would revert the changes of
// that week (log.md §5).
func LookBack(ctx context.Context, v *repo.Vault, all []*Found) error {
	from, near := map[string]uint64{}, map[string]*Nearest{}
	for _, f := range all {
		if !f.Gone() && f.Before != nil {
			from[f.Path] = f.Before.Version
			near[f.Path] = &Nearest{
				measure: merge.NewMeasure(f.Text), text: f.Text, upTo: f.UpTo, came: f.Seen,
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

// A Nearest searches for the base of an edit: the earlier text that is nearest to its text.
//
// It does not search before the newest text that was saved in this folder, because the author of
// the present edit has read or written that text. If it were skipped, an author who reverts a
// recent change would get it back, because the text before the change is nearer. A displaced text
// may be older than that one, so for it the search ends only with a text that was saved in the same
// file, before the file was displaced.
//
// A text that is equal to an earlier one may come from an editor that has not read the file since,
// or from an author who wants to return to it. So it reverts only what its author had seen, and
// changes nothing if it is not older than that.
//
// Saving the same text again after it was merged means nothing new, because an editor may never
// read the file again. Saving it a third time, with the same merge result each time, is a decision
// for this text, if the author had seen the result.
type Nearest struct {
	measure merge.Measure
	text    []byte
	upTo    uint64                     // later versions were not in the file; 0: all were
	came    func(r repo.Revision) bool // reports whether the text of a version was seen; nil: unknown
	written time.Time                  // later versions did not exist when the text was written; zero: unknown
	had     string                     // digest of a text that the file had before, in hexadecimal; "": unknown
	was     []byte                     // the base so far
	apart   int                        // the distance between was and text
	exact   bool                       // text is equal to an earlier one
	found   bool                       // the base is final, and older texts are only searched for an equal one
	passed  bool                       // all older texts were seen
	seen    []byte                     // the newest text that was seen
	again   []byte                     // the text of the newest version, if it was merged with the same text
	looked  int                        // number of texts that were compared
}

// NearestToDisplaced returns a search for the base of a displaced text.
func NearestToDisplaced(d blob.Displaced) *Nearest {
	return &Nearest{measure: merge.NewMeasure(d.Data), text: d.Data, written: d.Written, had: d.Had}
}

// Was returns the base, or nil if there is none.
func (n *Nearest) Was() []byte { return n.was }

// Exact reports whether the text is equal to an earlier one.
func (n *Nearest) Exact() bool { return n.exact }

// Take compares an earlier text, and the text that an edit had put into the file then, on which the
// next edit may build. Texts must come newest first. Take reports whether older texts can still
// change the result.
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

// tooNew reports whether a version did not exist when the text was written. The time of a version
// is in whole milliseconds, rounded down. A version that was ingested from the folder within the
// same millisecond is newer, because it was found in place of the text.
func (n *Nearest) tooNew(r repo.Revision) bool {
	if n.written.IsZero() {
		return false
	}
	late := r.Time.After(n.written) ||
		r.Tool == Tool && !r.Time.Before(n.written.Truncate(time.Millisecond))
	return late && !n.savedBefore(r)
}

// savedBefore reports whether the text of a version was saved in the very file that was displaced.
func (n *Nearest) savedBefore(r repo.Revision) bool {
	saved := savedIn(r)
	return n.had != "" && saved != nil && n.had == digestOf(saved)
}

// digestOf returns the digest of a text as blob.Displaced has it.
func digestOf(text []byte) string {
	d := index.DigestOf(text)
	return hex.EncodeToString(d[:])
}

// hasSeen reports whether the text of a version is known to have been seen.
func (n *Nearest) hasSeen(r repo.Revision) bool { return n.came != nil && n.came(r) }

// pass records the newest text that was seen: one that was in the file for long enough, or one that
// was saved there.
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

// savedIn returns the text that was saved in the folder and became a version; nil if there was
// none.
func savedIn(r repo.Revision) []byte {
	if r.Theirs == nil && r.Tool == Tool {
		return r.Text
	}
	return r.Theirs
}

// weigh compares the text with those of a version, and decides whether the base is final.
func (n *Nearest) weigh(r repo.Revision) {
	saved := savedIn(r)
	if saved != nil && bytes.HasPrefix(n.text, saved) {
		// The author only appended text, however near it is to another one. An editor may save so
		// slowly that the beginning of a text, or an empty file, is ingested before the rest is
		// written.
		n.was, n.apart, n.found = bytes.Clone(saved), 0, true
		return
	}
	if r.Theirs != nil {
		n.consider(r.Theirs)
	}
	n.consider(r.Text)
	n.found = n.apart == 0 || saved != nil && (n.written.IsZero() || n.savedBefore(r))
}

// consider makes text the base if it is nearer than the present one.
func (n *Nearest) consider(text []byte) {
	if apart := n.measure.Distance(text); n.was == nil || apart < n.apart {
		n.was, n.apart = bytes.Clone(text), apart
	}
}

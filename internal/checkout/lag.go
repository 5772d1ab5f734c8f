package checkout

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// seenAfter is how long a text of the log must have been in a file before an older text that
// replaces it counts as a decision to return to that text. Before that, it counts as a save by an
// editor that read the file earlier; see docs/design/0019-what-an-editor-has-seen.md.
const seenAfter = 30 * time.Second

// lagKept is how long a lag is kept after its text counts as seen, because an edit may be noticed
// that much later than it was made.
const lagKept = 2 * sweepWatched

// A lag records that texts of the log were not written to a file when they were committed. All
// other texts were written at the time of their commits.
type lag struct {
	behind bool // the file does not contain the newest text of the log

	// While behind is set: the text that the file had before.
	had   *index.File // nil: the vault had no file there
	known bool        // had is known; otherwise only upTo is, because the file fell behind in an earlier process
	upTo  uint64      // the version of had

	// The texts of versions later than after were written to the file at since.
	after uint64
	since time.Time // zero if none was
}

// markBehind records that a write of the log did not reach the file. A lag whose last text counts
// as seen is replaced; otherwise it is continued, and keeps its after, because all texts since then
// were late. The caller holds mu.
func (c *Checkout) markBehind(path string, w *change) {
	o := &c.pending
	l := o.lags[path]
	if l != nil && l.behind && !w.ingested {
		return // the text in the file has not changed
	}
	if l == nil || c.countsAsSeen(l.since, c.now()) {
		l = &lag{after: versionOf(w.before)}
		o.lags[path] = l
	}
	l.behind, l.had, l.known, l.upTo = true, w.before, true, versionOf(w.before)
	o.dirty = true
}

// markAllBehind records that all files in unwritten are behind: texts of versions after last may be
// written much later than they were committed. The caller holds mu.
func (c *Checkout) markAllBehind(last uint64) {
	for path, w := range c.unwritten {
		c.markBehind(path, w)
		l := c.pending.lags[path]
		l.after = min(l.after, last)
	}
}

// markCurrent records that a file has the newest text of the log. The caller holds mu.
func (c *Checkout) markCurrent(path string) {
	if l := c.pending.lags[path]; l != nil && l.behind {
		l.behind, l.had, l.known, l.upTo = false, nil, false, 0
		l.since = c.now()
		c.pending.dirty = true
	}
}

// lastWritten returns the file of the log that was in the folder last, or nil if there was none:
// the base of an outside edit that is noticed now. upTo is the newest version that the file can
// have had; 0: the version of f. It is set if the file fell behind in an earlier process, which
// stored only a version. The caller holds mu.
func (c *Checkout) lastWritten(path string) (f *index.File, upTo uint64) {
	switch l := c.lagOf(path); {
	case l == nil || !l.behind:
		return c.expected(path), 0
	case l.known:
		return l.had, 0
	default:
		return c.expected(path), max(l.upTo, 1)
	}
}

// lagOf returns the lag of a file, or nil if it has none. When the folder is read for the first
// time, any file that differs from the log may have one of the lags that the control item had no
// room for. The caller holds mu, and knows that the file differs.
func (c *Checkout) lagOf(path string) *lag {
	o := &c.pending
	l := o.lags[path]
	if l == nil && o.unnamed != nil && c.first() {
		unnamed := *o.unnamed
		l = &unnamed
		o.lags[path] = l
	}
	return l
}

// forgetLags drops the lags of texts that count as seen by now, and of files that are gone with
// their notes. Every save calls it, so that the set does not grow with the number of writes. The
// caller holds mu.
func (c *Checkout) forgetLags() {
	o, now := &c.pending, c.now()
	over := func(l *lag) bool { return now.Sub(l.since) >= c.span(seenAfter)+c.span(lagKept) }
	maps.DeleteFunc(o.lags, func(path string, l *lag) bool {
		forget := !l.behind && over(l) || l.behind && c.nowhere(path)
		o.dirty = o.dirty || forget
		return forget
	})
	if o.unnamed != nil && over(o.unnamed) {
		o.unnamed, o.dirty = nil, true
	}
}

// nowhere reports whether there is neither a note at a path nor a known file. The caller holds mu.
func (c *Checkout) nowhere(path string) bool {
	_, note := c.at.File(path)
	_, left := c.pending.skipped[c.key(path)]
	return !note && !left && c.pending.edits[path] == nil && c.unwritten[path] == nil
}

// countsAsSeen reports whether a text that was written to its file at came counts as seen at at.
func (c *Checkout) countsAsSeen(came, at time.Time) bool { return at.Sub(came) >= c.span(seenAfter) }

// seenBefore returns a function that reports whether the text of a version counts as seen by an
// editor that saved a file at a time. The caller holds mu.
func (c *Checkout) seenBefore(path string, saved time.Time) func(repo.Revision) bool {
	late := lag{}
	if l := cmp.Or(c.pending.lags[path], c.pending.unnamed); l != nil {
		late = *l
	}
	return func(r repo.Revision) bool { return c.countsAsSeen(late.writtenAt(r), saved) }
}

// writtenAt returns when the text of a version was written to the file.
func (l lag) writtenAt(r repo.Revision) time.Time {
	if r.Seq > l.after && l.since.After(r.Time) {
		return l.since
	}
	return r.Time
}

// versionOf returns the version of a file; 0 for nil.
func versionOf(f *index.File) uint64 {
	if f == nil {
		return 0
	}
	return f.Version
}

// loadLags loads the lags of the last process. No other goroutine may use the Checkout.
func (c *Checkout) loadLags(all *repo.Late) {
	if all == nil {
		return
	}
	for _, f := range all.Files {
		c.pending.lags[f.Path] = &lag{
			behind: f.Behind, upTo: f.Had, after: f.After, since: f.Since,
		}
	}
	if all.Count > len(all.Files) {
		c.pending.unnamed = &lag{
			behind: all.Behind, upTo: all.After, after: all.After, since: c.now(),
		}
	}
}

// late returns the lags for the control item; nil if there are none. If there are too many, it
// names files that are behind first: of the others it is enough that their texts were late.
func (o *pendingEdits) late() *repo.Late {
	all := slices.SortedFunc(maps.Keys(o.lags), func(a, b string) int {
		if x, y := o.lags[a].behind, o.lags[b].behind; x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	late := &repo.Late{Count: len(all)}
	var rest []*lag
	for i, path := range all {
		l := o.lags[path]
		if i >= o.named {
			rest = append(rest, l)
			continue
		}
		late.Files = append(late.Files, repo.LateFile{
			Path: path, Behind: l.behind, Had: l.upTo, After: l.after, Since: l.since.Round(0).UTC(),
		})
	}
	if o.unnamed != nil {
		late.Count++
		rest = append(rest, o.unnamed)
	}
	for i, l := range rest {
		least := l.after
		if l.behind {
			least, late.Behind = min(least, l.upTo), true
		}
		if i == 0 || least < late.After {
			late.After = least
		}
	}
	if late.Count == 0 {
		return nil
	}
	return late
}

// sameLate reports whether the control item would say the same about two sets of lags.
func sameLate(a, b *repo.Late) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && a.After == b.After && a.Behind == b.Behind &&
		slices.Equal(a.Files, b.Files)
}

package checkout

import (
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Times that an edit waits before it is ingested. They apply to each file, not to the folder, so
// that a file that is written to all the time delays no other file.
const (
	// debounce is how long a file must not have changed.
	debounce = 2 * time.Second

	// longest is the longest wait of a file that keeps changing. Then it is ingested as it is.
	longest = 5 * time.Second

	// together is how long a file that is due waits for others that will be due by then, so that
	// files that change at the same time are in one commit.
	together = time.Second

	// otherHalf is the longest wait of a removal for the new file that may be its move target, and
	// for the end of a large removal.
	otherHalf = 10 * time.Second

	// emptied is how long a file that was emptied waits for its new text.
	emptied = time.Minute
)

// never is the wait of an edit that only another change makes due.
const never = time.Duration(1<<63 - 1)

// A plan is the set of edits that are due, and the time of the next plan.
type plan struct {
	paths   []string      // of the edits that are due
	held    bool          // the held batch must be examined again
	mayMove bool          // there are new files or removals, which may be the two halves of a move
	wait    time.Duration // until more edits may be due; never if there are none
}

// due reports whether anything must be ingested now.
func (p *plan) due() bool { return len(p.paths) > 0 || p.held }

// later records that an edit will be due after wait.
func (p *plan) later(wait time.Duration) { p.wait = min(p.wait, wait) }

// plan returns the edits that are due now. It only chooses paths: the files are examined again when
// they are read, and an edit that changed meanwhile is left to a later plan.
func (c *Checkout) plan() plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending.plan(c.moment())
}

// A moment contains the inputs of a plan besides the edits.
type moment struct {
	now   time.Time
	span  func(time.Duration) time.Duration // see Checkout.span
	notes int                               // number of notes in the vault
}

// moment returns the present moment. The caller holds mu.
func (c *Checkout) moment() moment { return moment{time.Now(), c.span, c.at.Totals().Notes} }

// A queue is a plan under construction. There are three kinds of edits in it:
//
//   - An edit of an existing file, and a new file, wait for their own file only; see add.
//   - Removals, and edits that count as removals, wait for each other; see removals. The removal
//     guard must see a large removal as a whole, and a move must not be split into a removal and a
//     new note.
//   - Edits that were made together with a large removal wait for its end; see inMass.
//
// The held batch is examined again when its edits have changed and nothing more is removed.
type queue struct {
	plan
	moment
	mass    time.Time     // the start of a large removal that goes on; zero if there is none
	with    []string      // paths of edits that wait for its end
	soon    time.Duration // the longest wait of an edit that the others wait for; 0 if there is none
	overdue time.Duration // how long the first edit has been due
	newborn time.Duration // the longest wait of a new file; 0 if none waits
}

// plan returns the edits that are due at a moment. If other edits will be due within together, it
// returns an empty plan with that time as its wait, unless the first edit has been due for longer
// than together already: the delay must end.
func (o *pendingEdits) plan(m moment) plan {
	q := &queue{plan: plan{wait: never}, moment: m, mass: o.massRemoval(m)}
	for path, e := range o.edits {
		if !e.held && !e.withRemovals() {
			q.add(path, e)
		}
	}
	q.removals(o)
	if o.heldChanged && !o.heldBeforeStart {
		wait := q.settleTime(o.removed)
		q.addWait(wait, -wait)
		q.held = wait <= 0
	}
	if q.due() && q.soon > 0 && q.overdue < m.span(together) {
		return plan{wait: min(q.soon, m.span(together)-q.overdue), mayMove: q.mayMove}
	}
	return q.plan
}

// withRemovals reports whether the edit waits as removals do: the file is gone, or has an earlier
// text of its note, which the removal guard counts as a removal, or may be the target of a move.
func (e *edit) withRemovals() bool { return e.mark == "" || e.withRemoval }

// settleTime returns how long a file that changed at a time must still stay unchanged; at most 0 if
// it has been long enough.
func (q *queue) settleTime(changed time.Time) time.Duration {
	return q.span(debounce) - q.now.Sub(changed)
}

// waitTime returns how long an edit waits for its own file; at most 0 if it is due.
func (q *queue) waitTime(e *edit) time.Duration {
	wait := min(q.settleTime(e.at), q.span(longest)-q.now.Sub(e.since))
	return max(wait, e.retryAt.Sub(q.now))
}

// addWait records the wait of one edit, so that the plan knows when to look again. A wait of at
// most 0 makes the edit due, and one of at most together lets the edits that are due wait for it.
// known is how long the edit has been known: an edit that was found late, as in a first sweep, is
// not overdue for the whole time since its file changed.
func (q *queue) addWait(wait, known time.Duration) {
	switch {
	case wait <= 0:
		q.overdue = max(q.overdue, min(-wait, known))
	case wait <= q.span(together):
		q.soon = max(q.soon, wait)
		fallthrough
	default:
		q.later(wait)
	}
}

// massRemoval returns the start of a removal that the guard would hold: when the first of the
// missing files was noticed. It returns the zero time if fewer files are missing. Files of the held
// batch do not count, because a decision about them is pending already.
func (o *pendingEdits) massRemoval(m moment) (since time.Time) {
	n := 0
	for _, e := range o.edits {
		if !e.held && e.mark == "" {
			if n++; n == 1 || e.noticed.Before(since) {
				since = e.noticed
			}
		}
	}
	if !intake.TooMany(n, m.notes) {
		return time.Time{}
	}
	return since
}

// inMass reports whether an edit seems to be part of a large change that removes too much, so that
// it needs confirmation with the removals: it was noticed at about that time or later, and its file
// does not keep changing.
func (q *queue) inMass(e *edit) bool {
	return !q.mass.IsZero() && !e.noticed.Before(q.mass.Add(-q.span(together))) &&
		e.at.Sub(e.since) < q.span(together)
}

// add adds an edit that waits only for its own file.
func (q *queue) add(path string, e *edit) {
	if q.inMass(e) {
		q.with = append(q.with, path)
		return
	}
	wait := q.waitTime(e)
	q.addWait(wait, q.now.Sub(e.noticed))
	if wait <= 0 {
		q.paths = append(q.paths, path)
		q.mayMove = q.mayMove || e.before == nil
	}
}

// removals adds the edits that wait for each other and for new files: all of them, or none.
func (q *queue) removals(o *pendingEdits) {
	wait := o.removalsWait(q.moment)
	if wait == never {
		return
	}
	q.mayMove = true
	q.addWait(wait, -wait)
	if wait > 0 {
		return
	}
	for path, e := range o.edits {
		switch {
		case e.held || !e.withRemovals():
		case q.isSettledRemoval(e):
			q.paths = append(q.paths, path)
		default:
			q.later(max(q.settleTime(e.at), e.retryAt.Sub(q.now)))
		}
	}
	q.paths = append(q.paths, q.with...)
}

// removalsWait returns how long removals wait; at most 0 if they are due, and never if there are
// none. They wait until no file was removed for debounce, and until new files that may be their
// move targets are due, but not longer than otherHalf after the oldest of them.
func (o *pendingEdits) removalsWait(m moment) time.Duration {
	q := &queue{moment: m}
	wait, oldest := never, m.now
	for _, e := range o.edits {
		switch {
		case e.held:
		case e.withRemovals():
			wait = q.settleTime(o.removed)
			if e.since.Before(oldest) {
				oldest = e.since
			}
		case e.before == nil:
			q.newborn = max(q.newborn, q.waitTime(e))
		}
	}
	if wait == never {
		return never
	}
	return min(max(wait, q.newborn), m.span(otherHalf)-m.now.Sub(oldest))
}

// isSettledRemoval reports whether an edit that waits as removals do has waited long enough for
// its own file.
func (q *queue) isSettledRemoval(e *edit) bool {
	if e.retryAt.After(q.now) {
		return false
	}
	return q.settleTime(e.at) <= 0 || q.now.Sub(e.since) >= q.span(otherHalf)
}

// isStillDue reports whether an edit is still due after its file was examined again. The caller
// holds mu.
func (c *Checkout) isStillDue(e *edit) bool {
	q := &queue{moment: c.moment()}
	if e.withRemovals() {
		return q.isSettledRemoval(e)
	}
	return q.waitTime(e) <= 0
}

// isDue reports whether an ingest includes an edit whose file was examined again. The first reading
// includes all except removals that may be half of a save. The caller holds mu.
func (c *Checkout) isDue(t IngestOptions, e *edit) bool {
	switch {
	case e.held, t.part == nil && !t.initial:
		return true
	case t.initial:
		q := &queue{moment: c.moment()}
		return e.mark != "" || q.settleTime(e.at) <= 0
	}
	return c.isStillDue(e)
}

// deferRemovals removes from the batch those edits that belong to removals that are not due: a new
// file with the text of a file that is gone, because the two are a move, and a file with an earlier
// text of its note, because the guard counts it as a removal. They become due with the removals.
// The first reading does not wait for others: only moves must be complete.
func (b *batch) deferRemovals() {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.pending
	halves, more := b.findRemovals()
	due := b.initial || o.removalsWait(b.moment()) <= 0 && !more
	b.found = slices.DeleteFunc(b.found, func(f *found) bool {
		e := o.edits[f.Path]
		waits := e != nil && !e.held && e.withRemovals() && (!due || halves[f.Path])
		if waits {
			delete(o.read, f.Path)
		}
		return waits
	})
}

// findRemovals finds the edits of the batch that belong to removals, and marks them so that they
// wait as removals do from now on. halves contains the new files whose removed files are not in the
// batch. more reports that an edit was only now found to count as a removal: then none is due
// before the next examination, because others like it may have been made since. Edits that keep
// changing delay the others no longer than otherHalf. The caller holds mu.
func (b *batch) findRemovals() (halves map[string]bool, more bool) {
	o := &b.pending
	in := map[string]bool{}
	for _, f := range b.found {
		in[f.Path] = true
	}
	gone, names := map[index.Digest]bool{}, map[string]bool{}
	for path, e := range o.edits {
		if e.mark == "" && e.before != nil && !e.held && !in[path] && !vault.InTrash(path) {
			gone[e.before.Digest], names[e.to] = true, true
		}
	}
	halves, oldest := map[string]bool{}, time.Now()
	for _, f := range b.found {
		e := o.edits[f.Path]
		if e == nil || e.held {
			continue
		}
		if !f.Gone() {
			halves[f.Path] = f.Before == nil && f.From == nil && (gone[f.Digest] || names[f.Path])
			if halves[f.Path] || f.From != nil || f.TakesAway() {
				more = more || !e.withRemoval && f.TakesAway()
				e.withRemoval = true
				o.removed = later(o.removed, e.at)
			}
		}
		if e.withRemovals() && e.noticed.Before(oldest) {
			oldest = e.noticed
		}
	}
	return halves, more && time.Since(oldest) < b.span(otherHalf)
}

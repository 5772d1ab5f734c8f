package checkout

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

const (
	// hintDelay is how long hints are gathered before the files are examined.
	hintDelay = 100 * time.Millisecond

	// mostYields is how often the examination of hints is postponed, by hintDelay, because a call
	// writes to the vault. Most hints are of the files that calls write, and reading them takes the
	// processor, and the lock of the files, from the next call.
	mostYields = 10

	// Sweeps find changes that the watcher did not report; without a watcher they find all changes.
	// sweepWatched and sweepAlone are the pauses between sweeps with and without one. A sweep takes
	// at most one part in restShare of the time.
	sweepWatched = time.Minute
	sweepAlone   = 2 * time.Second
	restShare    = 400

	// displacedEvery is the time between two checks for displaced files that are due.
	displacedEvery = 5 * time.Second
)

// A reconciler ingests outside edits of the folder until its context ends. One goroutine owns it
// and handles one event at a time, in step, so its own fields need no lock.
//
// Hints of the watcher, or a sweep, lead to an examination of files. An examination that finds an
// edit wakes the reconciler, which plans. The timer closing fires when the plan is due, and the
// edits are ingested.
type reconciler struct {
	*Checkout
	tree       blob.Watch      // nil: the folder is not watched
	hints      <-chan struct{} // of the tree
	hinted     bool            // hints are being gathered
	keys       []string        // hints that were taken from the tree and must be examined
	yielded    int             // how often their examination was postponed
	looking    *time.Timer     // fires when the gathered hints must be examined
	closing    *time.Timer     // fires when edits may be due
	next       *time.Timer     // fires when a sweep is due
	late       *time.Ticker    // fires when displaced files may be due
	blind      *time.Ticker    // fires when folders that are not watched are compared
	lastReason string          // the reason for sweeps without a watcher that was logged last

	// compared reports that a sweep was complete. Before that, nothing is ingested, because it is
	// unknown whether edits that needed confirmation when the last process ended still exist.
	compared bool
}

// wakeReconciler wakes the reconciler after an edit. The caller holds mu.
func (c *Checkout) wakeReconciler() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// reconcile compares the folder with the log, and then ingests outside edits until the context
// ends. Checkout.run starts it in a goroutine.
func (c *Checkout) reconcile(ctx context.Context) {
	defer close(c.reconciled)
	a := &reconciler{
		Checkout: c, looking: stopped(), closing: stopped(), next: time.NewTimer(0),
		late: time.NewTicker(c.span(displacedEvery)), blind: time.NewTicker(c.span(sweepAlone)),
	}
	defer a.late.Stop()
	defer a.blind.Stop()
	defer a.unwatch()
	for ctx.Err() == nil {
		a.step(ctx)
	}
}

// stopped returns a timer that does not fire until it is reset.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// watch starts to watch the folder, or starts again if the folder was removed and created again. If
// the system refuses, sweeps find all changes, and the next sweep tries again.
func (a *reconciler) watch() {
	if a.opt.Watch == nil || a.tree != nil && !a.tree.Lost() {
		return
	}
	a.unwatch()
	if tree, err := a.opt.Watch(mayContainFiles); err == nil {
		a.tree, a.hints = tree, tree.C()
	}
}

// isComplete reports whether the watcher reports every change. It logs the reason if not, once for
// each reason.
func (a *reconciler) isComplete(ctx context.Context) bool {
	if a.tree == nil {
		return false
	}
	why := a.tree.Reason()
	if why != "" && why != a.lastReason {
		a.log.WarnContext(ctx, "some changes in the folder are not reported by the system; it is compared "+
			"periodically",
			slog.String("vault", a.vault.Name), slog.String("why", why))
	}
	a.lastReason = why
	return why == ""
}

// unwatch closes the watcher, if there is one.
func (a *reconciler) unwatch() {
	if a.tree != nil {
		_ = a.tree.Close() // it was only read
	}
	a.tree, a.hints = nil, nil
}

// step waits for the next event, and handles it.
func (a *reconciler) step(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-a.hints:
		if !a.hinted { // otherwise continuous hints would be gathered forever
			a.hinted = true
			a.looking.Reset(a.span(hintDelay))
		}
	case <-a.looking.C:
		a.follow(ctx)
	case <-a.wake:
		a.wait(a.plan(), 0)
	case <-a.closing.C:
		a.ingestDue(ctx)
	case <-a.next.C:
		a.sweep(ctx)
	case <-a.blind.C:
		a.sweepUnwatched(ctx)
	case <-a.late.C:
		a.report(ctx, a.ingestDisplaced(ctx, a.files.Due(ctx)))
	}
}

// sweep compares the whole folder with the log, and sets the time of the next sweep: the larger the
// folder, the longer the pause. After the first complete sweep it ingests all edits. The first
// sweep closes ready, even if it failed.
func (a *reconciler) sweep(ctx context.Context) {
	a.watch() // before the files are examined, so that later changes are reported
	began := time.Now()
	_, err := a.sweepAll(ctx, a.first())
	a.report(ctx, err)
	a.updateUnwatched(ctx, err)
	pause := sweepAlone
	if a.isComplete(ctx) && err == nil {
		pause = sweepWatched
	}
	a.next.Reset(a.span(max(pause, restShare*time.Since(began))))
	if err == nil && !a.compared {
		a.compared = true
		a.readFirst(ctx)
	}
	if a.first() {
		close(a.ready) // complete, or failed: calls must not wait for a folder that cannot be read
	}
}

// readFirst ingests the edits that the first complete sweep found, as they are now. It does not
// wait until files are quiet, except for removals. Displaced texts come first: they are older than
// the files. After a large reading it returns memory to the system.
func (a *reconciler) readFirst(ctx context.Context) {
	a.report(ctx, a.ingestDisplaced(ctx, a.files.Displaced(ctx)))
	a.awaitRemovals(ctx)
	a.report(ctx, a.ingestFirst(ctx))
	if read, _ := a.Reading(); read.Read > manyRead {
		debug.FreeOSMemory() // their texts are garbage now, and the next edits may come hours later
		a.vault.WantImage()  // the vault continues from it, in less memory
	}
	a.wait(a.plan(), a.span(hintDelay))
}

// manyRead is the number of files above which the memory of the first reading is returned at once.
const manyRead = 500

// first reports whether the first sweep has not ended yet.
func (c *Checkout) first() bool {
	select {
	case <-c.ready:
		return false
	default:
		return true
	}
}

// span returns the duration that this checkout uses in place of d: tests set another pace.
func (c *Checkout) span(d time.Duration) time.Duration {
	return time.Duration(float64(d) / cmp.Or(c.opt.pace, 1))
}

// ingestDue ingests the edits that are due. If the plan contains a removal or a new file, the
// folder is examined once more first, and the plan is made again, because the other half of a move
// may have arrived since. After an error it waits for debounce before the next attempt.
func (a *reconciler) ingestDue(ctx context.Context) {
	if !a.compared {
		return // the first complete sweep ingests them
	}
	p := a.plan()
	var err error
	if p.mayMove {
		err = a.lookAgain(ctx)
		p = a.plan()
	}
	if err == nil && p.due() {
		_, err = a.Ingest(ctx, IngestOptions{background: true, part: &p})
		p = a.plan()
	}
	if err != nil {
		a.report(ctx, err)
		a.closing.Reset(a.span(debounce))
		return
	}
	a.wait(p, a.span(hintDelay))
}

// wait sets the timer for the next plan to when more edits may be due, but not before least has
// passed.
func (a *reconciler) wait(p plan, least time.Duration) {
	switch {
	case p.due():
		a.closing.Reset(least)
	case p.wait != never:
		a.closing.Reset(max(p.wait, least))
	}
}

// lookAgain examines the files that changed until now. Otherwise one half of a large change could
// be ingested while the other half is already in the folder.
func (a *reconciler) lookAgain(ctx context.Context) error {
	if a.tree != nil && a.tree.Reason() == "" {
		a.follow(ctx)
		return nil
	}
	_, err := a.Sweep(ctx)
	return err
}

// report logs an error, unless the vault is gone or the context has ended.
func (a *reconciler) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		a.logSyncError(ctx, err)
	}
}

// Ready waits until the folder was compared with the log once, and the edits found were ingested or
// need confirmation. It returns nil also after Close, and otherwise the error of ctx.
func (c *Checkout) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.reconciled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logEvery is the shortest time between two log messages with the same cause. A failed step is
// repeated every second, for every note, and a disk may be full for days.
const logEvery = time.Minute

// A logLimiter contains the errors that were logged recently. The zero value is ready for use. It
// is safe for concurrent use.
type logLimiter struct {
	mu     sync.Mutex
	logged map[string]time.Time // time of the last message, by step and cause
}

// isRepeated reports whether an error with the same step and cause was logged within a time. If
// not, it is recorded as logged now. what is the step that failed.
func (g *logLimiter) isRepeated(what string, err error, within time.Duration) bool {
	key, now := what+"\n"+innermost(err), time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, known := g.logged[key]; known && now.Sub(last) < within {
		return true
	}
	if g.logged == nil || len(g.logged) >= maxLogged {
		g.logged = map[string]time.Time{}
	}
	g.logged[key] = now
	return false
}

// maxLogged is the largest number of recorded messages; at that number all are dropped.
const maxLogged = 100

// innermost returns the message of the last error in a chain. That is the cause, without the name
// of a file, so that one cause is logged once, whatever the number of notes.
func innermost(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// An unwatchedLister is a blob.Watch that knows which folders it does not watch, because the system
// allows no more watches. Watches of some platforms do not implement it; they are unlimited.
type unwatchedLister interface {
	// Unwatched returns these folders, "" for the root, and whether there are any.
	Unwatched() (folders []string, some bool)
}

// unwatchedFolders returns the folders that are not watched because the system allows no more
// watches, without those that are inside another of them.
func (a *reconciler) unwatchedFolders() (folders []string, some bool) {
	l, ok := a.tree.(unwatchedLister)
	if !ok {
		return nil, false
	}
	all, some := l.Unwatched()
	slices.Sort(all)
	for _, folder := range all {
		n := len(folders)
		if n > 0 && (folders[n-1] == "" || strings.HasPrefix(folder, folders[n-1]+"/")) {
			continue
		}
		folders = append(folders, folder)
	}
	return folders, some
}

// updateUnwatched records why changes may be noticed late. swept is the error of the last sweep of
// the whole folder. After a failed sweep of any other kind, the recorded reason stays, because
// nothing is known.
func (a *reconciler) updateUnwatched(ctx context.Context, swept error) {
	_, some := a.unwatchedFolders()
	var unread *blob.WalkError
	switch {
	case a.opt.Away != nil && a.opt.Away(), errors.As(swept, &unread) && unread.Folder == "":
		a.setUnwatched(ctx, repo.UnwatchedAway)
	case some:
		a.setUnwatched(ctx, repo.UnwatchedLimit)
	case swept == nil:
		a.setUnwatched(ctx, "")
	}
}

// setUnwatched records in the control item why changes may be noticed late, so that every answer
// can report it. An empty reason means that they are noticed at once.
func (c *Checkout) setUnwatched(ctx context.Context, why repo.Unwatched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away.Store(why == repo.UnwatchedAway); c.pending.unwatched != why {
		c.pending.unwatched, c.pending.dirty = why, true
	}
	c.publishEdits(ctx)
}

// limited reports whether the control item says that the system allows no more watches.
func (c *Checkout) limited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending.unwatched == repo.UnwatchedLimit
}

// sweepUnwatched examines the folders that are not watched. It also checks whether the path still
// leads to the folder that is served; if the folder came back, it schedules a sweep of the whole
// folder.
func (a *reconciler) sweepUnwatched(ctx context.Context) {
	if !a.compared {
		return
	}
	if a.opt.Away != nil {
		switch away := a.opt.Away(); {
		case away && !a.away.Load():
			a.setUnwatched(ctx, repo.UnwatchedAway)
		case !away && a.away.Load():
			a.sweepSoon()
		}
	}
	folders, some := a.unwatchedFolders()
	if some != a.limited() && !a.away.Load() {
		a.updateUnwatched(ctx, nil)
	}
	if slices.Contains(folders, "") {
		a.sweepSoon() // the whole folder is not watched
		return
	}
	for _, folder := range folders {
		if ctx.Err() != nil {
			return
		}
		a.report(ctx, a.followFolder(ctx, folder))
	}
}

package checkout

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
)

const (
	// settle is how long hints are gathered before the files are looked at.
	settle = 100 * time.Millisecond

	// A sweep stands behind the watching, for what nobody told of; where watching is not to be had it
	// is all there is. It takes at most one part in restShare of the time.
	sweepWatched = time.Minute
	sweepAlone   = 2 * time.Second
	restShare    = 400

	// displacedEvery is how often displaced files whose time is over are looked at.
	displacedEvery = 5 * time.Second
)

// An attendant looks after what others do in the folder, until it is told to stop.
type attendant struct {
	*Checkout
	tree    blob.Watch      // nil: nobody watches
	hints   <-chan struct{} // of the tree
	hinted  bool            // hints are being gathered
	looking *time.Timer     // they are to be looked at
	closing *time.Timer     // the batch may be due
	next    *time.Timer     // a sweep is
	late    *time.Ticker    // displaced files are
	blind   *time.Ticker    // folders that are not watched are looked at
	alone   string          // why sweeps have to do without a watcher, as it was logged last

	// compared says that a sweep has reached its end. Before, what was held when the last process ended
	// is not known to be so still, and nothing is taken in.
	compared bool
}

// stir wakes the attendant: there is an edit. The caller holds mu.
func (c *Checkout) stir() {
	select {
	case c.stirred <- struct{}{}:
	default:
	}
}

// attend compares the folder with the log, then follows what others do there.
func (c *Checkout) attend(ctx context.Context) {
	defer close(c.attended)
	a := &attendant{
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

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// watch begins to watch, or begins anew where the folder was taken away and made again. Where there is
// no folder yet, or nothing to watch it with, sweeps do without.
func (a *attendant) watch() {
	if a.opt.Watch == nil || a.tree != nil && !a.tree.Lost() {
		return
	}
	a.unwatch()
	if tree, err := a.opt.Watch(enter); err == nil {
		a.tree, a.hints = tree, tree.C()
	}
}

// watched reports whether every change is told. Why not is logged, each reason once.
func (a *attendant) watched(ctx context.Context) bool {
	if a.tree == nil {
		return false
	}
	why := a.tree.Reason()
	if why != "" && why != a.alone {
		a.log.WarnContext(ctx, "some changes in the folder are not reported by the system; it is compared "+
			"periodically",
			slog.String("vault", a.vault.Name), slog.String("why", why))
	}
	a.alone = why
	return why == ""
}

func (a *attendant) unwatch() {
	if a.tree != nil {
		_ = a.tree.Close() // it was only read
	}
	a.tree, a.hints = nil, nil
}

// step waits for the next thing to do, and does it.
func (a *attendant) step(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-a.hints:
		if !a.hinted { // or hints that come all the time would be gathered forever
			a.hinted = true
			a.looking.Reset(a.span(settle))
		}
	case <-a.looking.C:
		a.follow(ctx)
	case <-a.stirred:
		a.wait(a.plan(), 0)
	case <-a.closing.C:
		a.takeInDue(ctx)
	case <-a.next.C:
		a.sweep(ctx)
	case <-a.blind.C:
		a.sweepUnwatched(ctx)
	case <-a.late.C:
		a.report(ctx, a.takeInDisplaced(ctx, a.files.Due(ctx)))
	}
}

// sweep compares the whole folder, and takes in what changed while nobody looked.
func (a *attendant) sweep(ctx context.Context) {
	a.watch() // before the files are looked at: what changes then is told
	began := time.Now()
	_, err := a.sweepAll(ctx, a.first())
	a.report(ctx, err)
	a.doubt(ctx, err)
	pause := sweepAlone
	if a.watched(ctx) && err == nil {
		pause = sweepWatched
	}
	a.next.Reset(a.span(max(pause, restShare*time.Since(began))))
	if err == nil && !a.compared {
		a.compared = true
		a.readFirst(ctx)
	}
	if a.first() {
		close(a.ready) // complete, or given up: no call is to wait for a folder that cannot be read
	}
}

// readFirst syncs what the first complete sweep found, as it is now: the first reading waits for no quiet,
// but for that of removals.
func (a *attendant) readFirst(ctx context.Context) {
	a.report(ctx, a.takeInDisplaced(ctx, a.files.Displaced(ctx)))
	a.awaitRemovals(ctx)
	_, err := a.TakeIn(ctx, Taking{unasked: true, initial: true})
	a.report(ctx, err)
	if read, _ := a.Reading(); read.Read > manyRead {
		debug.FreeOSMemory() // their texts are garbage now, and the next ones may come hours later
		a.vault.WantImage()  // from which the vault goes on, in less memory
	}
	a.wait(a.plan(), a.span(settle))
}

// manyRead is how many files the first reading must have synced for the memory that this took to be given
// back at once.
const manyRead = 500

// first reports whether this is the first sweep.
func (c *Checkout) first() bool {
	select {
	case <-c.ready:
		return false
	default:
		return true
	}
}

// span returns how long a time of this package is here: tests set another pace.
func (c *Checkout) span(d time.Duration) time.Duration {
	return time.Duration(float64(d) / cmp.Or(c.opt.pace, 1))
}

// takeInDue syncs the edits that are due.
func (a *attendant) takeInDue(ctx context.Context) {
	if !a.compared {
		return // the sweep that is complete takes it in
	}
	p := a.plan()
	var err error
	if p.paired {
		err = a.lookAgain(ctx)
		p = a.plan()
	}
	if err == nil && p.due() {
		_, err = a.TakeIn(ctx, Taking{unasked: true, part: &p})
		p = a.plan()
	}
	if err != nil {
		a.report(ctx, err)
		a.closing.Reset(a.span(quiet))
		return
	}
	a.wait(p, a.span(settle))
}

// wait has the plan made again when more edits may be due, but not before least has passed.
func (a *attendant) wait(p plan, least time.Duration) {
	switch {
	case p.due():
		a.closing.Reset(least)
	case p.wait != never:
		a.closing.Reset(max(p.wait, least))
	}
}

// lookAgain looks at what changed until now: else half of a large change could be taken in alone, while
// the other half is there to be seen.
func (a *attendant) lookAgain(ctx context.Context) error {
	if a.tree != nil && a.tree.Reason() == "" {
		a.follow(ctx)
		return nil
	}
	_, err := a.Sweep(ctx)
	return err
}

// report logs what went wrong, unless the vault is gone, or the attendant is to stop.
func (a *attendant) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		a.complain(ctx, err)
	}
}

// Ready waits until the folder was compared with the log once, and what was found is taken in, or held.
func (c *Checkout) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.attended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

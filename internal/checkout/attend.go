package checkout

import (
	"context"
	"log/slog"
	"time"

	"rookery/internal/fault"
	"rookery/internal/watch"
)

const (
	// quiet is how long nothing must have changed for a batch of edits to be taken in (log.md §5).
	quiet = 2 * time.Second

	// patience is how long a batch waits for quiet. After it, a file that is changed all the time keeps
	// the others waiting no more, as long as no new ones come; where something is to be taken away, when
	// none have come for as long. So half of a large change is never taken in alone.
	patience = time.Minute

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
	tree    *watch.Tree     // nil: nobody watches
	hints   <-chan struct{} // of the tree
	hinted  bool            // hints are being gathered
	looking *time.Timer     // they are to be looked at
	closing *time.Timer     // the batch may be due
	next    *time.Timer     // a sweep is
	late    *time.Ticker    // displaced files are
	alone   string          // why sweeps have to do without a watcher, as it was logged last
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
		late: time.NewTicker(c.span(displacedEvery)),
	}
	defer a.late.Stop()
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
		a.log.WarnContext(ctx, "not every change in the folder is told; it is compared from time to time",
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
		a.closing.Reset(a.dueIn())
	case <-a.closing.C:
		a.takeInDue(ctx)
	case <-a.next.C:
		a.sweep(ctx)
	case <-a.late.C:
		a.report(ctx, a.takeInDisplaced(ctx, a.files.Due(ctx)))
	}
}

// sweep compares the whole folder, and takes in what changed while nobody looked.
func (a *attendant) sweep(ctx context.Context) {
	a.watch() // before the files are looked at: what changes then is told
	began := time.Now()
	_, err := a.Sweep(ctx)
	a.report(ctx, err)
	pause := sweepAlone
	if a.watched(ctx) {
		pause = sweepWatched
	}
	a.next.Reset(a.span(max(pause, restShare*time.Since(began))))
	if a.first() {
		a.report(ctx, a.takeInDisplaced(ctx, a.files.Displaced(ctx)))
		a.takeInFirst(ctx)
		close(a.ready)
	}
}

// takeInFirst takes in what changed while nobody looked. It waits until that is at rest, but not for
// long: somebody waits for an answer.
func (a *attendant) takeInFirst(ctx context.Context) {
	for until := time.Now().Add(a.span(3 * quiet)); time.Now().Before(until); {
		wait := a.dueIn()
		if a.idle() || wait == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
	a.takeInDue(ctx)
}

// idle reports whether there is nothing to take in, and nothing new to say of what is held.
func (c *Checkout) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.outside.anyFresh() && !c.outside.less
}

// first reports whether this is the first sweep.
func (c *Checkout) first() bool {
	select {
	case <-c.ready:
		return false
	default:
		return true
	}
}

// dueIn is how long the batch has to wait still, as it stands now.
func (c *Checkout) dueIn() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dueAt(time.Now())
}

// dueAt is how long the batch has to wait at a time; not at all if it is due. The caller holds mu.
func (c *Checkout) dueAt(now time.Time) time.Duration {
	o, rest := &c.outside, c.span(quiet)
	wait := rest - now.Sub(o.last)
	alone := now.Sub(o.joined) // so long no new file has changed
	if alone >= c.span(patience) ||
		alone >= rest && now.Sub(o.begun) >= c.span(patience) && !o.takesAway() {
		return 0
	}
	return max(0, min(wait, rest))
}

// span is how long a time of this package is here: tests hurry, and everything else waits for as long
// as it says.
func (c *Checkout) span(d time.Duration) time.Duration { return d / max(1, c.opt.hurry) }

// takesAway reports whether the batch has a file that is gone.
func (o *outside) takesAway() bool {
	for _, e := range o.edits {
		if !e.held && e.mark == "" {
			return true
		}
	}
	return false
}

// takeInDue takes the batch in, if it is due.
func (a *attendant) takeInDue(ctx context.Context) {
	if a.idle() || !a.closes() {
		return
	}
	err := a.lookAgain(ctx)
	if err == nil && !a.closes() {
		return
	}
	if err == nil {
		_, err = a.TakeIn(ctx, Taking{unasked: true})
	}
	a.report(ctx, err)
	if err != nil || !a.idle() {
		a.closing.Reset(a.span(quiet)) // it is tried again
	}
}

// closes reports whether the batch is due; if it is not, it is asked again when it may be.
func (a *attendant) closes() bool {
	wait := a.dueIn()
	if wait > 0 {
		a.closing.Reset(wait)
	}
	return wait == 0
}

// lookAgain looks at what changed until now: else half of a large change could be taken in alone, while
// the other half is there to be seen.
func (a *attendant) lookAgain(ctx context.Context) error {
	if a.tree != nil && a.tree.Whole() {
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

package checkout

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

// every is the time between two saves, which sync written files and update the audit log
// (reference/log.md §4).
const every = time.Second

// run saves in the background and runs reconcile until Close. At the end it stops the reconciler
// first, because that may still commit edits, and then saves once more and stores the memory for
// the next process.
func (c *Checkout) run() {
	defer close(c.done)
	ctx, cancel := context.WithCancel(context.Background())
	go c.reconcile(ctx)
	defer func() {
		cancel()
		<-c.reconciled
		c.save(context.Background(), 0)
		c.saveStatCache(context.Background())
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.save(context.Background(), c.span(longestYield))
		case <-c.stop:
			return
		}
	}
}

// Close makes everything durable and stops the background goroutines. The vault must not be written
// to any more. Close may be repeated, and waits until the Checkout has stopped. It returns no
// error: the next process writes the files and the cursors again that the last save could not sync.
func (c *Checkout) Close() {
	c.closing.Do(func() { close(c.stop) })
	<-c.done
}

// save syncs written files, updates the audit log and moves the cursors. Files are synced without
// mu, so that callers do not wait; only an erasure does. The set of unsaved files is taken before
// the sync and put back if it fails, so that a file which is written during the sync is synced by
// the next save. It waits while a call writes, for yields in all; see longestYield.
func (c *Checkout) save(ctx context.Context, yields time.Duration) {
	yields -= c.yield(yields)
	defer c.lockSaving()()
	c.mu.Lock()
	c.collect()
	c.write(ctx)
	c.forgetLags()
	c.publishEdits(ctx)
	files := flush{c.unsaved, c.written, len(c.unwritten) == 0}
	c.unsaved = map[string]bool{}
	c.mu.Unlock()
	if err := c.saveFiles(ctx, files, yields); err != nil {
		c.mu.Lock()
		maps.Copy(c.unsaved, files.paths)
		c.mu.Unlock()
		c.logSyncError(ctx, err)
	}
	if err := c.saveAudit(ctx); err != nil {
		c.logSyncError(ctx, err)
	}
}

// appendAudit appends the lines of commits to the audit log. If that fails, the lines return to
// c.added, in front of those that came later. The caller holds saving.
func (c *Checkout) appendAudit(ctx context.Context) error {
	if c.opt.ReadOnly {
		return nil
	}
	c.mu.Lock()
	added := c.added.Take()
	c.mu.Unlock()
	c.audit.NoteErasures(ctx, added) // before the cursor passes them, while the log still has what they erase
	err := c.audit.Save(ctx, added)
	if err != nil {
		c.mu.Lock()
		c.added.PutBack(added)
		c.mu.Unlock()
	}
	return err
}

// saveAudit calls appendAudit, and removes the lines of erased histories from the audit log.
func (c *Checkout) saveAudit(ctx context.Context) error {
	err := c.appendAudit(ctx)
	if !c.opt.ReadOnly && c.vault.AuditStale() {
		err = errors.Join(err, c.audit.Redact(ctx))
	}
	return err
}

// logSyncError logs an error of the sync between folder and log, unless the vault is being erased.
func (c *Checkout) logSyncError(ctx context.Context, err error) {
	if fault.Is(err, fault.NotFound) {
		return // the vault is being erased: no sync is needed
	}
	c.logLimited(ctx, "the folder could not be synced with the log", err)
}

// logLimited logs an error of the step what, at most once a minute for the same cause.
func (c *Checkout) logLimited(ctx context.Context, what string, err error) {
	if !c.logLimiter.isRepeated(what, err, c.span(logEvery)) {
		c.log.ErrorContext(ctx, what, slog.String("vault", c.vault.Name), slog.Any("cause", err))
	}
}

// A flush is the input of one save.
type flush struct {
	paths   map[string]bool
	written uint64
	whole   bool // no file is behind the log
}

// A save syncs loggedAfter files before it appends to the audit log again, whose lines contain the
// texts of an import and must not stay in memory until all files are durable.
//
// Before it begins, and before each syncedAtOnce files, a save waits if a call writes, until no call has
// written for calm, and for longestYield in all if no call waits for the save: the syncs of a thousand
// files would slow down both the files that the call writes and the sync of the log that it waits for.
// Saves that are late sync a file that was written several times only once.
const (
	loggedAfter  = 512
	syncedAtOnce = 16
	calm         = 50 * time.Millisecond
	longestYield = 5 * time.Second
	yieldStep    = 5 * time.Millisecond
)

// saveFiles syncs the files. It moves the cursor only if no file is behind the log: the next
// process rewrites the files of all commits after the cursor, and a file that is behind must be
// among them. The caller holds saving.
func (c *Checkout) saveFiles(ctx context.Context, b flush, yields time.Duration) error {
	for logged := range slices.Chunk(slices.Sorted(maps.Keys(b.paths)), loggedAfter) {
		_ = c.appendAudit(ctx) // if it fails, it is repeated after the files, and the error is reported then
		for some := range slices.Chunk(logged, syncedAtOnce) {
			yields -= c.yield(yields)
			if err := c.files.Sync(ctx, some...); err != nil {
				return err
			}
		}
	}
	if !b.whole || b.written <= c.saved {
		return nil
	}
	if err := c.vault.Advance(ctx, repo.FilesCursor, eventlog.Cursor{Seq: b.written}); err != nil {
		return err
	}
	c.saved = b.written
	return nil
}

// yield waits if a call writes to the vault, until none has written for calm: at most for a time, and
// not while something waits for the save or after Close. It returns how long it waited; most if it need
// not wait again.
func (c *Checkout) yield(most time.Duration) (waited time.Duration) {
	quiet := c.span(calm)
	for still := quiet; waited < most; waited += yieldStep {
		if c.vault.Writing() {
			still = 0
		}
		if still >= quiet {
			return waited
		}
		if c.awaited.Load() > 0 {
			return most
		}
		select {
		case <-time.After(yieldStep):
			still += yieldStep
		case <-c.stop:
			return most
		}
	}
	return waited
}

// lockSaving locks saving and returns the function that unlocks it. A save that waits for calls goes
// on at once.
func (c *Checkout) lockSaving() (unlock func()) {
	c.awaited.Add(1)
	c.saving.Lock()
	c.awaited.Add(-1)
	return c.saving.Unlock
}

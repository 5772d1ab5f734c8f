package checkout

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rookery/internal/fault"
	"rookery/internal/repo"
)

// every is how often what was written is synced and the audit log is folded, while there is
// something to do (reference/log.md §4).
const every = time.Second

// keep syncs and folds in the background until Close, and looks after what others do in the folder.
func (c *Checkout) keep() {
	defer close(c.done)
	ctx, cancel := context.WithCancel(context.Background())
	go c.attend(ctx)
	defer func() {
		cancel()
		<-c.attended
		c.save(context.Background())
		c.retain(context.Background())
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.save(context.Background())
		case <-c.stop:
			return
		}
	}
}

// Close makes everything durable and stops. The vault must not be written to any more. A second
// Close does nothing.
func (c *Checkout) Close() {
	c.closing.Do(func() { close(c.stop) })
	<-c.done
}

// save makes durable what was written, and moves the cursors. Nobody waits for it but who erases: the
// files are synced without mu.
func (c *Checkout) save(ctx context.Context) {
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	c.collect()
	c.write(ctx)
	c.forgetLags()
	c.tell(ctx)
	files := flush{c.unsaved, c.written, len(c.waiting) == 0}
	c.unsaved = map[string]bool{}
	c.mu.Unlock()
	if err := c.saveFiles(ctx, files); err != nil {
		c.mu.Lock()
		maps.Copy(c.unsaved, files.paths)
		c.mu.Unlock()
		c.complain(ctx, err)
	}
	if err := c.saveAudit(ctx); err != nil {
		c.complain(ctx, err)
	}
}

// appendAudit appends what commits added to the audit log. The caller holds saving.
func (c *Checkout) appendAudit(ctx context.Context) error {
	if c.opt.ReadOnly {
		return nil
	}
	c.mu.Lock()
	added := c.added.Take()
	c.mu.Unlock()
	c.audit.Foresee(ctx, added) // before the cursor passes them: what they erase is still there
	err := c.audit.Save(ctx, added)
	if err != nil {
		c.mu.Lock()
		c.added.Return(added)
		c.mu.Unlock()
	}
	return err
}

// saveAudit is appendAudit, and takes the lines of erased histories out of the audit log.
func (c *Checkout) saveAudit(ctx context.Context) error {
	err := c.appendAudit(ctx)
	if !c.opt.ReadOnly && c.vault.AuditStale() {
		err = errors.Join(err, c.audit.Redact(ctx))
	}
	return err
}

func (c *Checkout) complain(ctx context.Context, err error) {
	if fault.Is(err, fault.NotFound) {
		return // the vault is being erased: there is nothing to keep in step
	}
	c.grumble(ctx, "the folder could not be synced with the log", err)
}

// grumble logs what went wrong, once a minute as long as the cause is the same.
func (c *Checkout) grumble(ctx context.Context, what string, err error) {
	if !c.grumbled.again(what, err, c.span(grumbleEvery)) {
		c.log.ErrorContext(ctx, what, slog.String("vault", c.vault.Name), slog.Any("cause", err))
	}
}

// A flush is what one save makes durable.
type flush struct {
	paths   map[string]bool
	written uint64
	whole   bool // no file is behind
}

// syncedAtOnce is how many files are synced before the audit log is appended to again: its lines have the texts of an
// import, and are not to wait in memory until all its files are durable.
const syncedAtOnce = 512

// saveFiles syncs the files. The cursor passes only synced files, and none that is behind.
func (c *Checkout) saveFiles(ctx context.Context, b flush) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(b.paths)), syncedAtOnce) {
		_ = c.appendAudit(ctx) // if it fails, it is tried again behind the files, and then said
		if err := c.files.Sync(ctx, some...); err != nil {
			return err
		}
	}
	if !b.whole || b.written <= c.saved {
		return nil
	}
	if err := c.vault.Advance(ctx, repo.FilesCursor, repo.Cursor{Seq: b.written}); err != nil {
		return err
	}
	c.saved = b.written
	return nil
}

package checkout

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// every is how often what was written is synced and the audit log is folded, while there is
// something to do (reference/log.md §4).
const every = time.Second

// keep syncs and folds in the background until Close.
func (c *Checkout) keep() {
	defer close(c.done)
	swept := c.sweepOnce()
	defer func() { <-swept }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.save(context.Background())
		case <-c.stop:
			c.save(context.Background())
			return
		}
	}
}

// sweepOnce compares the folder with the log once, so that edits made while nobody served it are
// told of. It stops with Close; the channel is closed when it has.
func (c *Checkout) sweepOnce() <-chan struct{} {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		<-c.stop
		cancel()
	}()
	go func() {
		defer close(done)
		_, err := c.Sweep(ctx, false)
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
			c.complain(ctx, err)
		}
	}()
	return done
}

// Close makes everything durable and stops. The vault must not be written to any more. A second
// Close does nothing.
func (c *Checkout) Close() {
	c.closing.Do(func() { close(c.stop) })
	<-c.done
}

// save makes durable what was written, and moves the cursors. Only keep calls it. Nobody waits for
// it: the files are synced without mu.
func (c *Checkout) save(ctx context.Context) {
	c.mu.Lock()
	c.collect()
	c.write(ctx)
	c.tell(ctx)
	files := batch{c.unsaved, c.written, len(c.waiting) == 0}
	lines, seen := c.audit.lines, c.audit.seen
	c.unsaved, c.audit.lines = map[string]bool{}, nil
	c.mu.Unlock()
	if err := c.saveFiles(ctx, files); err != nil {
		c.mu.Lock()
		maps.Copy(c.unsaved, files.paths)
		c.mu.Unlock()
		c.complain(ctx, err)
	}
	if err := c.saveAudit(ctx, lines, seen); err != nil {
		c.mu.Lock()
		c.audit.lines = append(lines, c.audit.lines...)
		c.mu.Unlock()
		c.complain(ctx, err)
	}
}

func (c *Checkout) complain(ctx context.Context, err error) {
	c.log.ErrorContext(ctx, "the folder could not be brought in step with the log",
		slog.String("vault", c.vault.Name), slog.Any("cause", err))
}

// A batch is what one save makes durable.
type batch struct {
	paths   map[string]bool
	written uint64
	whole   bool // no file is behind
}

// saveFiles syncs the files. The cursor passes only synced files, and none that is behind.
func (c *Checkout) saveFiles(ctx context.Context, b batch) error {
	if len(b.paths) > 0 {
		if err := c.files.Sync(ctx, slices.Sorted(maps.Keys(b.paths))...); err != nil {
			return err
		}
	}
	if !b.whole || b.written <= c.saved {
		return nil
	}
	if err := c.vault.Advance(ctx, filesCursor, repo.Cursor{Seq: b.written}); err != nil {
		return err
	}
	c.saved = b.written
	return nil
}

// An audit is the state of `.raven/audit.log`: how far it is durable, and the lines that come next.
type audit struct {
	cursor repo.Cursor // only save changes it
	seen   uint64      // the lines hold the commits up to here
	lines  []byte
}

// add takes the lines of a commit, unless the file has them.
func (a *audit) add(c *repo.Commit) {
	if c.Seq <= a.cursor.Seq || c.Seq <= a.seen {
		return
	}
	a.lines = append(a.lines, repo.AuditLines(c)...)
	a.seen = c.Seq
}

// saveAudit appends the lines, which hold the commits up to seen.
func (c *Checkout) saveAudit(ctx context.Context, lines []byte, seen uint64) error {
	at := c.audit.cursor
	if seen <= at.Seq {
		return nil
	}
	if len(lines) > 0 {
		err := c.files.Append(ctx, vault.AuditLog, at.Size, lines)
		if errors.Is(err, blob.ErrCondition) {
			return c.rewriteAudit(ctx, seen)
		}
		if err != nil {
			return err
		}
	}
	return c.auditTo(ctx, repo.Cursor{Seq: seen, Size: at.Size + int64(len(lines))})
}

// auditTo makes the audit log durable up to a cursor.
func (c *Checkout) auditTo(ctx context.Context, to repo.Cursor) error {
	if to.Size > 0 {
		if err := c.files.Sync(ctx, vault.AuditLog); err != nil {
			return err
		}
	}
	if err := c.vault.Advance(ctx, auditCursor, to); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.audit.cursor = to
	return nil
}

// rewriteAudit makes the file anew from the log: somebody cut it, or took it away.
func (c *Checkout) rewriteAudit(ctx context.Context, seen uint64) error {
	to := repo.Cursor{Seq: seen}
	for commit, err := range c.vault.Commits(ctx, 1) {
		if err != nil {
			return err
		}
		if commit.Seq > seen {
			break
		}
		lines := repo.AuditLines(commit)
		if err := c.files.Append(ctx, vault.AuditLog, to.Size, lines); err != nil {
			return err
		}
		to.Size += int64(len(lines))
	}
	return c.auditTo(ctx, to)
}

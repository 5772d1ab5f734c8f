package checkout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
)

// commit ingests a part of the batch.
func (b *batch) commit(ctx context.Context, piece []*found) error {
	e, err := intake.Commit(ctx, b.vault, b.call(), piece)
	if err != nil {
		return err
	}
	b.done.Add(e.Taken)
	return b.settle(ctx, &e)
}

// reindex is the operation of commits that ingest edits.
const reindex = intake.Tool

// call returns the call that ingests edits. When a folder is read for the first time, no events are
// reported: the notes are as old as their files.
func (b *batch) call() eventlog.Call {
	call := eventlog.Call{
		Who: cmp.Or(b.who, b.opt.Who), Tool: reindex, Outside: true, Silent: b.begins && b.first(),
	}
	if b.git {
		call.Cause = index.CauseGit
	}
	return call
}

// settle writes the files after a commit: it records those that are skipped, and restores those
// that must stay.
func (b *batch) settle(ctx context.Context, e *intake.Effect) error {
	c := b.Checkout
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	for path, f := range e.Left {
		c.drop(path)
		f.Path = c.key(path)
		c.leave(f)
	}
	for _, f := range e.Stay {
		err := c.restore(ctx, f.Path)
		if err != nil {
			return fmt.Errorf("write a file again: %w", err)
		}
		b.done.Restored++
	}
	return nil
}

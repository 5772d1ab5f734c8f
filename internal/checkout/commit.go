package checkout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
)

// commit ingests a part of the batch in one commit, and then updates the files. It has the shape
// that intake.InHalves needs: a fault that the part is too large leads to two calls with its
// halves.
func (b *batch) commit(ctx context.Context, piece []*found) error {
	e, err := intake.Commit(ctx, b.vault, b.call(), piece)
	if err != nil {
		return err
	}
	b.done.Add(e.Taken)
	return b.writeFiles(ctx, &e)
}

// reindex is the operation of commits that ingest edits. It is recorded in each of them; await and
// removals recognize these commits by it.
const reindex = intake.Tool

// call returns the call that ingests edits. When a folder is read for the first time, no events are
// reported: the notes are as old as their files.
func (b *batch) call() eventlog.Call {
	call := eventlog.Call{
		Who: cmp.Or(b.who, b.opt.Who), Tool: reindex, Outside: true, Silent: b.isNew && b.first(),
	}
	if b.git {
		call.Cause = index.CauseGit
	}
	return call
}

// writeFiles writes the files after a commit: it records those that the vault refused, and restores
// those that must stay in the folder. A refused file keeps its text, so it must not be written; its
// edit is dropped, because it would be refused again until the file changes.
func (b *batch) writeFiles(ctx context.Context, e *intake.Effect) error {
	c := b.Checkout
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	for path, f := range e.Left {
		c.drop(path)
		f.Path = c.key(path)
		c.recordSkipped(f)
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

package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// An IngestOptions contains the options of an ingest. The zero value ingests all edits and leaves a
// held batch held.
type IngestOptions struct {
	// Pending decides about the held batch: Accept ingests it as it is now, Discard restores its
	// files from the log. If it is empty, the batch stays held.
	Pending Pending

	// Who made the decision, and becomes the author of the commits. Prefix limits the notes that
	// this caller may change. A batch covers the whole folder, so a caller with a prefix cannot
	// decide about it.
	Who    eventlog.Who
	Prefix string

	background bool  // no call asked for it: edits that may be unfinished can wait
	initial    bool  // it is the first reading
	part       *plan // only these edits; nil: all

	// DryRun returns the result that the ingest would have, and writes nothing.
	DryRun bool
}

// Pending is a decision about a held batch.
type Pending string

// The decisions.
const (
	Accept  Pending = "accept"
	Discard Pending = "discard"
)

// An IngestResult is the result of an ingest.
type IngestResult = intake.Taken

// Reindex compares the folder with the log and ingests the differences, without waiting for a quiet
// moment: it is the call of a person or an agent that knows that the files are complete. It first
// tries the files again that the vault refused. Its cost is one listing of the folder, and a read
// of each file whose mark has changed.
func (c *Checkout) Reindex(ctx context.Context, t IngestOptions) (IngestResult, error) {
	c.forgetRefused()
	if _, err := c.Sweep(ctx); err != nil {
		return IngestResult{}, err
	}
	return c.Ingest(ctx, t)
}

// forgetRefused forgets which files the vault refused, because it may accept them now: its quota
// may have been raised, or the other of two files with equal names may be gone. Files with other
// reasons are examined again when they change.
func (c *Checkout) forgetRefused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, f := range c.pending.skipped {
		if f.Why == repo.LeftQuota || f.Why == repo.LeftTwin {
			c.forgetSkipped(key)
		}
	}
}

// Ingest ingests the known edits, and updates the files to the result. It does not look for edits;
// see Sweep. The held batch stays held, unless t.Pending decides about it. If Ingest fails on the
// way, it returns the result of the edits that were ingested before, together with the error.
//
// Its steps are: gather reads the files, guard separates the edits that need confirmation,
// commitAll commits the others in pieces, and finish compares the files of all of them with the log
// again. Calls run one at a time.
//
// It returns PERMISSION_DENIED if a caller that is limited to a prefix decides about the held
// batch. It returns INDEX_ERROR for ingests of the reconciler if the log has lost versions that the
// folder has: then a call must decide that the folder is ingested.
func (c *Checkout) Ingest(ctx context.Context, t IngestOptions) (IngestResult, error) {
	if t.Pending != "" && t.Prefix != "" {
		return IngestResult{}, eventlog.OutsidePrefix(t.Prefix)
	}
	if t.background && c.hasLost {
		return IngestResult{}, fault.New(fault.IndexError, "the log has lost versions that the folder has")
	}
	c.ingesting.Lock()
	defer c.ingesting.Unlock()
	defer c.clearRead()
	b, err := c.gather(ctx, t)
	if err != nil {
		return IngestResult{}, err
	}
	if t.DryRun {
		return b.dryRun(ctx, t.Pending)
	}
	if t.Pending != "" {
		b.who = t.Who
	}
	if t.Pending == Discard {
		if err := b.discard(ctx); err != nil {
			return b.done, err
		}
		return b.done, b.finish(ctx)
	}
	b.guard(t.Pending == Accept)
	b.extendStreak(t.Pending)
	if err := b.commitAll(ctx); err != nil {
		return b.done, err
	}
	return b.done, b.finish(ctx)
}

// clearRead ends an ingest: it records that no text that was read is about to be ingested any more.
// After it, a commit of another writer no longer assumes that its file has the text that was read.
func (c *Checkout) clearRead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.pending.read)
}

// commitAll ingests the batch in pieces, and reports the progress of a large one. It stops at the
// first error; pieces that were committed before stay committed and are counted in b.done.
func (b *batch) commitAll(ctx context.Context) error {
	pieces, done, total := intake.Pieces(b.found), 0, 0
	for _, piece := range pieces {
		total += len(piece)
	}
	b.found = nil // so that the texts of each piece are garbage when it is committed
	for i, piece := range pieces {
		pieces[i] = nil
		err := intake.InHalves(piece, func(part []*found) error { return b.commit(ctx, part) })
		if err != nil {
			return err
		}
		if b.first() {
			b.progress.add(len(piece), 0)
		}
		if done += len(piece); b.opt.Progress != nil && total > intake.PieceFiles {
			b.opt.Progress(done, total)
		}
	}
	return nil
}

// A batch is a set of edits that are ingested together. It is used by one goroutine, which holds
// ingesting; it embeds the Checkout, whose mu it locks for each step.
type batch struct {
	*Checkout
	whole      bool // it contains all held edits
	background bool
	initial    bool
	found      []*found
	held       []*found     // those that need confirmation
	paths      []string     // of all edits that were known
	total      int          // number of notes in the vault
	git        bool         // git changed the files; see fromGit
	who        eventlog.Who // who decided about the held batch; empty: no one has
	done       IngestResult
}

// pause delays the next try of edits of the batch that could not be ingested, by debounce. Without
// it, an edit that always fails would be tried again at once, in a loop. Edits that wait with the
// removals have their own wait. The caller holds mu.
func (c *Checkout) pause(b *batch) {
	until := time.Now().Add(c.span(debounce))
	for _, path := range b.paths {
		if e := c.pending.edits[path]; e != nil && !e.withRemoval {
			e.retryAt = until
		}
	}
}

// finish updates the files to the result of the ingest, and records the held edits in the control
// item. Each file of the batch is examined again: an edit that was ingested is gone then, and one
// that remains, because it failed or the file changed, is tried again after debounce.
func (b *batch) finish(ctx context.Context) error {
	c := b.Checkout
	for _, path := range b.paths {
		if err := c.examineNow(ctx, path); err != nil {
			return fmt.Errorf("read what was synced: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause(b)
	if b.whole {
		c.guardRemovals(b.held)
	} else {
		c.holdMore(b.held)
	}
	b.done.Held = c.pending.held
	c.publishEdits(ctx)
	return nil
}

// Turn waits for the turn of a caller that reindexes and then stores its answer, so that the second
// of two calls with one idempotency key finds the answer of the first. done ends the turn; it must
// be called once. Turn returns the error of ctx if it ends first, and then done is nil.
func (c *Checkout) Turn(ctx context.Context) (done func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dryRun returns the result that ingesting the batch would have. It changes nothing. Each piece is
// tried on the present state of the vault, so that effects of one piece on another, such as two new
// notes with names that differ only by case, can be missing from the result.
func (b *batch) dryRun(ctx context.Context, p Pending) (IngestResult, error) {
	if p == Discard {
		for _, f := range b.found {
			if f.Kept {
				b.done.Restored++
			}
		}
		return b.done, nil
	}
	b.guard(p == Accept)
	for _, piece := range intake.Pieces(b.found) {
		err := intake.InHalves(piece, func(part []*found) error { return b.dryRunPart(ctx, part) })
		if err != nil {
			return b.done, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Held = b.heldOf(b.held)
	return b.done, nil
}

// dryRunPart adds the result that ingesting a part of the batch would have. The files that commit
// would restore count as restored.
func (b *batch) dryRunPart(ctx context.Context, piece []*found) error {
	e, err := intake.Try(ctx, b.vault, b.call(), piece)
	if err != nil {
		return err
	}
	b.done.Add(e.Taken)
	b.done.Restored += len(e.Stay)
	return nil
}

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

// discard restores the files of the held batch from the log. Texts that are in no version of the
// vault are moved to its trash first, so that they are not lost. Edits that are not held stay
// pending.
//
// It returns READ_ONLY if the folder cannot be written. If it is interrupted between the commit to
// the trash and the last file, a repetition finds these texts in the vault, and continues with the
// files.
func (b *batch) discard(ctx context.Context) error {
	if b.opt.ReadOnly {
		return fault.New(fault.ReadOnly, "the folder cannot be written, so nothing can be restored in it")
	}
	b.found = slices.DeleteFunc(b.found, func(f *found) bool { return !f.Kept })
	err := intake.InHalves(intake.Unknown(b.found), func(part []*found) error {
		return intake.Bin(ctx, b.vault, b.call(), part)
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.collect()
	b.write(ctx)
	for _, gone := range []bool{false, true} { // if names fold, a file must be removed before its other name is written
		for _, f := range b.found {
			if f.Gone() != gone {
				continue
			}
			if err := b.putBack(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack restores one file from the log, unless it has changed since it was found: then it stays,
// and is another edit. A file that the log does not have is removed. The caller holds mu.
func (b *batch) putBack(ctx context.Context, f *found) error {
	if f.Gone() {
		if _, note := b.at.File(f.Path); note {
			b.done.Restored++
		}
		return b.restore(ctx, f.Path)
	}
	now, _ := b.at.File(f.Path)
	err := b.replace(ctx, f.Path, &change{after: now}, f.Text)
	if _, ok := errors.AsType[*blob.Found](err); ok {
		return nil // it was changed again, which is another edit
	}
	if err == nil {
		b.done.Restored++
		b.unsaved[f.Path] = true
	}
	return err
}

package checkout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A found is an outside edit, with the content of the file in the folder.
type found = intake.Found

// gather reads the files of all edits, or of those in t.part, and returns them as a batch. It pairs
// the halves of moves and finds the text with which each edit began.
//
// Each file is read under mu, and mu is released between files, so writers wait for one file at
// most. The batch is therefore not a snapshot of the folder. That does no harm: a file that changes
// after it was read is another edit, and intake.Commit compares each edit with the state of the log
// in its own transaction.
func (c *Checkout) gather(ctx context.Context, t IngestOptions) (*batch, error) {
	if err := c.examineSpellings(ctx); err != nil {
		return nil, err
	}
	return c.gatherKnown(ctx, t)
}

// gatherKnown is gather for edits whose files are known to have the spellings of their paths.
func (c *Checkout) gatherKnown(ctx context.Context, t IngestOptions) (*batch, error) {
	b := &batch{
		Checkout: c, whole: t.part == nil || t.part.held, background: t.background, initial: t.initial,
	}
	b.choose(t.part)
	for _, path := range b.paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := c.read(ctx, path, t)
		if err != nil {
			return nil, err
		}
		if f != nil && (!t.background || !c.unfinished(f)) {
			b.found = append(b.found, f)
		}
	}
	if err := b.checkFolder(ctx); err != nil {
		return nil, err
	}
	intake.Pair(b.found)
	if err := intake.LookBack(ctx, b.vault, b.found); err != nil {
		return nil, err
	}
	if t.part != nil || t.initial {
		b.deferRemovals()
	}
	b.resume()
	b.git = b.fromGit(ctx)
	return b, nil
}

// choose selects the edits of the batch: all edits, or those of a plan. If it selects all held
// edits, it also clears less, because the held batch is about to be described again.
func (b *batch) choose(part *plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.pending
	b.total = b.at.Totals().Notes
	if b.whole {
		o.heldChanged = false
	}
	for path, e := range o.edits {
		if part == nil || part.held && e.held {
			b.paths = append(b.paths, path)
		}
	}
	if part != nil {
		b.paths = append(b.paths, part.paths...)
	}
	slices.Sort(b.paths)
}

// resume holds edits again that needed confirmation when the last process ended: those of the held
// batch, and all that remove something, even if only a part of the batch is left. A discard may
// have been interrupted, and without this its remaining edits would be ingested. It acts once, in
// the first ingest of all edits.
func (b *batch) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.pending
	if !o.heldBeforeStart || !b.whole {
		return
	}
	o.heldBeforeStart = false
	for _, f := range b.found {
		e := o.edits[f.Path]
		if e != nil && (f.TakesAway() || o.held != nil && slices.Contains(o.held.Paths, f.Path)) {
			f.Kept, e.held = true, true
		}
	}
}

// checkFolder returns an error if files are missing because the folder itself is missing or cannot
// be read. Then nothing is known about its files, and ingesting their removals would empty the
// vault. It lists the folder without descending only if the batch contains a removal.
func (b *batch) checkFolder(ctx context.Context) error {
	if !slices.ContainsFunc(b.found, (*found).Gone) {
		return nil
	}
	for _, err := range b.files.Walk(ctx, "", func(string) bool { return false }) {
		if err != nil {
			return unlisted(err)
		}
		break
	}
	return nil
}

// unfinished reports whether a file was emptied within the last minute (emptied), although its note
// has a text. Most likely an editor is about to write its new text. A call that asks for an ingest
// does not wait for that.
func (c *Checkout) unfinished(f *found) bool {
	return f.Text != nil && len(f.Text) == 0 && f.Before != nil && f.Before.Size > 0 &&
		time.Since(f.At) < c.span(emptied)
}

// read reads the file of an edit. It returns nil if there is nothing to ingest after all: the file
// is as in the log, it is skipped, it is not due any more, or it has just changed again.
//
// From here until clearRead, the path is in pending.read. A commit that ingests it then knows that
// the text in the file is the one that it merged; see await.
func (c *Checkout) read(ctx context.Context, path string, t IngestOptions) (*found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	err := c.examine(ctx, path)
	if ctx.Err() != nil { // a read that was cancelled says nothing about the file
		return nil, ctx.Err()
	}
	if fault.Is(err, fault.FileError) { // one unreadable file must not delay the others
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := c.pending.edits[path]
	if e == nil || !c.isDue(t, e) { // it has changed again
		return nil, nil
	}
	f := &found{
		Path: path, Before: e.before, UpTo: e.upTo, At: e.at, Kept: e.held, To: e.to,
		Seen: c.seenBefore(path, c.now().Add(-time.Since(e.first))),
	}
	c.pending.read[path] = true
	if e.mark == "" {
		return f, nil
	}
	text, o, err := c.content(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errUnstable) && t.background:
		return nil, nil // a later ingest reads it again
	case errors.Is(err, errUnstable):
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return nil, nil // it changed just now, and will be examined again
	case err != nil:
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	now := sight{o.Mark, index.DigestOf(text), intake.Unfit(text)}
	if err == nil {
		c.remember(path, now, o)
	}
	if now.why != "" {
		c.refuse(path, now.why)
		return nil, nil
	}
	f.Text, f.Digest, f.Modified = text, now.digest, o.Modified
	return f, nil
}

// errUnstable is the error of content for a file that changed during each read.
var errUnstable = errors.New("the file changes while it is read")

// steadyReads is how often content reads a file that changes during the read.
const steadyReads = 5

// content returns the text of a file, and how the file looked when it was read. If the file changed
// during each of steadyReads reads, it returns the text of the last read and errUnstable. The
// caller holds mu.
func (c *Checkout) content(ctx context.Context, path string) ([]byte, blob.Object, error) {
	key := c.key(path)
	o, err := c.files.Look(ctx, key)
	if err != nil {
		return nil, o, err
	}
	var text []byte
	for range steadyReads {
		if text, _, err = c.files.Get(ctx, key, 0, -1); err != nil {
			return nil, o, err
		}
		after, err := c.files.Look(ctx, key)
		if err != nil {
			return nil, o, err
		}
		if after.Mark == o.Mark {
			return text, o, nil
		}
		o = after
	}
	return text, o, errUnstable
}

package checkout

import (
	"context"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/intake"
)

// Bounds of one commit of the first reading. The first commits are as small as other commits of new
// files, so that the first notes are there soon; then each has half as many files as all before it.
// A few large commits cost the index less than many small ones, because it lists its entries again
// when they have grown by half.
const (
	firstFiles = 2000
	firstBytes = 3 << 20
)

// ingestFirst ingests the edits that the first complete sweep found. A folder of new files only, as
// at the first start with an existing vault, is read in several commits with bounded memory; any
// other set of edits is one ordinary ingest.
func (c *Checkout) ingestFirst(ctx context.Context) error {
	if paths := c.onlyNew(); len(paths) > intake.PieceFiles {
		return c.ingestNew(ctx, paths)
	}
	_, err := c.Ingest(ctx, IngestOptions{background: true, initial: true})
	return err
}

// onlyNew returns the paths of all known edits, the settings first, if all are files that the log
// does not have. Otherwise it returns nil: then some may belong together, as the halves of a move
// do, or need confirmation.
func (c *Checkout) onlyNew() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.pending
	if o.held != nil || o.heldBeforeStart || c.hasLost {
		return nil
	}
	paths := make([]string, 0, len(o.edits))
	for path, e := range o.edits {
		if e.before != nil || e.mark == "" || e.held {
			return nil
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return intake.SettingsFirst(paths)
}

// ingestNew ingests new files in several commits. It reads the files of the next commit while one
// is made, so that the texts of few files are in memory at once.
func (c *Checkout) ingestNew(ctx context.Context, paths []string) error {
	c.ingesting.Lock()
	defer c.ingesting.Unlock()
	defer c.clearRead()
	if err := c.examineSpellings(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ahead := c.readAhead(ctx, paths)
	defer func() { // clearRead must come after the last read
		cancel()
		for range ahead {
		}
	}()
	done := 0
	for r := range ahead {
		if r.err != nil {
			return r.err
		}
		if err := r.batch.ingest(ctx); err != nil {
			return err
		}
		done += len(r.batch.paths)
		if c.opt.Progress != nil {
			c.opt.Progress(done, len(paths))
		}
	}
	return ctx.Err()
}

// A readPart is a batch of new files that were read, or the error that ended the reading.
type readPart struct {
	batch *batch
	err   error
}

// readAhead reads new files in another goroutine, one batch ahead of the receiver. The channel is
// closed after the last batch, after an error, and when the context ends.
func (c *Checkout) readAhead(ctx context.Context, paths []string) <-chan readPart {
	ahead := make(chan readPart)
	go func() {
		defer close(ahead)
		for at := 0; at < len(paths); {
			part := paths[at : at+c.firstPart(paths[at:], at)]
			b, err := c.gatherKnown(ctx, IngestOptions{background: true, initial: true, part: &plan{paths: part}})
			select {
			case ahead <- readPart{b, err}:
			case <-ctx.Done():
				return
			}
			if at += len(part); err != nil {
				return
			}
		}
	}()
	return ahead
}

// firstPart returns how many of the next files are ingested together, after done files: at least 1,
// and otherwise as many as have firstBytes together, but not more than half of done or
// intake.PieceFiles, whichever is larger, and not more than firstFiles. It uses the sizes that the
// sweep saw; files that have grown since make a larger batch, which InHalves divides if necessary.
func (c *Checkout) firstPart(paths []string, done int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := min(max(intake.PieceFiles, done/2), firstFiles, len(paths))
	size := int64(0)
	for i, path := range paths[:most] {
		if e := c.pending.edits[path]; e != nil {
			size += e.size
		}
		if size > firstBytes && i > 0 {
			return i
		}
	}
	return most
}

// ingest ingests a batch of new files. New files remove nothing, so the guard holds none of them.
func (b *batch) ingest(ctx context.Context) error {
	b.guard(false)
	all := b.found
	b.found = nil
	err := intake.InHalves(all, func(part []*found) error { return b.commit(ctx, part) })
	if err != nil {
		return err
	}
	b.progress.add(len(all), 0)
	return b.finishNew(ctx)
}

// finishNew is finish for a batch of new files: it examines again only those files that are not as
// in the log after the commit, and holds nothing.
func (b *batch) finishNew(ctx context.Context) error {
	c := b.Checkout
	for _, path := range b.paths {
		if !c.edited(path) {
			continue
		}
		if err := c.examineNow(ctx, path); err != nil {
			return fmt.Errorf("read what was synced: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause(b)
	c.holdMore(b.held)
	c.publishEdits(ctx)
	return nil
}

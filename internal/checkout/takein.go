package checkout

import (
	"context"
	"fmt"
	"time"

	"rookery/internal/fault"
	"rookery/internal/intake"
	"rookery/internal/repo"
)

// A Taking says how edits are to be taken in.
type Taking struct {
	// Pending says what becomes of a batch that is held: Accept takes it in as it is now, Discard
	// writes the folder as the log says. Empty: it stays held.
	Pending Pending

	// Who says that word, and so is said to have made the commits. Prefix is what their notes lie under; a
	// batch is of the whole folder, so who has one says nothing to it.
	Who    repo.Who
	Prefix string

	unasked bool  // nobody has asked for it: what may not be finished can wait
	initial bool  // it is the first reading
	part    *plan // only these edits; nil: all

	// DryRun finds out what would be taken in, and writes nothing.
	DryRun bool
}

// Pending is what somebody says to a batch that is held.
type Pending string

// The words.
const (
	Accept  Pending = "accept"
	Discard Pending = "discard"
)

// A Taken says what was taken in.
type Taken = intake.Taken

// Reindex compares the folder with the log and takes in what differs, without waiting for quiet.
func (c *Checkout) Reindex(ctx context.Context, t Taking) (Taken, error) {
	c.tryAgain()
	if _, err := c.Sweep(ctx); err != nil {
		return Taken{}, err
	}
	return c.TakeIn(ctx, t)
}

// tryAgain forgets which files the vault refused: it may take them now.
func (c *Checkout) tryAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, f := range c.outside.left {
		if f.Why == repo.LeftQuota || f.Why == repo.LeftTwin {
			c.mayStay(key)
		}
	}
}

// TakeIn takes the edits that are known into the log, and brings the files in step with what became of
// them. Nothing is taken in that nobody noticed; see Sweep. What is held stays, unless t says otherwise.
func (c *Checkout) TakeIn(ctx context.Context, t Taking) (Taken, error) {
	if t.Pending != "" && t.Prefix != "" {
		return Taken{}, repo.OutsidePrefix(t.Prefix)
	}
	if t.unasked && c.beyond {
		return Taken{}, fault.New(fault.IndexError, "the log has lost versions that the folder has")
	}
	c.taking.Lock()
	defer c.taking.Unlock()
	defer c.letGo()
	b, err := c.gather(ctx, t)
	if err != nil {
		return Taken{}, err
	}
	if t.DryRun {
		return b.tryOut(ctx, t.Pending)
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
	b.track(t.Pending)
	if err := b.commitAll(ctx); err != nil {
		return b.done, err
	}
	return b.done, b.finish(ctx)
}

// letGo notes that nothing which was read is about to be taken in any more.
func (c *Checkout) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.outside.read)
}

// commitAll takes the batch in, piece by piece.
func (b *batch) commitAll(ctx context.Context) error {
	pieces, done, total := intake.Pieces(b.found), 0, 0
	for _, piece := range pieces {
		total += len(piece)
	}
	for _, piece := range pieces {
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

// A batch is a number of edits that are taken in together.
type batch struct {
	*Checkout
	whole   bool // all held edits are in it
	unasked bool
	initial bool
	found   []*found
	held    []*found // those that wait for a word
	paths   []string // of all edits that were known
	total   int      // notes in the vault
	git     bool     // git changed the files; see fromGit
	who     repo.Who // who said a word; empty: nobody did
	done    Taken
}

// pause has what was not synced now tried again later, not at once. The caller holds mu.
func (c *Checkout) pause(b *batch) {
	until := time.Now().Add(c.span(quiet))
	for _, path := range b.paths {
		if e := c.outside.edits[path]; e != nil && !e.joins {
			e.again = until
		}
	}
}

// finish brings files in step with what became of the edits, and tells of it.
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
		c.hold(b.held)
	} else {
		c.holdMore(b.held)
	}
	b.done.Held = c.outside.held
	c.tell(ctx)
	return nil
}

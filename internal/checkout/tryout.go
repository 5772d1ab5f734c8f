package checkout

import (
	"context"

	"github.com/rookeryhq/rookery/internal/intake"
)

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

package checkout

import (
	"context"

	"rookery/internal/intake"
)

// Turn waits for the turn of a caller that reindexes and then keeps its answer, so that of two with
// one idempotency key the second finds what the first was told. done ends the turn.
func (c *Checkout) Turn(ctx context.Context) (done func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryOut finds out what taking the batch in would come to. What is held stays held.
func (b *batch) tryOut(ctx context.Context, p Pending) (Taken, error) {
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
		err := intake.InHalves(piece, func(part []*found) error { return b.try(ctx, part) })
		if err != nil {
			return b.done, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Held = b.heldOf(b.held)
	return b.done, nil
}

// try counts what taking a piece of the batch in would come to.
func (b *batch) try(ctx context.Context, piece []*found) error {
	e, err := intake.Try(ctx, b.vault, b.call(), piece)
	if err != nil {
		return err
	}
	b.done.Add(e.Taken)
	b.done.Restored += len(e.Stay)
	return nil
}

package checkout

import (
	"context"

	"rookery/internal/index"
	"rookery/internal/repo"
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
			if f.kept {
				b.done.Restored++
			}
		}
		return b.done, nil
	}
	b.guard(p == Accept)
	for _, piece := range b.pieces() {
		err := inHalves(piece, func(part []*found) error { return b.try(ctx, part) })
		if err != nil {
			return b.done, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Held = b.heldOf(b.held)
	return b.done, nil
}

// try drafts a piece of the batch, and counts what the commit would tell of.
func (b *batch) try(ctx context.Context, piece []*found) error {
	var e effect
	var told index.Counts
	call := b.call()
	call.DryRun = true
	_, err := b.vault.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (_ any, err error) {
		if e, err = b.draft(ctx, tx, piece); err != nil {
			return nil, err
		}
		told, err = countsOf(ctx, tx)
		return nil, err
	})
	if err != nil {
		return err
	}
	b.done.add(e.taken)
	b.done.Restored += len(e.stay)
	b.done.Index.Add(told)
	return nil
}

// countsOf counts what a commit of this draft would tell of.
func countsOf(ctx context.Context, tx *repo.Tx) (told index.Counts, err error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return told, err
	}
	for _, s := range staged {
		path := string(s.Path)
		events := index.Events(tx.Before(), tx.Index(), path, index.Texts{Old: s.Old, New: s.New})
		told.Add(index.Reindexed(path, events).Counts())
	}
	return told, nil
}

package repo

import (
	"context"
	"time"
)

// A yielder makes a pass of a Compactor wait between its steps while a call writes to the vault: a
// pass needs both the processor and memory, and garbage collections of its own, which would make a
// large commit take twice as long. The pass goes on when no call writes, when something waits for the
// pass itself, and at the latest when it has waited for left. It is used by one goroutine at a time.
// A nil yielder never waits.
type yielder struct {
	vault *Vault
	left  time.Duration
	stop  <-chan struct{} // closed when the pass must not wait any more
}

// yieldStep is how often a waiting pass checks whether a call still writes.
const yieldStep = 5 * time.Millisecond

// yielder returns the yielder of a pass for which run has waited already.
func (k *Compactor) yielder(waited time.Duration) *yielder {
	return &yielder{k.vault, mostYields*foldEvery - waited, k.stop}
}

// wait waits while a call writes, or until the context ends.
func (y *yielder) wait(ctx context.Context) {
	for y != nil && y.left > 0 && y.vault.Writing() && !y.vault.passAwaited() {
		y.left -= yieldStep
		select {
		case <-time.After(yieldStep):
		case <-y.stop:
			y.left = 0
		case <-ctx.Done():
			return
		}
	}
}

// passAwaited reports whether something waits for a running pass: another pass, or a search for the
// index that the pass brings forward.
func (v *Vault) passAwaited() bool {
	return v.log.PassAwaited() || v.searcher.waiters.Load() > 0 || v.memories.waiters.Load() > 0
}

package team

import (
	"context"
	"log/slog"
	"time"

	"rookery/internal/checkout"
	"rookery/internal/repo"
)

// folding is how the logs of vaults move outward in one pass: behind those who follow them.
func (t *Team) folding(ctx context.Context) repo.Folding {
	f := repo.Folding{Behind: t.opt.Followers, Clocked: t.opt.clocked()}
	if t.opt.Folders {
		f.Behind = checkout.Cursors()
	}
	if t.opt.Hold != nil {
		f.Hold = func() bool { return t.opt.Hold(ctx) }
	}
	return f
}

// Rollback makes the bucket fit the tenant's own log, after the table was restored to an earlier time; see
// repo.Log.Rollback.
func (t *Team) Rollback(ctx context.Context) (dropped int, err error) { return t.log.Rollback(ctx) }

// clocked begins a pass. The function reports whether Now is known to be right.
func (o Options) clocked() (known func() bool) {
	if o.Clocked == nil {
		return func() bool { return true }
	}
	return o.Clocked()
}

// FoldVault makes one pass over a vault: whatever is due of moving its log outward; see repo.Vault.Fold.
// It may end anywhere, and several processes may make one at once. Where Options.Background is set, each
// open vault is folded without it. A vault that does not exist, or is in the trash, is NOT_FOUND.
func (t *Team) FoldVault(ctx context.Context, name string) error {
	v, err := t.Vault(ctx, name)
	if err != nil {
		return err
	}
	return v.Fold(ctx, t.folding(ctx))
}

// FoldTenant makes one pass over the tenant's own log: whatever is due of moving it outward, as FoldVault does
// of a vault's. Where Options.Background is set, it is called from time to time.
func (t *Team) FoldTenant(ctx context.Context) error {
	return t.log.Fold(ctx, repo.Folding{Clocked: t.opt.clocked()})
}

// FoldDue reports whether FoldTenant has something to do, as far as is known without asking.
func (t *Team) FoldDue() bool { return t.log.FoldDue(repo.Folding{}) }

// keepEvery is how often it is looked whether something of the tenant's log is to be folded. A look that finds
// nothing costs nothing.
const keepEvery = time.Minute

// keep folds the tenant's log in the background, until stop is called.
func (t *Team) keep() {
	if !t.opt.Background {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.background.Go(func() {
		tick := time.NewTicker(keepEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if !t.FoldDue() {
				continue
			}
			if err := t.FoldTenant(ctx); err != nil && ctx.Err() == nil {
				t.opt.Log.ErrorContext(ctx, "the log of the tenant could not be folded", slog.Any("cause", err))
			}
		}
	})
}

package tenant

import (
	"context"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// compaction returns the options of one pass that compacts the log of a vault. The pass must not trim
// commits that followers of the log still need. It keeps images of an earlier format in use while
// Options.Hold says so.
func (t *Tenant) compaction(ctx context.Context) eventlog.Compaction {
	f := eventlog.Compaction{Behind: t.opt.Followers, Clocked: t.opt.clocked()}
	if t.opt.Folders {
		f.Behind = checkout.Cursors()
	}
	if t.opt.KeepOldImages != nil {
		f.Hold = func() bool { return t.opt.KeepOldImages(ctx) }
	}
	return f
}

// Rollback drops from the bucket the data that the tenant's own log does not have after the table
// was restored to an earlier time; see eventlog.Log.Rollback.
func (t *Tenant) Rollback(ctx context.Context) (dropped int, err error) { return t.log.Rollback(ctx) }

// clocked begins a pass and returns a function that reports whether Now is known to be right. A
// pass that destroys data by its age must not trust a clock that may be wrong.
func (o Options) clocked() (known func() bool) {
	if o.CheckClock == nil {
		return func() bool { return true }
	}
	return o.CheckClock()
}

// CompactVault makes one pass over a vault that moves its log to the bucket as far as due; see
// repo.Vault.Compact. It may be interrupted at any point, and several processes may run it at once.
// With Options.Background each open vault is compacted without it. A vault that does not exist or
// is in the trash is NOT_FOUND.
func (t *Tenant) CompactVault(ctx context.Context, name string) error {
	v, err := t.Vault(ctx, name)
	if err != nil {
		return err
	}
	return v.Compact(ctx, t.compaction(ctx))
}

// CompactTenant makes one pass over the tenant's own log, as CompactVault does over a vault's. With
// Options.Background it runs from time to time.
func (t *Tenant) CompactTenant(ctx context.Context) error {
	return t.log.Compact(ctx, eventlog.Compaction{Clocked: t.opt.clocked()})
}

// CompactDue reports whether CompactTenant has something to do, from the data that this process
// already knows. It does no I/O, so it may be wrong if other processes have written since.
func (t *Tenant) CompactDue() bool { return t.log.CompactDue(eventlog.Compaction{}) }

// compactEvery is the interval at which the background checks whether the tenant's log must be
// compacted. A check that finds nothing does no I/O.
const compactEvery = time.Minute

// runCompaction compacts the tenant's log in the background until t.stop is called. It does nothing without
// Options.Background. An error is logged, and the next check tries again.
func (t *Tenant) runCompaction() {
	if !t.opt.Background {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.background.Go(func() {
		tick := time.NewTicker(compactEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if !t.CompactDue() {
				continue
			}
			if err := t.CompactTenant(ctx); err != nil && ctx.Err() == nil {
				t.opt.Log.ErrorContext(ctx, "the log of the tenant could not be compacted", slog.Any("cause", err))
			}
		}
	})
}

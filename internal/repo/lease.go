package repo

import (
	"context"
	"crypto/rand"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"time"
)

// leaseLife is how long a lease is valid that is not released. A call ends well within this time.
const leaseLife = time.Minute

// Lease takes the lease of a reindex and returns the function that releases it. The lease is only
// informative and excludes no one: reindexing twice does no harm, so a second caller takes the
// lease over, and a killed process blocks nothing. release does nothing if another caller has taken
// the lease over; if it fails, the lease expires. Its errors are those of Change.
func (v *Vault) Lease(ctx context.Context) (release func(), err error) {
	holder := rand.Text()
	err = v.Change(ctx, func(c *Control) bool {
		c.Lease = &eventlog.Lease{Holder: holder, Until: v.Now().UTC().Add(leaseLife)}
		return true
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = v.endLease(context.WithoutCancel(ctx), holder) }, nil
}

// endLease removes the lease from the control item, if it still belongs to the holder.
func (v *Vault) endLease(ctx context.Context, holder string) error {
	return v.Change(ctx, func(c *Control) bool {
		// Another caller has taken the lease over or released it.
		if c.Lease == nil || c.Lease.Holder != holder {
			return false
		}
		c.Lease = nil
		return true
	})
}

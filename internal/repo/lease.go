package repo

import (
	"context"
	"time"
)

// leaseLife is how long a lease holds that nobody gives back. A call ends well within it.
const leaseLife = time.Minute

// Lease takes the lease of a reindex for a call, and answers what gives it back. It keeps nobody out:
// to reindex twice does no harm, so who comes second takes it over, and what a killed process left is
// in nobody's way. A lease that somebody else has taken over is not given back.
func (v *Vault) Lease(ctx context.Context, holder string) (release func(context.Context) error, err error) {
	err = v.Change(ctx, func(c *Control) bool {
		c.Lease = &Lease{Holder: holder, Until: v.Now().UTC().Add(leaseLife)}
		return true
	})
	return func(ctx context.Context) error {
		return v.Change(ctx, func(c *Control) bool {
			if c.Lease == nil || c.Lease.Holder != holder {
				return false
			}
			c.Lease = nil
			return true
		})
	}, err
}

package repo

import (
	"context"
	"crypto/rand"
	"time"
)

// leaseLife is how long a lease holds that nobody gives back. A call ends well within it.
const leaseLife = time.Minute

// Lease takes the lease of a reindex, and answers what gives it back. It keeps nobody out: to reindex
// twice does no harm, so who comes second takes it over, and what a killed process left is in nobody's
// way. A lease that somebody else has taken over is not given back, and one that cannot be given back
// just now ends by itself.
func (v *Vault) Lease(ctx context.Context) (release func(), err error) {
	holder := rand.Text()
	err = v.Change(ctx, func(c *Control) bool {
		c.Lease = &Lease{Holder: holder, Until: v.Now().UTC().Add(leaseLife)}
		return true
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = v.endLease(context.WithoutCancel(ctx), holder) }, nil
}

// endLease gives a lease back, if it is still the holder's.
func (v *Vault) endLease(ctx context.Context, holder string) error {
	return v.Change(ctx, func(c *Control) bool {
		if c.Lease == nil || c.Lease.Holder != holder {
			return false
		}
		c.Lease = nil
		return true
	})
}

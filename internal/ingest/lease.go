package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"rookery/internal/table"
)

// leaseLife is how long a lease holds that is not given back or renewed.
const leaseLife = 5 * time.Minute

// errBusy says that another process takes in what was noticed in the vault.
var errBusy = errors.New("another process has the files")

// errLost says that the lease ended before the work did, and another process may have it.
var errLost = errors.New("the lease of the files has ended")

// A lease keeps other processes from taking in the same edits at the same time. To do it twice loses nothing, but a
// text that cannot be merged would have two copies.
type lease struct {
	v  Vault
	it table.Item
}

// lease takes the lease of the files. errBusy: another process has it.
func (v Vault) lease(ctx context.Context) (*lease, error) {
	l := &lease{v: v, it: table.Item{
		Key: v.key(leaseKey), Data: []byte(rand.Text()), Expires: v.Now().Add(leaseLife),
	}}
	err := v.Table.Commit(ctx, table.Create(l.it))
	var taken *table.Conflict
	switch {
	case errors.As(err, &taken):
		return nil, errBusy
	case err != nil:
		return nil, unwritten(err)
	}
	return l, nil
}

// renew begins the time of the lease once more. errLost: another process has it.
func (l *lease) renew(ctx context.Context) error {
	now := l.v.Now()
	if l.it.Expires.Sub(now) > leaseLife/2 {
		return nil
	}
	next := l.it
	next.Expires = now.Add(leaseLife)
	err := l.v.Table.Commit(ctx, table.Replace(l.it, next))
	var taken *table.Conflict
	switch {
	case errors.As(err, &taken):
		return errLost
	case err != nil:
		return unwritten(err)
	}
	l.it = next
	return nil
}

// release gives the lease back. One whose time may be over is left, for another process may have it.
func (l *lease) release(ctx context.Context) {
	if l.v.Now().Before(l.it.Expires.Add(-leaseLife / 10)) {
		_ = l.v.remove(context.WithoutCancel(ctx), []string{leaseKey}) // else it ends by itself
	}
}

package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/table"
)

// leaseLife is how long a lease lasts that is not released or renewed.
const leaseLife = 5 * time.Minute

// errBusy is the error if another process ingests edits of the vault.
var errBusy = errors.New("another process has the files")

// errLost is the error if the lease ended before the work did, so that another process may have it.
var errLost = errors.New("the lease of the files has ended")

// A lease is the right to ingest edits of a vault. Without it, two processes could ingest the same
// edits at once, which loses nothing, but writes a second conflict copy of a text that cannot be
// merged. It is an item with a random text that expires, so the lease of a process that was killed
// ends after leaseLife.
type lease struct {
	v  Vault
	it table.Item
}

// lease acquires the lease of the files. It returns errBusy if another process has it.
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
		return nil, writeError(err)
	}
	return l, nil
}

// renew extends the lease if half of its time is over. It returns errLost if another process has
// the lease. It is called before each piece of work, so a piece must take less than half of
// leaseLife.
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
		return writeError(err)
	}
	l.it = next
	return nil
}

// release releases the lease. It keeps a lease that may have expired, because another process may
// have it.
func (l *lease) release(ctx context.Context) {
	if l.v.Now().Before(l.it.Expires.Add(-leaseLife / 10)) {
		_ = l.v.remove(context.WithoutCancel(ctx), []string{leaseKey}) // if it fails, the lease expires
	}
}

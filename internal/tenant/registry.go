package tenant

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// A Registry contains the tenants of a deployment. A Tenant cannot access another tenant: it gets only the
// parts of the table and the bucket that begin with its own name (DESIGN §1.6). Registry is safe for
// concurrent use. Of its mutexes, opening is locked before mu, and mu is never held while the table
// is read.
type Registry struct {
	opt Options // Table and Bucket are the deployment's

	opening sync.Mutex // held while a tenant is opened

	mu      sync.Mutex
	open    map[string]*Tenant
	erasers map[string]*eraser // of this process, by Options.life
	closed  bool
	ending  sync.WaitGroup // tenants that are being closed because they are erased
}

// NewRegistry returns the Registry of a deployment without reading anything.
func NewRegistry(o Options) *Registry {
	return &Registry{opt: o, open: map[string]*Tenant{}, erasers: map[string]*eraser{}}
}

// Limits returns the limits of each vault.
func (t *Registry) Limits() repo.Limits { return t.opt.Limits.OrDefault() }

// Tenant returns a tenant, and opens it if necessary. A tenant that does not exist is
// UNAUTHENTICATED, so that callers cannot find out which names exist. Tenants are opened one at a
// time; those that are open do not wait for that.
func (t *Registry) Tenant(ctx context.Context, tenant string) (*Tenant, error) {
	if team, err := t.opened(tenant); team != nil || err != nil {
		return team, err
	}
	incarnation, err := t.registered(ctx, tenant)
	if err != nil {
		return nil, err
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if team, err := t.opened(tenant); team != nil || err != nil {
		return team, err
	}
	if t.ended(tenant, incarnation) {
		return nil, noTenant()
	}
	t.closeUnused()
	o, err := t.opt.forTenant(ctx, tenant, incarnation)
	if err != nil {
		return nil, err
	}
	team, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[tenant] = team
	return team, nil
}

// opened returns a tenant that is open, or nil. A tenant that is known to be erased is removed from
// the open ones and closed. After Close it returns UNAVAILABLE.
func (t *Registry) opened(tenant string) (*Tenant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, stopping()
	}
	own := t.open[tenant]
	if own == nil {
		return nil, nil
	}
	if own.Gone() {
		delete(t.open, tenant)
		t.ending.Go(own.end) // in the background, because it waits for calls in progress
		return nil, nil
	}
	own.touch()
	return own, nil
}

// Uncompacted returns the number of commits that are in no segment yet, of the open vault that has the
// most; 0 if no vault is open. It is a metric: a growing number means that compaction does not keep
// up.
func (t *Registry) Uncompacted() (most uint64) {
	t.mu.Lock()
	open := slices.Collect(maps.Values(t.open))
	t.mu.Unlock()
	for _, own := range open {
		own.mu.Lock()
		for _, o := range own.open {
			if o.ready.Load() {
				most = max(most, o.vault.Unfolded())
			}
		}
		own.mu.Unlock()
	}
	return most
}

// tenantLife is the time after which an unused tenant without open vaults is closed, if
// Options.Memory is set.
const tenantLife = 10 * time.Minute

// closeUnused closes the tenants that were not used for tenantLife. They need little memory, so it
// is enough to do this when another tenant is opened.
func (t *Registry) closeUnused() {
	if t.opt.Memory == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, own := range t.open {
		if own.retire() {
			delete(t.open, name)
		}
	}
}

// touch records a use of the tenant.
func (t *Tenant) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = t.opt.Now()
}

// retire closes the tenant if it is unused, and reports whether it did: no vault is open, no job
// runs, and it was not used for tenantLife. The caller removes it from the open ones. A clock that
// was set back counts as unused.
func (t *Tenant) retire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := t.opt.Now().Sub(t.used)
	if len(t.open) > 0 || t.jobs.Busy() || 0 <= idle && idle < tenantLife {
		return false
	}
	t.closed = true
	if t.stop != nil {
		t.stop()
	}
	return true
}

// Table returns a tenant's part of the table. A tenant that does not exist is UNAUTHENTICATED.
func (t *Registry) Table(ctx context.Context, tenant string) (table.Table, error) {
	own, err := t.Tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return own.Table(), nil
}

// registry returns the table that lists the tenants.
func (o Options) registry() table.Table {
	if o.Registry != nil {
		return o.Registry
	}
	return o.Table
}

// Close stops the background work of all open tenants and waits for it, also for tenants that are
// being closed because they are erased. Calls after it are UNAVAILABLE.
func (t *Registry) Close() {
	defer t.ending.Wait()
	t.opening.Lock()
	defer t.opening.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, team := range t.open {
		team.Close()
	}
	for _, e := range t.erasers {
		e.jobs.Close()
	}
}

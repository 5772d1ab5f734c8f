package team

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/vault"
)

// Teams are the tenants of a deployment. A Team can name nothing of another one: all that it gets is
// a part of the table and of the bucket that begins with its own name (DESIGN §1.6).
type Teams struct {
	opt Options // Table and Bucket are those of the deployment

	opening sync.Mutex // held by who opens a tenant

	mu     sync.Mutex
	open   map[string]*Team
	closed bool
}

// registry is the partition that names the tenants, so that nobody ever scans. No tenant can have
// this name.
const registry = "~tenants"

// NewTeams makes the Teams of a deployment. Nothing is read yet.
func NewTeams(o Options) *Teams { return &Teams{opt: o, open: map[string]*Team{}} }

// Limits are those of each vault.
func (t *Teams) Limits() repo.Limits { return t.opt.Limits.OrDefault() }

// Make makes a tenant, if there is none of this name. Its log comes first, unless Options.Makes says that it
// is made when the tenant is opened, so that a tenant that is registered has one.
func (t *Teams) Make(ctx context.Context, tenant string) error {
	if err := vault.CheckName(tenant); err != nil {
		return err
	}
	if t.opt.NoLocal && tenant == auth.Local {
		return fault.New(fault.InvalidParameter, "no tenant of this deployment can be called %q", tenant)
	}
	if !t.opt.Makes {
		if err := t.makeLog(ctx, tenant); err != nil {
			return err
		}
	}
	err := t.opt.registry().Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: registry, Sort: tenant}, Data: []byte(`{"format":1}`),
	}))
	var conflict *table.Conflict
	if err != nil && !errors.As(err, &conflict) {
		return fmt.Errorf("register a tenant: %w", err)
	}
	return nil
}

// makeLog makes the log of a tenant, if there is none.
func (t *Teams) makeLog(ctx context.Context, tenant string) error {
	o, err := t.opt.of(ctx, tenant)
	if err != nil {
		return err
	}
	l, err := newLog(o)
	if err != nil {
		return err
	}
	return makeLog(ctx, l)
}

// Team opens a tenant. One that is not registered is UNAUTHENTICATED: nobody is told which exist.
func (t *Teams) Team(ctx context.Context, tenant string) (*Team, error) {
	if team, err := t.opened(tenant); team != nil || err != nil {
		return team, err
	}
	if err := t.registered(ctx, tenant); err != nil {
		return nil, err
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if team, err := t.opened(tenant); team != nil || err != nil {
		return team, err
	}
	t.closeUnused()
	o, err := t.opt.of(ctx, tenant)
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

// opened is a tenant that is open; nil if it is not.
func (t *Teams) opened(tenant string) (*Team, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, stopping()
	}
	own := t.open[tenant]
	if own != nil {
		own.touch()
	}
	return own, nil
}

// tenantLife is how long a tenant stays open that is not used and has no open vault, where Options.Memory
// bounds what is open.
const tenantLife = 10 * time.Minute

// closeUnused closes the tenants whose time is over. What they hold is little, so that this is looked at
// when another one is opened.
func (t *Teams) closeUnused() {
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

// touch notes that the tenant is used.
func (t *Team) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = t.opt.Now()
}

// retire closes the tenant if it is not used, and reports whether it did. Nothing of it runs then.
func (t *Team) retire() bool {
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

// registered is a fault if there is no such tenant.
func (t *Teams) registered(ctx context.Context, tenant string) error {
	if vault.CheckName(tenant) != nil {
		return noTenant()
	}
	_, err := t.opt.registry().Get(ctx, table.Key{Part: registry, Sort: tenant})
	if errors.Is(err, table.ErrNotFound) {
		return noTenant()
	}
	if err != nil {
		return fmt.Errorf("look a tenant up: %w", err)
	}
	return nil
}

func noTenant() error {
	return fault.New(fault.Unauthenticated, "the caller belongs to no tenant here")
}

// Table is the part of the table that is a tenant's own. One that is not registered is UNAUTHENTICATED.
func (t *Teams) Table(ctx context.Context, tenant string) (table.Table, error) {
	own, err := t.Team(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return own.Table(), nil
}

// registry is the table that names the tenants.
func (o Options) registry() table.Table {
	if o.Registry != nil {
		return o.Registry
	}
	return o.Table
}

// of is what one tenant of a deployment is made with.
func (o Options) of(ctx context.Context, tenant string) (Options, error) {
	prefix := "tenants/" + tenant
	o.Tenant = tenant
	if tenant != auth.Local {
		o.Served = nil // the folder that is served is one vault, and that tenant's
	}
	if o.Stores != nil {
		var err error
		if o.Table, o.Bucket, err = o.Stores(ctx, tenant); err != nil {
			return o, fmt.Errorf("open the stores of a tenant: %w", err)
		}
	}
	o.Table, o.Bucket = table.Sub(o.Table, tenant), blob.Sub(o.Bucket, prefix)
	o.Texts = o.Texts.Sub(tenant)
	if whole := o.Watch; whole != nil {
		o.Watch = func(folder string, enter func(string) bool) (blob.Watch, error) {
			return whole(prefix+"/"+folder, enter)
		}
	}
	return o, nil
}

// Close finishes what the open tenants do in the background.
func (t *Teams) Close() {
	t.opening.Lock()
	defer t.opening.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, team := range t.open {
		team.Close()
	}
}

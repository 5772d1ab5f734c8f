package team

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"rookery/internal/repo"
	"rookery/internal/table"
)

// Teams are the tenants of a deployment. A Team can name nothing of another one: all that it gets is
// a part of the table and of the bucket that begins with its own name (DESIGN §1.6).
type Teams struct {
	opt Options // Table and Bucket are those of the deployment

	opening sync.Mutex // held by who opens a tenant

	mu      sync.Mutex
	open    map[string]*Team
	erasers map[string]*eraser // of this process, by the lives of their tenants
	closed  bool
	ending  sync.WaitGroup // of tenants that are gone
}

// NewTeams makes the Teams of a deployment. Nothing is read yet.
func NewTeams(o Options) *Teams {
	return &Teams{opt: o, open: map[string]*Team{}, erasers: map[string]*eraser{}}
}

// Limits are those of each vault.
func (t *Teams) Limits() repo.Limits { return t.opt.Limits.OrDefault() }

// Team opens a tenant. One that is not registered is UNAUTHENTICATED: nobody is told which exist.
func (t *Teams) Team(ctx context.Context, tenant string) (*Team, error) {
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
	o, err := t.opt.of(ctx, tenant, incarnation)
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
	if own == nil {
		return nil, nil
	}
	if own.Gone() {
		delete(t.open, tenant)
		t.ending.Go(own.end) // it waits for what is under way, which finds that everything is gone
		return nil, nil
	}
	own.touch()
	return own, nil
}

// Unfolded is how many commits are in no segment yet, of the open vault that has most of them.
func (t *Teams) Unfolded() (most uint64) {
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

// Close finishes what the open tenants do in the background.
func (t *Teams) Close() {
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

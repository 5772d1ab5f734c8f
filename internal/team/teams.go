package team

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
	"rookery/internal/vault"
	"rookery/internal/watch"
)

// Teams are the tenants of a deployment. A Team can name nothing of another one: all that it gets is
// a part of the table and of the bucket that begins with its own name (DESIGN §1.6).
type Teams struct {
	opt Options // Table and Bucket are those of the deployment

	mu   sync.Mutex
	open map[string]*Team
}

// registry is the partition that names the tenants, so that nobody ever scans. No tenant can have
// this name.
const registry = "~tenants"

// NewTeams makes the Teams of a deployment. Nothing is read yet.
func NewTeams(o Options) *Teams { return &Teams{opt: o, open: map[string]*Team{}} }

// Make makes a tenant, if there is none of this name.
func (t *Teams) Make(ctx context.Context, tenant string) error {
	if err := vault.CheckName(tenant); err != nil {
		return err
	}
	err := t.opt.Table.Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: registry, Sort: tenant}, Data: []byte(`{"format":1}`),
	}))
	var conflict *table.Conflict
	if err != nil && !errors.As(err, &conflict) {
		return fmt.Errorf("register a tenant: %w", err)
	}
	return nil
}

// Team opens a tenant. One that is not registered is UNAUTHENTICATED: nobody is told which exist.
func (t *Teams) Team(ctx context.Context, tenant string) (*Team, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if team, ok := t.open[tenant]; ok {
		return team, nil
	}
	_, err := t.opt.Table.Get(ctx, table.Key{Part: registry, Sort: tenant})
	if errors.Is(err, table.ErrNotFound) {
		return nil, fault.New(fault.Unauthenticated, "the caller belongs to no tenant here")
	}
	if err != nil {
		return nil, fmt.Errorf("look a tenant up: %w", err)
	}
	team, err := Open(ctx, t.opt.of(tenant))
	if err != nil {
		return nil, err
	}
	t.open[tenant] = team
	return team, nil
}

// of is what one tenant of a deployment is made with.
func (o Options) of(tenant string) Options {
	prefix := "tenants/" + tenant
	o.Table, o.Bucket = table.Sub(o.Table, tenant), blob.Sub(o.Bucket, prefix)
	if whole := o.Watch; whole != nil {
		o.Watch = func(folder string, enter func(string) bool) (*watch.Tree, error) {
			return whole(prefix+"/"+folder, enter)
		}
	}
	return o
}

// Close finishes what the open tenants do in the background.
func (t *Teams) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, team := range t.open {
		team.Close()
	}
}

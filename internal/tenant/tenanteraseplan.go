package tenant

import (
	"context"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"strings"
)

// wouldErase returns the result that the erasure of a tenant would have, with its counts. It
// changes nothing. It opens the tenant, and reads the log of each vault and lists its folder. If a
// part cannot be counted, it returns the sum so far with the error.
func (t *Registry) wouldErase(
	ctx context.Context, tenant string, r registration,
) (ErasedTenant, error) {
	if !r.isLive() {
		return ErasedTenant{}, noTenant()
	}
	own, err := t.Tenant(ctx, tenant)
	if err != nil {
		return ErasedTenant{}, err
	}
	all := ErasedTenant{}
	for _, count := range []func(context.Context, *Receipt) error{
		own.countVaults, own.countLog, own.countParts, own.countOthers,
	} {
		if err := count(ctx, &all.Receipt); err != nil {
			return all, err
		}
	}
	return all, nil
}

// countVaults counts the logs of the vaults and the files in their folders.
func (t *Tenant) countVaults(ctx context.Context, all *Receipt) error {
	s, _, err := t.State(ctx)
	if err != nil {
		return err
	}
	for _, e := range s.vaults {
		for i := 1; i <= e.Incarnation; i++ {
			v, err := t.vaultOf(e.Name, i)
			if err != nil {
				return err
			}
			would, err := v.Erase(ctx, eventlog.Call{DryRun: true})
			all.Add(would)
			if err != nil {
				return err
			}
		}
		cleared, err := t.wouldClear(ctx, e)
		all.count(cleared)
		if err != nil {
			return err
		}
	}
	return nil
}

// countLog counts the tenant's own log.
func (t *Tenant) countLog(ctx context.Context, all *Receipt) error {
	would, err := t.log.Erase(ctx, eventlog.Call{DryRun: true})
	all.Add(would)
	return err
}

// countParts counts the items in the tenant's other partitions.
func (t *Tenant) countParts(ctx context.Context, all *Receipt) error {
	for _, part := range t.opt.parts() {
		would, err := t.opt.kept(ctx, part, nil)
		all.Add(would)
		if err != nil {
			return err
		}
	}
	return nil
}

// countOthers counts the objects that do not belong to a log.
func (t *Tenant) countOthers(ctx context.Context, all *Receipt) error {
	objects, err := t.opt.objects(ctx)
	for _, o := range objects {
		if !strings.HasPrefix(o.Key, "vaults/") && !strings.HasPrefix(o.Key, "tenant/") {
			all.Add(eventlog.Erased{Objects: 1, Bytes: o.Size})
		}
	}
	return err
}

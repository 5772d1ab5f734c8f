package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/table"
	"rookery/internal/vault"
)

// registry is the partition that names the tenants, so that nobody ever scans. No tenant can have
// this name.
const registry = "~tenants"

// registryFormat is the version of its items. Those of tenants of which no earlier one was erased have the first.
const registryFormat = 2

// A registration is what the registry knows of a name: which tenant has it, and which had it and were erased.
type registration struct {
	Format      int             `json:"format"`
	Incarnation int             `json:"incarnation,omitempty"` // counts the tenants that had the name
	Erasures    []TenantErasure `json:"erasures,omitempty"`    // oldest first

	name string
	item table.Item // as it was read; without a Key: there is none
}

// A TenantErasure is how far the erasure of a tenant has come. It is the truth of it: the tenant's own log is
// destroyed.
type TenantErasure struct {
	Incarnation int    `json:"incarnation"`
	Call        string `json:"call,omitempty"`    // digest of the principal and the key of the call; empty: it had none
	Request     string `json:"request,omitempty"` // digest of what it asked for; empty: an earlier release did not keep it
	By          job.By `json:"by"`
	Erasure
}

// lookUp reads what the registry knows of a name. Of one that it does not know the item is empty.
func (t *Teams) lookUp(ctx context.Context, tenant string) (registration, error) {
	r := registration{Format: 1, Incarnation: 1, name: tenant}
	it, err := t.opt.registry().Get(ctx, table.Key{Part: registry, Sort: tenant})
	if errors.Is(err, table.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("look a tenant up: %w", err)
	}
	return readRegistration(it)
}

func readRegistration(it table.Item) (registration, error) {
	r := registration{name: it.Sort, item: it}
	if err := json.Unmarshal(it.Data, &r); err != nil {
		return r, fmt.Errorf("read the registry of tenants: %w", err)
	}
	if r.Format > registryFormat {
		return r, fault.New(fault.IndexIncompatible, "a tenant is registered in a newer format than this "+
			"release reads").Fix("run the release that wrote it, or a newer one")
	}
	r.Incarnation = max(r.Incarnation, 1)
	return r, nil
}

// known reports whether there is an item.
func (r registration) known() bool { return r.item.Key != table.Key{} }

// live reports whether a tenant has the name.
func (r registration) live() bool { return r.known() && r.erasure(r.Incarnation) == nil }

// erasure is that of an incarnation; nil: it is not erased, or nothing is told of that any more.
func (r registration) erasure(incarnation int) *TenantErasure {
	i := slices.IndexFunc(r.Erasures, func(e TenantErasure) bool { return e.Incarnation == incarnation })
	if i < 0 {
		return nil
	}
	return &r.Erasures[i]
}

// being reports whether a tenant of the name is being erased, so that there can be no other one yet.
func (r registration) being() bool {
	e := r.erasure(r.Incarnation)
	return e != nil && e.Swept.IsZero()
}

// op is the write that puts a changed registration in the place of the one that was read. What was told for long
// enough is told no more, and the item of a name that no tenant has goes with it.
func (r registration) op(now time.Time) (table.Op, error) {
	r.Erasures = slices.DeleteFunc(slices.Clone(r.Erasures), func(e TenantErasure) bool {
		return e.Incarnation != r.Incarnation && !e.Done.IsZero() && now.Sub(e.Done) >= job.Kept
	})
	if len(r.Erasures) > 0 || r.Incarnation > 1 {
		r.Format = registryFormat
	}
	written := r
	if r.Incarnation == 1 {
		written.Incarnation = 0 // as items were before there were others
	}
	data, err := json.Marshal(written)
	if err != nil {
		return table.Op{}, fmt.Errorf("write the registry of tenants: %w", err)
	}
	it := table.Item{Key: table.Key{Part: registry, Sort: r.name}, Data: data}
	if e := r.erasure(r.Incarnation); e != nil && !e.Done.IsZero() {
		it.Expires = e.Done.Add(job.Kept)
	}
	if !r.known() {
		return table.Create(it), nil
	}
	return table.Replace(r.item, it), nil
}

// register changes what the registry knows of a name. The function may run again, on what another process wrote;
// if it returns false nothing is written. It returns the registration as it is then.
func (t *Teams) register(
	ctx context.Context, tenant string, change func(*registration) (bool, error),
) (registration, error) {
	r, err := t.lookUp(ctx, tenant)
	for {
		if err != nil {
			return r, err
		}
		changed, refused := change(&r)
		if refused != nil || !changed {
			return r, refused
		}
		op, unwritten := r.op(t.opt.Now())
		if unwritten != nil {
			return r, unwritten
		}
		failed := t.opt.registry().Commit(ctx, op)
		if failed == nil {
			return r, nil
		}
		var conflict *table.Conflict
		if !errors.As(failed, &conflict) {
			return r, fault.New(fault.Unavailable, "the registry of tenants cannot be written just now").
				After(time.Second).Because(failed)
		}
		r, err = registration{Format: 1, Incarnation: 1, name: tenant}, nil
		if conflict.Found {
			r, err = readRegistration(conflict.Item)
		}
	}
}

// Make makes a tenant, if there is none of this name. Its log comes first, unless Options.Makes says that it
// is made when the tenant is opened, so that a tenant that is registered has one. The tenant that had the name
// before may have been erased: then nothing of that is met, and an erasure that a crash stopped goes on first.
func (t *Teams) Make(ctx context.Context, tenant string) error {
	if err := vault.CheckName(tenant); err != nil {
		return err
	}
	if t.opt.NoLocal && tenant == auth.Local {
		return fault.New(fault.InvalidParameter, "no tenant of this deployment can be called %q", tenant)
	}
	r, err := t.lookUp(ctx, tenant)
	if err != nil || r.live() {
		return err
	}
	if r.being() {
		if _, err := t.goOn(ctx, tenant, *r.erasure(r.Incarnation)); err != nil {
			return err
		}
	}
	next := r.Incarnation
	switch {
	case r.known():
		next++
	case t.opt.Makes:
		if next, err = t.newest(ctx, tenant); err != nil {
			return err
		}
	}
	if !t.opt.Makes {
		if err := t.makeLog(ctx, tenant, next); err != nil {
			return err
		}
	}
	_, err = t.register(ctx, tenant, func(now *registration) (bool, error) {
		if now.live() {
			return false, nil
		}
		if now.being() {
			return false, tenantGoing()
		}
		now.Incarnation = next
		return true, nil
	})
	return err
}

// makeLog makes the log of a tenant, if there is none.
func (t *Teams) makeLog(ctx context.Context, tenant string, incarnation int) error {
	o, err := t.opt.of(ctx, tenant, incarnation)
	if err != nil {
		return err
	}
	l, err := newLog(o)
	if err != nil {
		return err
	}
	return makeLog(ctx, l)
}

// newest is the incarnation that has objects in the bucket and is the newest, so that vaults can be made anew from
// their segments where the table is lost; 1 if there is none.
func (t *Teams) newest(ctx context.Context, tenant string) (int, error) {
	o, err := t.opt.of(ctx, tenant, 1)
	if err != nil {
		return 0, err
	}
	newest := 1
	for object, err := range o.Bucket.List(ctx, "~") {
		if err != nil {
			return 0, fmt.Errorf("look for a tenant: %w", err)
		}
		dir, _, _ := strings.Cut(object.Key, "/")
		if n, err := strconv.Atoi(strings.TrimPrefix(dir, "~")); err == nil {
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// registered is the incarnation of the tenant that has a name. Where there is none it is UNAUTHENTICATED. The
// tenant auth.Local begins anew where it was erased, if Options.Makes says that tenants are made as they are opened.
func (t *Teams) registered(ctx context.Context, tenant string) (int, error) {
	if vault.CheckName(tenant) != nil {
		return 0, noTenant()
	}
	r, err := t.lookUp(ctx, tenant)
	if err != nil || r.live() {
		return r.Incarnation, err
	}
	if !r.known() || tenant != auth.Local || !t.opt.Makes {
		return 0, noTenant()
	}
	if r.being() {
		return 0, tenantGoing()
	}
	if err := t.Make(ctx, tenant); err != nil {
		return 0, err
	}
	r, err = t.lookUp(ctx, tenant)
	return r.Incarnation, err
}

// tenantGoing is the fault of a tenant that can begin anew only when the one before is erased.
func tenantGoing() error {
	return fault.New(fault.Unavailable, "the tenant is being erased; it begins anew when that is done").
		After(time.Second)
}

func noTenant() error {
	return fault.New(fault.Unauthenticated, "the caller belongs to no tenant here")
}

// of is what one tenant of a deployment is made with. What an incarnation keeps is its own; the folders of notes
// are where they were.
func (o Options) of(ctx context.Context, tenant string, incarnation int) (Options, error) {
	prefix := "tenants/" + tenant
	o.Tenant, o.life = tenant, tenant
	if tenant != auth.Local {
		o.Served = nil // the folder that is served is one vault, and that tenant's
	}
	if o.Stores != nil {
		var err error
		if o.Table, o.Bucket, err = o.Stores(ctx, tenant); err != nil {
			return o, fmt.Errorf("open the stores of a tenant: %w", err)
		}
	}
	o.Table = table.Incarnation(table.Sub(o.Table, tenant), incarnation)
	o.notes = blob.Sub(o.Bucket, prefix)
	if o.Bucket = o.notes; incarnation > 1 {
		own := fmt.Sprintf("~%d", incarnation)
		o.life += "/" + own
		o.Bucket = blob.Sub(o.notes, own)
	}
	o.Texts = o.Texts.Sub(o.life)
	if whole := o.Watch; whole != nil {
		o.Watch = func(folder string, enter func(string) bool) (blob.Watch, error) {
			return whole(prefix+"/"+folder, enter)
		}
	}
	return o, nil
}

package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// registry is the partition that lists the tenants, so that the table never has to be scanned. It
// is not a valid tenant name. The sort key of an item is the name, and its data a registration in
// JSON.
const registry = "~tenants"

// registryFormat is the newest version of an item. A name without an erased tenant still has
// version 1.
const registryFormat = 2

// A registration is the registry's entry for a name: the tenant that has it, and the erasures of
// earlier ones. A value that was read is not changed; register writes a changed copy if the item is
// still the one that was read.
type registration struct {
	Format      int               `json:"format"`
	Incarnation int               `json:"incarnation,omitempty"` // number of the newest tenant with this name
	Erasures    []RegistryErasure `json:"erasures,omitempty"`    // oldest first

	name string
	item table.Item // the item as it was read; with a zero Key if there is none
}

// A RegistryErasure is the progress of a tenant's erasure. It is authoritative, because the tenant's
// own log is destroyed.
type RegistryErasure struct {
	Incarnation int    `json:"incarnation"`
	Call        string `json:"call,omitempty"`    // digest of the call's principal and key; empty: it had no key
	Request     string `json:"request,omitempty"` // digest of the call's request; empty: written by an earlier release
	By          job.By `json:"by"`
	Erasure
}

// lookUp reads the registration of a name. For an unknown name the item's key is zero; see known.
func (t *Registry) lookUp(ctx context.Context, tenant string) (registration, error) {
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

// readRegistration decodes an item of the registry. A newer format is INDEX_INCOMPATIBLE, so that
// an earlier release does not create a tenant over one that it does not understand.
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

// known reports whether the registry has an item for the name.
func (r registration) known() bool { return r.item.Key != table.Key{} }

// isLive reports whether a tenant has the name: the name is registered, and its newest incarnation is
// not being erased.
func (r registration) isLive() bool { return r.known() && r.erasure(r.Incarnation) == nil }

// erasure returns the erasure of an incarnation, or nil if it is not erased or its erasure is no
// longer listed.
func (r registration) erasure(incarnation int) *RegistryErasure {
	i := slices.IndexFunc(r.Erasures, func(e RegistryErasure) bool { return e.Incarnation == incarnation })
	if i < 0 {
		return nil
	}
	return &r.Erasures[i]
}

// isErasing reports whether the newest tenant of the name is being erased. A new one cannot be created
// before everything that existed is destroyed; the second sweep an hour later does not prevent it,
// because each incarnation has its own parts of the table and the bucket.
func (r registration) isErasing() bool {
	e := r.erasure(r.Incarnation)
	return e != nil && e.Swept.IsZero()
}

// op returns the write that replaces the registration as it was read by r; it fails if another
// process has written since. Erasures that ended job.Retention ago are dropped, and the item of a name
// without a tenant expires too. Until a name has an erased tenant, its item has the first
// format, which earlier releases read.
func (r registration) op(now time.Time) (table.Op, error) {
	r.Erasures = slices.DeleteFunc(slices.Clone(r.Erasures), func(e RegistryErasure) bool {
		return e.Incarnation != r.Incarnation && !e.Done.IsZero() && now.Sub(e.Done) >= job.Retention
	})
	if len(r.Erasures) > 0 || r.Incarnation > 1 {
		r.Format = registryFormat
	}
	written := r
	if r.Incarnation == 1 {
		written.Incarnation = 0 // the form of items before there were incarnations
	}
	data, err := json.Marshal(written)
	if err != nil {
		return table.Op{}, fmt.Errorf("write the registry of tenants: %w", err)
	}
	it := table.Item{Key: table.Key{Part: registry, Sort: r.name}, Data: data}
	if e := r.erasure(r.Incarnation); e != nil && !e.Done.IsZero() {
		it.Expires = e.Done.Add(job.Retention)
	}
	if !r.known() {
		return table.Create(it), nil
	}
	return table.Replace(r.item, it), nil
}

// register changes the registration of a name and returns the result. change may be called again,
// with what another process wrote. If it returns false, nothing is written. A write that fails for
// another reason is UNAVAILABLE; its outcome may be unknown, so callers repeat the whole change.
func (t *Registry) register(
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
			return r, fault.New(fault.Unavailable, "the registry of tenants cannot be written now").
				After(time.Second).Because(failed)
		}
		r, err = registration{Format: 1, Incarnation: 1, name: tenant}, nil
		if conflict.Found {
			r, err = readRegistration(conflict.Item)
		}
	}
}

// Make creates a tenant if there is none with this name. Its log is created first, so that a
// registered tenant has one, unless Options.CreateMissing says that Open creates it. If an earlier tenant
// with the name was erased, the new one has none of its data, and an erasure that a crash
// interrupted is continued first. Make may be repeated.
//
// It returns INVALID_PARAMETER for an invalid name, and UNAVAILABLE while an earlier tenant of the
// name is being erased.
func (t *Registry) Make(ctx context.Context, tenant string) error {
	if err := vault.CheckName(tenant); err != nil {
		return err
	}
	if t.opt.NoLocal && tenant == auth.Local {
		return fault.New(fault.InvalidParameter, "no tenant of this deployment can be called %q", tenant)
	}
	r, err := t.lookUp(ctx, tenant)
	if err != nil || r.isLive() {
		return err
	}
	if r.isErasing() {
		if _, err := t.continueErasure(ctx, tenant, *r.erasure(r.Incarnation)); err != nil {
			return err
		}
	}
	next, err := t.makeNext(ctx, tenant, r)
	if err != nil {
		return err
	}
	_, err = t.register(ctx, tenant, func(now *registration) (bool, error) {
		if now.isLive() {
			return false, nil
		}
		if now.isErasing() {
			return false, stillErasing()
		}
		now.Incarnation = next
		return true, nil
	})
	return err
}

// makeNext returns the incarnation of a new tenant, and creates its log unless Open does. r is the
// registration of the last tenant with the name. For an unknown name where Open creates logs, it
// looks into the bucket: after the loss of the table, the vaults are rebuilt under the same
// incarnation.
func (t *Registry) makeNext(ctx context.Context, tenant string, r registration) (int, error) {
	next := r.Incarnation
	if r.known() {
		next++
	} else if t.opt.CreateMissing {
		return t.newest(ctx, tenant)
	}
	if t.opt.CreateMissing {
		return next, nil
	}
	return next, t.makeLog(ctx, tenant, next)
}

// makeLog creates the log of a tenant if there is none.
func (t *Registry) makeLog(ctx context.Context, tenant string, incarnation int) error {
	o, err := t.opt.forTenant(ctx, tenant, incarnation)
	if err != nil {
		return err
	}
	l, err := newLog(o)
	if err != nil {
		return err
	}
	return makeLog(ctx, l)
}

// newest returns the newest incarnation that has objects in the bucket, so that vaults can be
// rebuilt from their segments if the table is lost. It returns 1 if there are none.
func (t *Registry) newest(ctx context.Context, tenant string) (int, error) {
	o, err := t.opt.forTenant(ctx, tenant, 1)
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

// registered returns the incarnation of the tenant with a name. If there is none, or the name is
// invalid, the error is UNAUTHENTICATED. An erased tenant auth.Local is created again if
// Options.CreateMissing is set, because it is the tenant of the person whose machine it is, who has no
// other way to create one.
func (t *Registry) registered(ctx context.Context, tenant string) (int, error) {
	if vault.CheckName(tenant) != nil {
		return 0, noTenant()
	}
	r, err := t.lookUp(ctx, tenant)
	if err != nil || r.isLive() {
		return r.Incarnation, err
	}
	if !r.known() || tenant != auth.Local || !t.opt.CreateMissing {
		return 0, noTenant()
	}
	if r.isErasing() {
		return 0, stillErasing()
	}
	if err := t.Make(ctx, tenant); err != nil {
		return 0, err
	}
	r, err = t.lookUp(ctx, tenant)
	return r.Incarnation, err
}

// stillErasing returns the UNAVAILABLE fault of a tenant that cannot be created until the earlier
// one is erased.
func stillErasing() error {
	return fault.New(fault.Unavailable, "the tenant is being erased; it can be used again when that is done").
		After(time.Second)
}

// noTenant returns the UNAUTHENTICATED fault of a tenant that does not exist. It names no tenant.
func noTenant() error {
	return fault.New(fault.Unauthenticated, "the caller belongs to no tenant here")
}

// forTenant returns the options of one tenant of the deployment. Each incarnation has its own parts of the
// table and the bucket; the folders of notes are those of the name.
//
// In the table, the partitions of a tenant begin with its name; in the bucket, its objects are in
// tenants/NAME, and those of a later incarnation N in tenants/NAME/~N. life, the name with that
// suffix, identifies the incarnation among all tenants of the process.
func (o Options) forTenant(ctx context.Context, tenant string, incarnation int) (Options, error) {
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

package tenant

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// tenantErase is the kind of a job that erases a tenant.
const tenantErase = "tenant_erase"

// tenantStepsToSwept is the number of its steps after which everything that existed is destroyed.
const tenantStepsToSwept = 5

// sweepStep is the only step that remains once everything that existed is destroyed, even by
// another job.
const sweepStep = "sweep"

// listed is the partition that lists the logs of vaults by their partitions, including logs that no
// commit of the tenant names because of a crash.
const listed = "~vaults"

// An eraser erases one tenant. It accesses the tenant without opening it, through own, a Tenant that
// has no background work and is not in Registry.open. Its jobs are those of this erasure only: the
// tenant's other jobs end with it.
type eraser struct {
	registry    *Registry
	own         *Tenant
	incarnation int
	jobs        *job.Jobs
}

// eraser returns the eraser of an incarnation of a tenant. There is one for each in this process.
func (t *Registry) eraser(ctx context.Context, tenant string, incarnation int) (*eraser, error) {
	o, err := t.opt.forTenant(ctx, tenant, incarnation)
	if err != nil {
		return nil, err
	}
	own, err := openReadOnly(o)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, stopping()
	}
	if e := t.erasers[o.life]; e != nil {
		return e, nil
	}
	e := &eraser{registry: t, own: own, incarnation: incarnation}
	e.jobs = job.New(job.Options{
		Table: o.Table, Tenant: tenant, Kinds: []job.Kind{e.kind()}, Queue: o.Queue, Now: o.Now,
		Background: o.Background, Alone: o.SoleProcess,
	})
	t.erasers[o.life] = e
	return e, nil
}

// ended reports whether this process erases an incarnation of a tenant.
func (t *Registry) ended(tenant string, incarnation int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.erasers {
		if e.own.opt.Tenant == tenant && e.incarnation == incarnation {
			return true
		}
	}
	return false
}

// request returns the request for the job of an erasure that has begun.
func (e *eraser) request(at RegistryErasure) job.Request {
	return job.Request{ID: at.Job, Kind: tenantErase, By: at.By}
}

// kind returns the kind of job. Each of its steps is idempotent; the registry records the progress.
// Once everything that existed is destroyed, steps before the last one do nothing, so that a second
// job of one erasure does not count data twice.
func (e *eraser) kind() job.Kind {
	step := func(name string, do func(*ending, context.Context) error) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
			d, err := e.ending(ctx, r)
			if err != nil || d == nil {
				return err
			}
			if swept := !d.at.Swept.IsZero(); !swept || name == sweepStep {
				if err := do(d, ctx); err != nil {
					return err
				}
			}
			return r.Set(d.done)
		}}
	}
	return job.Kind{
		Name: tenantErase, Stops: job.Never, Endless: true,
		Steps: []job.Step{
			step("seal", (*ending).seal), step("files", (*ending).files), step("vaults", (*ending).vaults),
			step("tenant", (*ending).tenant), step("compact", (*ending).compact), step(sweepStep, (*ending).sweep),
		},
	}
}

// An ending is the state of a tenant's erasure during one step of its job.
type ending struct {
	*eraser
	at   RegistryErasure // as in the registry
	job  string
	call eventlog.Call
	done Receipt

	known func() bool // reports whether the clock is known to be right
}

// ending returns the current state of the erasure, or nil if nothing is left to do.
func (e *eraser) ending(ctx context.Context, r *job.Run) (*ending, error) {
	clocked := e.own.opt.clocked()
	known, err := e.registry.lookUp(ctx, e.own.opt.Tenant)
	if err != nil {
		return nil, err
	}
	at := known.erasure(e.incarnation)
	if at == nil || !at.Done.IsZero() {
		return nil, nil
	}
	d := &ending{eraser: e, at: *at, job: r.Item.ID, known: clocked, call: eventlog.Call{
		Who:  eventlog.Who{Principal: at.By.Principal, Agent: at.By.Agent, Request: at.By.Request},
		Tool: "team_tenant_erase",
	}}
	if !at.Swept.IsZero() {
		d.done = at.Receipt
		return d, nil
	}
	return d, r.Result(&d.done)
}

// seal seals every vault and then the tenant's own log, so that nothing more is written and no
// token is valid, and closes the tenant in this process. It repeats this once after the log is
// sealed, for vaults that were created meanwhile. If the log is damaged, it seals the vaults that
// are listed, and then the log.
func (d *ending) seal(ctx context.Context) error {
	d.registry.closeTenant(d.own.opt.Tenant, d.own.opt.life)
	for {
		s, err := d.own.log.Read(ctx)
		whole := s.Status == eventlog.Sealed || unreadable(err)
		if err != nil && !whole {
			return err
		}
		if err == nil {
			if err := d.list(ctx, s.State); err != nil {
				return err
			}
		}
		if err := d.sealVaults(ctx); err != nil {
			return err
		}
		if err := d.own.log.Seal(ctx, d.call); err != nil || whole {
			return err
		}
	}
}

// unreadable reports whether the tenant's log is gone or damaged. Only the list of logs then names
// its vaults.
func unreadable(err error) bool {
	return err != nil && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.IndexError))
}

// closeTenant closes a tenant in this process, unless another incarnation has its name. opening is held,
// so that the tenant is not opened again before its log is sealed; see ended.
func (t *Registry) closeTenant(tenant, life string) {
	t.opening.Lock()
	defer t.opening.Unlock()
	t.mu.Lock()
	own := t.open[tenant]
	if own != nil && own.opt.life == life {
		delete(t.open, tenant)
	} else {
		own = nil
	}
	t.mu.Unlock()
	if own != nil {
		own.end()
	}
}

// list adds the logs of a state's vaults to the list of logs, because an earlier release did not.
func (d *ending) list(ctx context.Context, s *State) error {
	var ops []table.Op
	for _, e := range s.vaults {
		for i := 1; i <= e.Incarnation && !e.free(); i++ {
			ops = append(ops, table.Set(table.Item{Key: table.Key{Part: listed, Sort: partOf(e.Name, i)}}))
		}
	}
	if err := d.own.commitAll(ctx, ops); err != nil {
		return fmt.Errorf("list the vaults of a tenant: %w", err)
	}
	return nil
}

// eachVault calls do for each log of a vault, with the vault's name and incarnation. It reads the
// list of logs, not the tenant's state, because the list also names logs that a crash left without
// a commit of the tenant. It ends with the first error.
func (d *ending) eachVault(
	ctx context.Context, do func(v *repo.Vault, name string, incarnation int) error,
) error {
	for it, err := range d.own.opt.Table.Query(ctx, listed, "", "~") {
		if err != nil {
			return fmt.Errorf("list the vaults of a tenant: %w", err)
		}
		name, number, _ := strings.Cut(it.Sort, "/")
		incarnation, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		v, err := d.own.vaultOf(name, incarnation)
		if err != nil {
			return err
		}
		if err := do(v, name, incarnation); err != nil {
			return fmt.Errorf("incarnation %d of a vault: %w", incarnation, err)
		}
	}
	return nil
}

// sealVaults seals every vault.
func (d *ending) sealVaults(ctx context.Context) error {
	return d.eachVault(ctx, func(v *repo.Vault, _ string, _ int) error { return v.Seal(ctx, d.call) })
}

// files removes the files of the vaults, which the log of each lists. If several vaults had a name,
// the folder is that of the newest.
func (d *ending) files(ctx context.Context) error {
	if !d.own.opt.Folders {
		return d.eachVault(ctx, func(_ *repo.Vault, name string, _ int) error {
			gone, err := d.own.eraseNotes(ctx, name)
			d.done.Files += gone.Objects
			d.done.Bytes += gone.Bytes
			return err
		})
	}
	newest := map[string]*repo.Vault{}
	numbers := map[string]int{}
	err := d.eachVault(ctx, func(v *repo.Vault, name string, incarnation int) error {
		if incarnation > numbers[name] {
			newest[name], numbers[name] = v, incarnation
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, v := range newest {
		files, err := d.own.files(name)
		if err != nil {
			return err
		}
		cleared, err := checkout.Erase(ctx, v, files)
		if err != nil {
			return err
		}
		d.done.count(cleared)
	}
	return nil
}

// vaults erases the logs of the vaults.
func (d *ending) vaults(ctx context.Context) error {
	return d.eachVault(ctx, func(v *repo.Vault, _ string, _ int) error {
		gone, err := v.Erase(ctx, d.call)
		d.done.Add(gone)
		return err
	})
}

// tenant erases the tenant's own log, its other partitions, and the rest of its bucket. Folders of
// notes are not part of that rest; see Options.objects.
func (d *ending) tenant(ctx context.Context) error {
	gone, err := d.own.log.Erase(ctx, d.call)
	d.done.Add(gone)
	if err != nil {
		return err
	}
	for _, part := range d.own.opt.parts() {
		if err := d.empty(ctx, part); err != nil {
			return err
		}
	}
	return d.emptyBucket(ctx)
}

// empty removes the items of a partition, except those of the job that runs it, and counts them.
// The items of the job expire by themselves.
func (d *ending) empty(ctx context.Context, part string) error {
	var ops []table.Op
	gone, err := d.own.opt.kept(ctx, part, func(it table.Item) bool {
		if part == job.Part && d.jobs.Owns(it, d.job) {
			return false
		}
		ops = append(ops, table.Remove(it.Key))
		return true
	})
	if err != nil {
		return err
	}
	if err := d.own.commitAll(ctx, ops); err != nil {
		return fmt.Errorf("remove the objects of a tenant outside its logs: %w", err)
	}
	d.done.Add(gone)
	return nil
}

// emptyBucket deletes the remaining objects of the tenant's bucket.
func (d *ending) emptyBucket(ctx context.Context) error {
	gone, err := d.own.opt.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range gone {
		if err := d.own.opt.Bucket.Delete(ctx, o.Key); err != nil {
			return fmt.Errorf("delete an object of a tenant: %w", err)
		}
		d.done.Add(eventlog.Erased{Objects: 1, Bytes: o.Size})
	}
	return nil
}

// compact purges deleted data from the database, and writes to the registry that everything that
// existed is destroyed. The receipt is final then. It lists itself among the data that remains
// until it expires, and the log of the server has one line, without the name of the tenant.
func (d *ending) compact(ctx context.Context) error {
	if err := d.own.compact(ctx); err != nil {
		return err
	}
	now := d.own.opt.Now().UTC().Truncate(time.Millisecond)
	if rests := d.own.opt.RemainingCopies; rests != nil {
		d.done.Add(eventlog.Erased{Expires: rests(now)})
	}
	d.done.Add(eventlog.Erased{Expires: []eventlog.Rest{
		{What: "receipt", Until: now.Add(eventlog.SweepAgain + job.Retention)},
	}})
	if err := d.record(ctx, func(at *RegistryErasure) { at.Swept, at.Receipt = now, d.done }); err != nil {
		return err
	}
	d.own.opt.Log.InfoContext(ctx, "a tenant is erased", slog.String("job", d.job),
		slog.Int("items", d.done.Items), slog.Int("objects", d.done.Objects),
		slog.Int("files", d.done.Files), slog.Int64("bytes", d.done.Bytes), slog.Int("left", d.done.Left))
	return nil
}

// sweep destroys data that arrived late, an hour after the rest: a write that was in flight when a
// log was sealed can still arrive for some minutes (log.md §2.4). It does not change the receipt.
func (d *ending) sweep(ctx context.Context) error {
	if err := d.own.opt.sweepDue(d.at.Swept, d.known); err != nil {
		return err
	}
	receipt := d.done
	d.done = Receipt{}
	for _, do := range []func(context.Context) error{d.vaults, d.tenant} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	if err := d.empty(ctx, listed); err != nil {
		return err
	}
	d.done = receipt
	if err := d.own.compact(ctx); err != nil {
		return err
	}
	return d.record(ctx, func(at *RegistryErasure) { at.Done = d.own.opt.Now().UTC() })
}

// record writes the progress of the erasure to the registry, unless another process has recorded
// more. The registry may contain another tenant of the name by now; its entry stays as it is.
func (d *ending) record(ctx context.Context, change func(*RegistryErasure)) error {
	_, err := d.registry.register(ctx, d.own.opt.Tenant, func(now *registration) (bool, error) {
		at := now.erasure(d.incarnation)
		if at == nil || !at.Done.IsZero() || !at.Swept.Equal(d.at.Swept) {
			return false, nil // another process was faster
		}
		now.Erasures = slices.Clone(now.Erasures)
		change(now.erasure(d.incarnation))
		return true, nil
	})
	return err
}

// parts returns the partitions of a tenant other than its logs.
func (o Options) parts() []string { return append([]string{owners, uses, job.Part}, o.Parts...) }

// kept counts the items of a partition and their bytes. each is called for every item, and may
// exclude it by returning false; nil includes all.
func (o Options) kept(
	ctx context.Context, part string, each func(table.Item) bool,
) (eventlog.Erased, error) {
	var all eventlog.Erased
	for it, err := range o.Table.Query(ctx, part, "", "\U0010FFFF") {
		if err != nil {
			return all, fmt.Errorf("list the objects of a tenant outside its logs: %w", err)
		}
		if each == nil || each(it) {
			all.Add(eventlog.Erased{Items: 1, Bytes: int64(len(it.Part) + len(it.Sort) + len(it.Data))})
		}
	}
	return all, nil
}

// objects returns the objects of the tenant's bucket, except the folders of notes, where files that
// were in no version of a vault are kept, and the objects of later tenants with the name.
func (o Options) objects(ctx context.Context) ([]blob.Object, error) {
	var all []blob.Object
	first := o.life == o.Tenant
	for object, err := range o.Bucket.List(ctx, "") {
		if err != nil {
			return nil, fmt.Errorf("list the objects of a tenant: %w", err)
		}
		if !isNote(object.Key) && (!first || !strings.HasPrefix(object.Key, "~")) {
			all = append(all, object)
		}
	}
	return all, nil
}

package tenant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// vaultErase is the kind of a job that erases a vault.
const vaultErase = "vault_erase"

// stepsToSwept is the number of its steps after which everything that existed is destroyed.
const stepsToSwept = 4

// An erasureInput is the input of the job, in addition to its target.
type erasureInput struct {
	Who         eventlog.Who `json:"who"`
	Incarnation int          `json:"incarnation"`
}

// erasureJob returns the request for the job of an erasure that has begun.
func erasureJob(e Entry, who eventlog.Who) job.Request {
	return job.Request{
		ID: e.Erasure.Job, Kind: vaultErase, Target: job.Target{Vault: e.Name}, By: JobBy(who),
		Input: erasureInput{who, e.Incarnation},
	}
}

// JobBy returns the author of a call in the form of a job's.
func JobBy(who eventlog.Who) job.By {
	return job.By{Principal: who.Principal, Agent: who.Agent, Request: who.Request}
}

// vaultEraseKind returns the kind of job that erases a vault. A step does nothing if the vault is no
// longer the one that the job was made for, or is already free.
//
// Each step is idempotent and reads the state of the erasure from the tenant's log first, because a
// job that was interrupted is continued at its last step, perhaps by another process. The steps are
// in the order of their dependencies: the vault must be sealed before anything is destroyed, so
// that no writer adds to it; its log lists its files, so the files come before the log; and the
// database is compacted when all items are removed. The last step waits for an hour.
func (t *Tenant) vaultEraseKind() job.Kind {
	step := func(name string, do func(*erasing, context.Context) error) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
			e, err := t.erasingOf(ctx, r)
			if err != nil || e.over {
				return err
			}
			t.erasing.Lock()
			defer t.erasing.Unlock()
			if err := do(e, ctx); err != nil {
				return err
			}
			return r.Set(e.done)
		}}
	}
	return job.Kind{
		Name: vaultErase, Stops: job.Never, Endless: true,
		Steps: []job.Step{
			step("seal", (*erasing).seal), step("files", (*erasing).files), step("log", (*erasing).logs),
			step("compact", (*erasing).compact), step("sweep", (*erasing).sweep),
		},
	}
}

// An erasing is the state of an erasure during one step of its job. It is created again for each
// step.
//
// swept is asked first by each step before the last one: another job of the same erasure may have
// finished it, and its receipt is then the one to return.
type erasing struct {
	tenant *Tenant
	entry  Entry
	call   eventlog.Call
	done   Receipt
	over   bool // nothing is left to do

	known func() bool // reports whether the clock is known to be right
}

// erasingOf returns the current state of the erasure of a job.
func (t *Tenant) erasingOf(ctx context.Context, r *job.Run) (*erasing, error) {
	e := &erasing{tenant: t, known: t.opt.clocked()}
	var in erasureInput
	if err := r.Input(&in); err != nil {
		return e, err
	}
	if err := r.Result(&e.done); err != nil {
		return e, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return e, err
	}
	var ok bool
	e.entry, ok = s.Vault(r.Item.Target.Vault)
	e.over = !ok || e.entry.Incarnation != in.Incarnation || e.entry.Erasure == nil || e.entry.free()
	e.call = eventlog.Call{Who: in.Who, Tool: "team_vault_erase"}
	return e, nil
}

// swept reports whether the tenant's log says that everything that existed is destroyed. The steps
// up to that point are then done, possibly by another job.
func (e *erasing) swept() bool {
	if e.entry.Status != Erased {
		return false
	}
	e.done = e.entry.Erasure.Receipt
	return true
}

// seal seals the vault, so that nothing more is written to it, and closes it in this process.
func (e *erasing) seal(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	_, err := e.tenant.sealAndClose(ctx, e.call, e.entry)
	return err
}

// files removes the files of the vault's notes: those that its log lists if they are in a folder,
// and all of them if they are in a bucket. It counts from zero, so a repetition does not count
// twice what the first attempt destroyed; that attempt's part is missing from the receipt then.
func (e *erasing) files(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	files, err := e.tenant.files(e.entry.Name)
	if err != nil {
		return err
	}
	if files == nil {
		gone, err := e.tenant.eraseNotes(ctx, e.entry.Name)
		e.done.Files, e.done.Bytes = gone.Objects, gone.Bytes
		return err
	}
	v, err := e.tenant.closeSealed(ctx, e.call, e.entry)
	if err != nil {
		return err
	}
	cleared, err := checkout.Erase(ctx, v, files)
	if err != nil {
		return err
	}
	e.done.Files, e.done.Bytes, e.done.Left = cleared.Files, cleared.Bytes, cleared.Left
	return nil
}

// logs erases the logs of all incarnations of the name.
func (e *erasing) logs(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	gone, err := e.tenant.eraseLogs(ctx, e.call, e.entry)
	e.done.Add(gone)
	return err
}

// unlist removes the logs of all incarnations of a name from the list of logs. It comes last,
// because the list is what an erasure of the whole tenant finds them by.
func (t *Tenant) unlist(ctx context.Context, e Entry) error {
	var ops []table.Op
	for i := 1; i <= e.Incarnation; i++ {
		ops = append(ops, table.Remove(table.Key{Part: listed, Sort: partOf(e.Name, i)}))
	}
	if err := t.commitAll(ctx, ops); err != nil {
		return fmt.Errorf("remove the logs of an erased vault: %w", err)
	}
	return nil
}

// commitAll commits operations, as many at once as a commit can have.
func (t *Tenant) commitAll(ctx context.Context, ops []table.Op) error {
	for some := range slices.Chunk(ops, table.MaxOps) {
		if err := t.opt.Table.Commit(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// compact purges deleted data from the database and commits to the tenant's log that the vault is
// erased.
func (e *erasing) compact(ctx context.Context) error {
	if e.swept() {
		return nil
	}
	if err := e.tenant.compact(ctx); err != nil {
		return err
	}
	if rests := e.tenant.opt.RemainingCopies; rests != nil {
		e.done.Add(eventlog.Erased{Expires: rests(e.tenant.opt.Now().UTC().Truncate(time.Millisecond))})
	}
	return e.record(ctx, func(now *Erasure, at time.Time) { now.Swept, now.Receipt = at, e.done })
}

// sweep destroys data that arrived late, an hour after the rest. The name is free afterwards.
func (e *erasing) sweep(ctx context.Context) error {
	e.done = e.entry.Erasure.Receipt
	if err := e.tenant.opt.sweepDue(e.entry.Erasure.Swept, e.known); err != nil {
		return err
	}
	if _, err := e.tenant.eraseLogs(ctx, e.call, e.entry); err != nil {
		return err
	}
	if _, err := e.tenant.eraseNotes(ctx, e.entry.Name); err != nil {
		return err
	}
	if err := e.tenant.unlist(ctx, e.entry); err != nil {
		return err
	}
	// Compact even if nothing was found: data that another process removed since may be in freed
	// pages of the database.
	if err := e.tenant.compact(ctx); err != nil {
		return err
	}
	return e.record(ctx, func(now *Erasure, at time.Time) { now.Done = at })
}

// sweepAsk is the delay before a job checks again whether the clock is right, when its second sweep
// may be due by a clock that is not known to be right.
const sweepAsk = time.Minute

// sweepDue returns nil if the second sweep is due: eventlog.SweepAgain after the first one, by a clock
// that is known to be right. Otherwise it returns a job.Later with the time of the next check.
// known is the function that clocked returned at the beginning of the step.
func (o Options) sweepDue(swept time.Time, known func() bool) error {
	now, due := o.Now(), swept.Add(eventlog.SweepAgain)
	switch {
	case now.Before(due):
		return job.Later(due)
	case !known():
		return job.Later(now.Add(sweepAsk))
	}
	return nil
}

// record commits the progress of the erasure to the tenant's log, unless another process has
// recorded more. change sets the fields of a stage; its time is that of the commit.
func (e *erasing) record(ctx context.Context, change func(*Erasure, time.Time)) error {
	_, err := e.tenant.update(ctx, e.call, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		now, _ := d.State().Vault(e.entry.Name)
		if now.Incarnation != e.entry.Incarnation || now.Status != e.entry.Status || now.free() {
			return nil, nil // another process was faster
		}
		erasure := *now.Erasure
		change(&erasure, d.Now())
		now.Status, now.Erasure = Erased, &erasure
		return nil, d.Record(kindVault, e.entry.Name, now)
	})
	return err
}

// eraseLogs erases the logs of all incarnations of a name.
func (t *Tenant) eraseLogs(ctx context.Context, c eventlog.Call, e Entry) (eventlog.Erased, error) {
	var done eventlog.Erased
	for i := 1; i <= e.Incarnation; i++ {
		v, err := t.vaultOf(e.Name, i)
		if err != nil {
			return done, err
		}
		gone, err := v.Erase(ctx, c)
		if err != nil {
			return done, fmt.Errorf("erase incarnation %d of a vault: %w", i, err)
		}
		done.Add(gone)
	}
	return done, nil
}

// compact purges deleted data from the database; see Options.Compact.
func (t *Tenant) compact(ctx context.Context) error {
	if t.opt.Compact == nil {
		return nil
	}
	return t.opt.Compact(ctx)
}

// sealAndClose seals a vault and closes it in this process. If the vault is open, the open instance is
// sealed, so that its writers learn of it at once, and its folder ends, so that no file is written
// again. A vault that is being opened is waited for.
func (t *Tenant) sealAndClose(ctx context.Context, c eventlog.Call, e Entry) (*repo.Vault, error) {
	part := partOf(e.Name, e.Incarnation)
	t.mu.Lock()
	o := t.open[part]
	t.mu.Unlock()
	if o != nil {
		o.once.Do(func() {}) // also close a vault that is being opened
	}
	if o == nil || o.vault == nil {
		v, err := t.vaultOf(e.Name, e.Incarnation)
		if err != nil {
			return nil, err
		}
		return v, v.Seal(ctx, c)
	}
	if err := o.vault.Seal(ctx, c); err != nil {
		return nil, err
	}
	if o.folder != nil {
		o.folder.End()
	}
	o.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[part] == o {
		delete(t.open, part)
	}
	return o.vault, nil
}

// closeSealed is shut for a vault that an earlier step has sealed. If this process does not have the
// vault open, its log is not read again.
func (t *Tenant) closeSealed(ctx context.Context, c eventlog.Call, e Entry) (*repo.Vault, error) {
	t.mu.Lock()
	o := t.open[partOf(e.Name, e.Incarnation)]
	t.mu.Unlock()
	if o == nil {
		v, err := t.vaultOf(e.Name, e.Incarnation)
		if err != nil || v.Sealed(ctx) {
			return v, err
		}
	}
	return t.sealAndClose(ctx, c, e)
}

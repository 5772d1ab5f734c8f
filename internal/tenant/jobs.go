package tenant

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// Jobs returns the jobs of the tenant.
func (t *Tenant) Jobs() *job.Jobs { return t.jobs }

// Once runs a function that changes something outside the log, unless an earlier call had the same
// key; it then returns the answer of that call. The function may run twice and must be idempotent.
// A call with IfVersion is refused if the tenant has changed since, whatever the change was.
func (t *Tenant) Once(
	ctx context.Context, c eventlog.Call, do func(context.Context, *State) (any, error),
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(ctx context.Context, d *eventlog.Draft[*State]) (any, error) {
		// The change has no version of its own, so the whole state counts as touched.
		if err := d.Touch(d.Seq() - 1); err != nil {
			return nil, err
		}
		return do(ctx, d.State())
	})
}

// newJobs returns the tenant's jobs without reading anything.
func (t *Tenant) newJobs() *job.Jobs {
	return job.New(job.Options{
		Table: t.opt.Table, Tenant: t.opt.Tenant, Kinds: t.kinds(), Queue: t.opt.Queue, Now: t.opt.Now,
		Background: t.opt.Background, Alone: t.opt.SoleProcess,
	})
}

// kinds returns the kinds of the tenant's jobs.
func (t *Tenant) kinds() []job.Kind {
	kinds := []job.Kind{t.vaultEraseKind(), t.noteEraseKind()}
	if t.opt.Kinds != nil {
		kinds = append(kinds, t.opt.Kinds(t)...)
	}
	return kinds
}

// jobsKind is the kind of a message that requests a pass over the jobs of a tenant.
const jobsKind = "jobs"

// wake reports to the queue that the tenant may have jobs from an earlier process. Without
// Options.Background it does nothing: then each job has messages of its own.
func (t *Tenant) wake(ctx context.Context) {
	if t.opt.Queue == nil || !t.opt.Background {
		return
	}
	if err := t.opt.Queue.Send(ctx, JobsMessage(t.opt.Tenant)); err != nil {
		t.opt.Log.WarnContext(ctx, "the jobs of a tenant are deferred until the next call", slog.Any("cause", err))
	}
}

// Work makes one pass over the jobs of the tenant. It runs those that are due, and creates a job
// for each erasure in the tenant's log that has none. It returns the time when the next job is due,
// or the zero time if there is none. With an error, it returns the present time, so that the pass
// is repeated.
func (t *Tenant) Work(ctx context.Context) (next time.Time, err error) {
	if err := t.adoptErasures(ctx); err != nil {
		return t.opt.Now(), err
	}
	return t.jobs.Work(ctx)
}

// adoptErasures creates the jobs of erasures that have none: after a crash between the tenant's
// commit and the creation of the job, and for erasures that an earlier release began. If the job of
// an erasure has ended although the erasure has not, it creates another one with a new id. Errors
// of single erasures are joined, and do not prevent the others.
func (t *Tenant) adoptErasures(ctx context.Context) error {
	s, err := t.Current(ctx)
	if err != nil {
		return err
	}
	for _, e := range s.vaults {
		if e.Erasure == nil || e.free() {
			continue
		}
		who := eventlog.Who{Principal: "rookery"}
		ask := erasureJob(e, who)
		_, failed := t.jobs.Add(ctx, ask)
		if fault.Is(failed, fault.DuplicateID) { // the job has ended, but the erasure has not
			ask.ID = ""
			_, failed = t.jobs.Add(ctx, ask)
		}
		if failed != nil && !fault.Is(failed, fault.InProgress) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// JobKinds returns the kinds of messages that WorkOn accepts: those of a tenant's jobs, and that of
// a message without a job. A worker filters its queue by them.
func (t *Registry) JobKinds() []string {
	kinds := []string{jobsKind, tenantErase}
	of := &Tenant{opt: t.opt} // only the names are used
	for _, k := range of.kinds() {
		kinds = append(kinds, k.Name)
	}
	return kinds
}

// WorkOn runs the job that a message names or, if it names none, makes one pass over the tenant's
// jobs as WorkOf does. It returns the time when the message must be delivered again, or the zero
// time if it need not be, because the job has ended or the queue has another message for it. Failed
// work is retried by itself; its error is returned for the log. A tenant that does not exist has no
// jobs. A message may be delivered twice: jobs have leases, so one of two runs waits for the other.
func (t *Registry) WorkOn(ctx context.Context, m job.Message) (next time.Time, err error) {
	if m.Job == "" {
		if _, err = t.WorkOf(ctx, m.Tenant); err != nil {
			next = t.opt.Now().Add(workAgain)
		}
		return next, err
	}
	jobs, err := t.jobsOf(ctx, m)
	if err != nil {
		return t.opt.Now().Add(workAgain), err
	}
	if jobs == nil {
		return time.Time{}, nil
	}
	return jobs.Run(ctx, m.Job)
}

// workAgain is the delay of a message whose jobs could not be read.
const workAgain = 30 * time.Second

// jobsOf returns the jobs that include the one of a message, or nil if the tenant no longer exists.
// The job of an erasure belongs to the eraser, although another tenant may have the name by now.
func (t *Registry) jobsOf(ctx context.Context, m job.Message) (*job.Jobs, error) {
	r, err := t.lookUp(ctx, m.Tenant)
	if err != nil {
		return nil, err
	}
	for _, at := range r.Erasures {
		if at.Job != m.Job {
			continue
		}
		e, err := t.eraser(ctx, m.Tenant, at.Incarnation)
		if err != nil {
			return nil, err
		}
		return e.jobs, nil
	}
	if !r.isLive() {
		return nil, nil
	}
	own, err := t.Tenant(ctx, m.Tenant)
	if err != nil {
		return nil, err
	}
	return own.jobs, nil
}

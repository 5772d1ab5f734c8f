package team

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
)

// Jobs are the jobs of the tenant.
func (t *Team) Jobs() *job.Jobs { return t.jobs }

// Once runs a function that changes something beside the log, unless a call with the same key did before, whose
// answer is then that of this one. The function does no harm twice.
func (t *Team) Once(
	ctx context.Context, c repo.Call, do func(context.Context, *State) (any, error),
) (repo.Receipt, error) {
	return t.update(ctx, c, func(ctx context.Context, d *repo.Draft[*State]) (any, error) {
		if err := d.Touch(d.Seq() - 1); err != nil { // what it changes has no version but that of the whole
			return nil, err
		}
		return do(ctx, d.State())
	})
}

// newJobs makes them. Nothing is read yet.
func (t *Team) newJobs() *job.Jobs {
	return job.New(job.Options{
		Table: t.opt.Table, Tenant: t.opt.Tenant, Kinds: t.kinds(), Queue: t.opt.Queue, Now: t.opt.Now,
		Background: t.opt.Background, Alone: t.opt.Alone,
	})
}

// kinds are the kinds of jobs of the tenant.
func (t *Team) kinds() []job.Kind {
	kinds := []job.Kind{t.vaultErasing(), t.noteErasing()}
	if t.opt.Kinds != nil {
		kinds = append(kinds, t.opt.Kinds(t)...)
	}
	return kinds
}

// jobsKind is the kind of a message that asks for Work.
const jobsKind = "jobs"

// wake tells the queue that the tenant may have jobs from before. A process that ends with its calls leaves that to
// the messages of the jobs themselves.
func (t *Team) wake(ctx context.Context) {
	if t.opt.Queue == nil || !t.opt.Background {
		return
	}
	if err := t.opt.Queue.Send(ctx, JobsMessage(t.opt.Tenant)); err != nil {
		t.opt.Log.WarnContext(ctx, "the jobs of a tenant wait for the next call", slog.Any("cause", err))
	}
}

// Work makes one pass over the jobs of the tenant: it runs those that are due, and makes a job for each erasure
// that has none, for what the tenant's log says is so. It returns when the next job is due; the zero time if
// there is none.
func (t *Team) Work(ctx context.Context) (next time.Time, err error) {
	if err := t.adoptErasures(ctx); err != nil {
		return t.opt.Now(), err
	}
	return t.jobs.Work(ctx)
}

// adoptErasures makes the jobs of erasures that have none: of those that a crash left between the tenant's
// commit and the job, and of those that an earlier release began.
func (t *Team) adoptErasures(ctx context.Context) error {
	s, err := t.Current(ctx)
	if err != nil {
		return err
	}
	for _, e := range s.vaults {
		if e.Erasure == nil || e.free() {
			continue
		}
		who := repo.Who{Principal: "rookery"}
		ask := erasureJob(e, who)
		_, failed := t.jobs.Add(ctx, ask)
		if fault.Is(failed, fault.DuplicateID) { // it has ended, and the erasure has not
			ask.ID = ""
			_, failed = t.jobs.Add(ctx, ask)
		}
		if failed != nil && !fault.Is(failed, fault.InProgress) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// JobKinds are the kinds of the messages that WorkOn takes: those of the jobs of a tenant, and that of a message which
// names none.
func (t *Teams) JobKinds() []string {
	kinds := []string{jobsKind, tenantErase}
	of := &Team{opt: t.opt} // the names alone are asked for
	for _, k := range of.kinds() {
		kinds = append(kinds, k.Name)
	}
	return kinds
}

// WorkOn works on the job that a message names, or makes one pass over the tenant's jobs where it names none, as
// WorkOf does. It returns when the message is to come again: the zero time if it need not, because the job has ended or
// the queue has another message of it. What fails is tried again later by itself, and its error is returned for the
// log. A tenant that does not exist has no jobs.
func (t *Teams) WorkOn(ctx context.Context, m job.Message) (next time.Time, err error) {
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

// workAgain is how long a message waits whose jobs could not be looked at.
const workAgain = 30 * time.Second

// jobsOf are the jobs among which that of a message is; nil if its tenant is gone.
func (t *Teams) jobsOf(ctx context.Context, m job.Message) (*job.Jobs, error) {
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
	if !r.live() {
		return nil, nil
	}
	own, err := t.Team(ctx, m.Tenant)
	if err != nil {
		return nil, err
	}
	return own.jobs, nil
}

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
	kinds := []job.Kind{t.vaultErasing(), t.noteErasing()}
	if t.opt.Kinds != nil {
		kinds = append(kinds, t.opt.Kinds(t)...)
	}
	return job.New(job.Options{
		Table: t.opt.Table, Tenant: t.opt.Tenant, Kinds: kinds, Queue: t.opt.Queue, Now: t.opt.Now,
		Background: t.opt.Background, Alone: t.opt.Alone,
	})
}

// jobsKind is the kind of a message that asks for Work.
const jobsKind = "jobs"

// wake tells the queue that the tenant may have jobs from before.
func (t *Team) wake(ctx context.Context) {
	if t.opt.Queue == nil {
		return
	}
	if err := t.opt.Queue.Send(ctx, job.Message{V: 1, Kind: jobsKind, Tenant: t.opt.Tenant}); err != nil {
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

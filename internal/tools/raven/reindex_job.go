package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// reindexFull is the kind of the job of a full reindex.
const reindexFull = "reindex_full"

// mostErrors is the maximum number of errors in the result of the job.
const mostErrors = 200

// A reindexInput is the input of the job, in addition to its target.
//
// It is stored with the job, which may continue in another process, as JSON; fields can be added
// but not renamed.
type reindexInput struct {
	Who     eventlog.Who `json:"who"`
	Prefix  string       `json:"prefix,omitempty"`
	Pending string       `json:"pending,omitempty"`
}

// Jobs returns the kinds of jobs of the family, for a tenant.
//
// The job has two steps, the rebuild and the ingestion. Each step opens the vault by itself, waits
// for its turn and holds the lease of the vault while it runs. A job can be stopped at any time,
// because both steps can be repeated from their beginning.
func Jobs(t *tenant.Tenant) []job.Kind {
	step := func(name string, do func(*reindexRun, context.Context, *job.Run) error) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, run *job.Run) error {
			r, err := reindexRunOf(ctx, t, run)
			if err != nil {
				return err
			}
			done, err := r.waitTurn(ctx)
			if err != nil {
				return err
			}
			defer done()
			release, err := r.vault.Lease(ctx)
			if err != nil {
				return err
			}
			defer release()
			return do(r, ctx, run)
		}}
	}
	return []job.Kind{{
		Name: reindexFull, Stops: job.Anytime,
		Steps: []job.Step{
			step("index", func(r *reindexRun, ctx context.Context, _ *job.Run) error { return r.rebuild(ctx) }),
			step("files", (*reindexRun).finish),
		},
	}}
}

// reindexRunOf returns the reindexRun of a job.
func reindexRunOf(ctx context.Context, t *tenant.Tenant, run *job.Run) (*reindexRun, error) {
	var in reindexInput
	if err := run.Input(&in); err != nil {
		return nil, err
	}
	r := &reindexRun{
		team: t, in: reindexIn{Full: true, Pending: in.Pending},
		call: eventlog.Call{Who: in.Who, Prefix: in.Prefix, Tool: "raven_reindex"},
	}
	return r, r.open(ctx, run.Item.Target.Vault)
}

// finish is the last step of the job, which sets its result.
func (r *reindexRun) finish(ctx context.Context, run *job.Run) error {
	out, err := r.files(ctx)
	if err != nil {
		return err
	}
	if more := len(out.Errors) - mostErrors; more > 0 {
		out.Errors, out.Omitted = out.Errors[:mostErrors], more
	}
	return run.Set(out)
}

// asJob runs the reindex as a job. It returns the result, or the running job if that outlasts the
// call.
//
// The answer that the log stores for the idempotency key contains the job's id, so a repeated call
// returns the state of the same job instead of starting another.
func (r *reindexRun) asJob(ctx context.Context) (reindexOut, error) {
	out, err := r.once(ctx, func(ctx context.Context) (reindexOut, error) {
		it, err := r.team.Jobs().Start(ctx, job.Request{
			Kind: reindexFull, Target: job.Target{Vault: r.in.Vault.Vault}, By: tenant.JobBy(r.call.Who),
			Input: reindexInput{r.call.Who, r.call.Prefix, r.in.Pending},
		}, nil)
		if err != nil {
			return reindexOut{}, err
		}
		return reindexOutOf(it)
	})
	if err != nil || out.Reindexed != nil || out.Job == nil {
		return out, err
	}
	// The stored answer has the state of the job at the first call. A repeated call gets the
	// current one.
	it, err := r.team.Jobs().Get(ctx, out.Job.ID)
	if err != nil {
		return out, err
	}
	now, err := reindexOutOf(it)
	now.Meta = out.Meta
	return now, err
}

// reindexOutOf returns the output for the state of a job.
func reindexOutOf(it job.Item) (reindexOut, error) {
	var out reindexOut
	var err error
	out.Reindexed, out.Job, err = mutation.JobResult[Reindexed](it)
	return out.withWarning(), err
}

package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A jobCancelIn is the input of team_job_cancel.
type jobCancelIn struct {
	// id of the job
	ID string `json:"id" complete:"job"`
	tool.Mutation
}

// A jobCancelOut is the output of team_job_cancel: the job after the request. A running job ends
// some time later; until then its row has Cancel set.
type jobCancelOut struct {
	tool.Aside `json:"-"`
	// updated
	Action      string  `json:"action,omitempty"`
	Job         *JobRow `json:"job,omitempty"`
	DryRun      bool    `json:"dry_run,omitempty"`
	WouldUpdate *JobRow `json:"would_update,omitempty"`
}

// jobCancel returns the tool that cancels a job. Not all kinds of jobs can be cancelled; see
// job.Stops.
func (f tools) jobCancel() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_job_cancel", Family: Family, Title: "Cancel a job",
		Role: auth.Admin, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/jobs/cancel"},
		Commands: []tool.Command{{Words: "job cancel", Args: []string{"id"}}},
	}, f.cancelJob)
}

// cancelJob cancels a job. The cancellation is not part of a commit; only the idempotency key of
// the call and its answer are recorded. A job that the caller cannot see is NOT_FOUND.
//
// The order matters for a repeated call: a job that no longer exists leads to the recorded answer
// through refuse, and otherwise to NOT_FOUND.
func (f tools) cancelJob(
	ctx context.Context, c auth.Caller, in jobCancelIn,
) (jobCancelOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return jobCancelOut{}, err
	}
	jobs, _, err := f.jobOf(ctx, c, in.ID)
	if err != nil {
		return refuse[jobCancelOut](ctx, t, call, err)
	}
	return mutation.ChangeTenant(func(keep func(jobCancelOut) any) (eventlog.Receipt, error) {
		return t.Once(ctx, call, func(ctx context.Context, _ *tenant.State) (any, error) {
			it, err := jobs.Cancel(ctx, in.ID, in.DryRun)
			if err != nil {
				return nil, err
			}
			row := rowOfJob(it)
			if in.DryRun {
				return keep(jobCancelOut{DryRun: true, WouldUpdate: &row}), nil
			}
			return keep(jobCancelOut{Action: "updated", Job: &row}), nil
		})
	})
}

package team

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A jobListIn is the input of team_job_list. Jobs must match both filters, if they are given.
type jobListIn struct {
	// only jobs in this state
	State string `json:"state,omitempty" enum:"queued,running,waiting,done,failed,cancelled"`
	// only jobs of this kind: reindex_full, audit_verify, note_erase, vault_erase, tenant_erase
	Kind string `json:"kind,omitempty" size:"name"`
	tool.Page
}

// A JobRow is a job as the tools return it. Times are RFC 3339, in UTC; those that have not come
// yet are nil. Error is the reason of a failure or of a wait. Result depends on the kind of the
// job, and is nil in lists and until the job is done.
type JobRow struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// queued, running, waiting, done, failed or cancelled
	State job.State `json:"state"`
	// the vault, and for a note its path; absent: the tenant
	Target  job.Target `json:"target"`
	Created string     `json:"created_at"`
	// time of the first start
	Started *string `json:"started_at,omitempty"`
	Ended   *string `json:"ended_at,omitempty"`
	// the principal that started it
	By job.By `json:"by"`
	// the number of completed steps, and the next one
	Progress job.Progress `json:"progress"`
	// number of attempts
	Attempts int `json:"attempts"`
	// reason of the failure or of the wait
	Error *jobError `json:"error,omitempty"`
	// the result; not in a list
	Result json.RawMessage `json:"result,omitempty"`
	// when a waiting job continues
	RetryAt *string `json:"retry_at,omitempty"`
	// it is being cancelled
	Cancel bool `json:"cancel,omitempty"`
}

// A jobError is the fault of a failed job as the tools return it.
type jobError struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Fixes   []string   `json:"fixes,omitempty"`
}

// jobList returns the tool that lists jobs, of all vaults of which the caller is an admin.
func (f tools) jobList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_job_list", Family: Family, Title: "List jobs",
		Role: auth.Admin, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/jobs"},
		Commands: []tool.Command{{Words: "job list"}},
		Columns:  []string{"id", "kind", "state", "target", "progress", "created_at", "retry_at"},
		Empty:    []tool.Empty{{Of: "{state} jobs"}, {Of: "jobs"}},
	}, f.listJobs)
}

// listJobs returns one page of the jobs that the caller can see, the newest first, without their
// results, which can be large. The page token is the id of the last job of the page.
func (f tools) listJobs(ctx context.Context, c auth.Caller, in jobListIn) (listOut[JobRow], error) {
	out := listOut[JobRow]{Items: []JobRow{}}
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return out, err
	}
	before, err := in.After(Family)
	if err != nil {
		return out, err
	}
	filter := job.Filter{State: job.State(in.State), Kind: in.Kind, Visible: visibleTo(c)}
	items, more, err := t.Jobs().List(ctx, filter, before, in.Limit)
	if err != nil {
		return out, err
	}
	for _, it := range items {
		row := rowOfJob(it)
		row.Result = nil
		out.Items = append(out.Items, row)
	}
	out.Note("count", len(out.Items))
	out.Note("has_more", more)
	if more {
		out.Note("next_page_token", tool.Token(items[len(items)-1].ID))
	}
	return out, nil
}

// visibleTo returns a filter for the jobs that a caller can see: an admin of a vault sees the jobs
// of that vault, and an admin of all vaults also sees those of the tenant, which have no vault.
func visibleTo(c auth.Caller) func(job.Item) bool {
	return func(it job.Item) bool {
		where := cmp.Or(it.Target.Vault, auth.AllVaults)
		return c.Role(where).Allows(auth.Admin)
	}
}

// rowOfJob returns the row of a job, with its result.
func rowOfJob(it job.Item) JobRow {
	row := JobRow{
		ID: it.ID, Kind: it.Kind, State: it.State, Target: it.Target, Created: formatTime(it.Created),
		Started: timeOrNil(it.Started), Ended: timeOrNil(it.Ended), By: it.By, Progress: it.Progress,
		Attempts: it.Attempts, Result: it.Result, RetryAt: timeOrNil(it.RetryAt), Cancel: it.Cancel,
	}
	if f := it.Error; f != nil {
		row.Error = &jobError{f.Code, f.Message, f.Fixes}
	}
	return row
}

// jobOf returns a job, and the jobs of its tenant. It returns NOT_FOUND if the caller cannot see
// the job, so that the answer does not reveal that there is such a job.
//
// The second look-up is for the erasure of a whole tenant: the table of its jobs was destroyed with
// it, and the job is kept elsewhere.
func (f tools) jobOf(ctx context.Context, c auth.Caller, id string) (*job.Jobs, job.Item, error) {
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, job.Item{}, err
	}
	it, err := t.Jobs().Get(ctx, id)
	// It may be the job that erased an earlier tenant of the same name.
	if fault.Is(err, fault.NotFound) {
		it, err = f.teams.ErasureJob(ctx, c.Tenant, id)
	}
	if err == nil && !visibleTo(c)(it) {
		err = job.NoJob()
	}
	return t.Jobs(), it, err
}

// A jobGetIn is the input of team_job_get.
type jobGetIn struct {
	// id of the job, from the answer of the call that started it
	ID string `json:"id" complete:"job"`
}

// A jobOut is the output of team_job_get.
type jobOut struct {
	tool.Aside `json:"-"`
	Job        JobRow `json:"job"`
}

// jobGet returns the tool that returns one job with its result.
func (f tools) jobGet() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_job_get", Family: Family, Title: "Get a job",
		Role: auth.Admin, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/jobs/{id}"},
		Commands: []tool.Command{{Words: "job get", Args: []string{"id"}}},
	}, f.getJob)
}

// getJob returns a job with its result. A job that the caller cannot see is NOT_FOUND. A call that
// starts a job returns its id, with which the caller asks here whether it is done.
func (f tools) getJob(ctx context.Context, c auth.Caller, in jobGetIn) (jobOut, error) {
	_, it, err := f.jobOf(ctx, c, in.ID)
	if err != nil {
		return jobOut{}, err
	}
	return jobOut{Job: rowOfJob(it)}, nil
}

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
	return changeTool(f, tool.Spec{
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
func (f tools) cancelJob(ctx context.Context, w change, in jobCancelIn) (jobCancelOut, error) {
	jobs, _, err := f.jobOf(ctx, w.caller, in.ID)
	if err != nil {
		return refuse[jobCancelOut](ctx, w, err)
	}
	return mutation.ChangeTenant(func(keep func(jobCancelOut) any) (eventlog.Receipt, error) {
		return w.tenant.Once(ctx, w.call, func(ctx context.Context, _ *tenant.State) (any, error) {
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

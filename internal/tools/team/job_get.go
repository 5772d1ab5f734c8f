package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

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

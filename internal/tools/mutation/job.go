package mutation

import (
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// JobTool is the name of the tool that reports the state of a job, for the Job of a tool.Spec.
const JobTool = "team_job_get"

// JobResult returns the result of a job and a summary of the job. The result is nil if the job is
// not done, or if the result was too large to be stored. If the job failed or was cancelled,
// JobResult returns only an error.
func JobResult[T any](it job.Item) (*T, *job.Brief, error) {
	switch it.State {
	case job.Failed:
		return nil, nil, it.Error
	case job.Cancelled:
		return nil, nil, fault.New(fault.Conflict, "the job was cancelled before it was done").
			With("job", job.BriefOf(it))
	}
	// The job is not done, or its result was too large to be stored.
	if it.State != job.Done || len(it.Result) == 0 {
		return nil, job.BriefOf(it), nil
	}
	out := new(T)
	if err := json.Unmarshal(it.Result, out); err != nil {
		return nil, nil, fmt.Errorf("read the result of a job: %w", err)
	}
	return out, job.BriefOf(it), nil
}

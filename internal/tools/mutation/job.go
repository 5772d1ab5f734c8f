package mutation

import (
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// JobTool is the tool that tells of a job. It is what the Job of a tool.Spec is.
const JobTool = "team_job_get"

// JobResult is what a job came to; nil if it is not done, or if that was too large to be kept. That it failed,
// or was cancelled, is the error.
func JobResult[T any](it job.Item) (*T, *job.Brief, error) {
	switch it.State {
	case job.Failed:
		return nil, nil, it.Error
	case job.Cancelled:
		return nil, nil, fault.New(fault.Conflict, "the job was cancelled before it was done").
			With("job", job.BriefOf(it))
	}
	if it.State != job.Done || len(it.Result) == 0 {
		return nil, job.BriefOf(it), nil
	}
	out := new(T)
	if err := json.Unmarshal(it.Result, out); err != nil {
		return nil, nil, fmt.Errorf("read the result of a job: %w", err)
	}
	return out, job.BriefOf(it), nil
}

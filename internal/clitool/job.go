package clitool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tool"
)

// jobKey is the key of a job in an answer.
const jobKey = "job"

// lookEvery is the interval at which a job is polled. A short job costs a person one second, and a
// long one few calls.
const lookEvery = time.Second

// mostMissed is the number of times that polling a job may fail as UNAVAILABLE: about ten minutes,
// in which a server can be restarted or a tenant restored.
const mostMissed = 600

// follow waits for the job in an answer to end, and replaces the answer by its result. If the
// caller is not allowed to read jobs, or no longer can because the job erases the tenant, follow
// returns the answer unchanged.
//
// It asks for the job every second, as long as that takes: a person can interrupt the program, and
// the job goes on. Then the failure has the command that shows the job. A server that is
// unavailable for a while does not end the wait.
func (c *command) follow(cmd *cobra.Command, inv tool.Invoker, ans *answer) (*answer, error) {
	ctx := cmd.Context()
	id := ans.data.get(jobKey).get("id")
	if c.tool.Job == "" || id.kind != textKind || !ans.goesOn() {
		return ans, nil
	}
	raw, err := tool.Marshal(id)
	if err != nil {
		return nil, fmt.Errorf("write the id of a job: %w", err)
	}
	w := &jobProgress{command: c}
	defer w.end()
	for missed := 0; ; {
		if err := c.app.wait(ctx, lookEvery); err != nil {
			look := fault.NewCall(c.tool.Job, fault.Args{"id": id.text})
			return nil, newFailure(ans, fault.Of(err).Fix("%s", callFormatter{c.app, cmd}.format(look)))
		}
		now, err := invoke(ctx, inv, c.tool.Job, map[string]json.RawMessage{"id": raw})
		if failed := (*failure)(nil); errors.As(err, &failed) {
			switch code := failed.fault.Code; {
			case code == fault.PermissionDenied, code == fault.Unauthenticated:
				return ans, nil
			case code == fault.Unavailable && missed < mostMissed:
				missed++ // for example while a tenant is created again after the job
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		it := now.data.get(jobKey)
		w.show(it.get("progress"))
		if done, err := ans.settle(it); done || err != nil {
			return ans, err
		}
	}
}

// goesOn reports whether follow must wait for the job of an answer: it is queued or running, or it
// is waiting and the answer contains nothing else. A job that waits for its last, late step has an
// answer already.
func (ans *answer) goesOn() bool {
	switch job.State(ans.data.get(jobKey).get("state").text) {
	case job.Queued, job.Running:
		return true
	case job.Waiting:
		return len(ans.data.members) == 1
	}
	return false
}

// settle merges the state of a job into the answer, and reports whether the job has ended or needs
// no more waiting. The error is that of a failed job. The result of the job becomes the data of an
// answer that had only the job; an answer with other data keeps it, and only the state of its job
// is updated. It clears raw, because the answer is no longer the one that was received.
func (ans *answer) settle(it value) (bool, error) {
	state, result := job.State(it.get("state").text), it.get("result")
	switch {
	case state == job.Failed, state == job.Cancelled:
		return true, newFailure(nil, failureOf(it))
	case state != job.Done && (state != job.Waiting || result.kind == nullKind):
		return false, nil
	}
	brief := value{kind: objectKind}
	brief.set("id", it.get("id"))
	brief.set("state", it.get("state"))
	ans.raw = nil
	if len(ans.data.members) == 1 && result.kind == objectKind {
		ans.data = result
	}
	ans.data.set(jobKey, brief)
	return true, nil
}

// failureOf returns the fault of a job that failed or was cancelled, as the job stores it.
func failureOf(it value) error {
	why := it.get("error")
	if why.kind != objectKind {
		return fault.New(fault.Conflict, "the job was cancelled before it was done")
	}
	data, err := tool.Marshal(why)
	if err != nil {
		return fmt.Errorf("read a fault: %w", err)
	}
	f := &fault.Fault{}
	if err := json.Unmarshal(data, f); err != nil {
		return fmt.Errorf("read a fault: %w", err)
	}
	return f
}

// A jobProgress shows the progress of a job to a person: a bar with the number of completed steps,
// and the name of the current one.
type jobProgress struct {
	*command
	bar *progressbar.ProgressBar // nil: nothing was shown yet
}

// show shows the progress of the job. Errors are ignored, because the job does not depend on it. It
// shows nothing before the number of steps is known.
func (w *jobProgress) show(progress value) {
	done, _ := strconv.Atoi(progress.get("done").text)
	total, _ := strconv.Atoi(progress.get("total").text)
	if w.bar == nil && total > 0 {
		w.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(w.app.Err),
			progressbar.OptionSetVisibility(w.app.Progress),
			progressbar.OptionSetDescription(w.tool.Title),
			progressbar.OptionShowCount(),
			progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	if w.bar == nil {
		return
	}
	if step := progress.get("step").text; step != "" {
		w.bar.Describe(w.tool.Title + ": " + step)
	}
	_ = w.bar.Set(done)
}

// end removes the progress bar, so that the answer begins on an empty line. It does nothing if none
// was shown.
func (w *jobProgress) end() {
	if w.bar != nil {
		_ = w.bar.Clear() // the result does not depend on it
	}
}

package clitool

import (
	"context"
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

// run executes a command line and prints the answer: it parses the line, asks the person if
// necessary, makes the call, and chooses the layout. A failure is printed at the end of Run, in the
// requested form. If the line cannot be parsed, the requested form is derived from the flags alone.
// An import or export shows people a summary of the files, and not the data.
//
// The fields of the printer that are set here are all that the layout knows of the tool: its output
// schema, the columns and the list that it declares, and the member that is a diff.
func (c *command) run(cmd *cobra.Command, line []string) error {
	r, err := c.read(cmd, line)
	if err != nil {
		asked, _ := c.formFor(cmd) // its error is the one that read returned
		return c.ofFamily(inForm(asked, err))
	}
	if err := c.confirm(cmd, r); err != nil {
		return c.ofFamily(err)
	}
	ans, err := c.call(cmd, r)
	if err != nil {
		return r.inTerms(c.ofFamily(inForm(r.form, err)))
	}
	p := c.app.printer(r.form)
	if fills := c.tool.Output != nil && c.tool.Output.Fill != ""; r.form == forPeople && r.path != "" && !fills {
		p.summary(ans.ofFiles(c.tool.Family))
		p.warnings(ans)
		return nil
	}
	p.schema, p.columns, p.marks = c.tool.OutputSchema(), c.tool.Columns, c.tool.Marks
	p.only, p.wide = r.only(), isWide(cmd)
	p.diff, p.list = c.tool.Diff, c.tool.List
	p.nothing = c.emptyMessage(cmd, r, ans.data)
	return p.success(ans, c.nextPage(ans))
}

// inForm converts any error except a usage error to a failure that is printed in form f. A failure
// keeps its fault and its answer.
func inForm(f form, err error) error {
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return err
	}
	failed := (*failure)(nil)
	if !errors.As(err, &failed) {
		failed = newFailure(nil, err)
	}
	failed.form = f
	return failed
}

// ofFamily sets the family of a failure, which determines its form and its exit code. Other errors
// are returned unchanged.
func (c *command) ofFamily(err error) error {
	if failed := (*failure)(nil); errors.As(err, &failed) {
		failed.family = c.tool.Family
	}
	return err
}

// inTerms sets the terms of a failure, with which people see the names of arguments as they gave
// them.
func (r *request) inTerms(err error) error {
	if failed := (*failure)(nil); errors.As(err, &failed) {
		failed.terms = r.terms
	}
	return err
}

// call connects and calls the tool: once, or as often as its files require. The target says whether
// the call only reads, so that a local data directory need not be created or locked for it. Fixes
// in answers are written as command lines with the same target.
func (c *command) call(cmd *cobra.Command, r *request) (*answer, error) {
	ctx := cmd.Context()
	target, err := c.app.Target(cmd)
	if err != nil {
		return nil, err
	}
	target.Reading = !c.changes(r)
	inv, closer, err := c.app.Connect(ctx, target)
	if err != nil {
		return nil, err
	}
	if closer != nil {
		defer closer.Close() // the answer is valid even if closing fails
	}
	inv = formattingInvoker{inv, callFormatter{c.app, cmd}}
	switch {
	case r.path == "":
		return c.callOnce(cmd, inv, r)
	case c.tool.Input != nil:
		return c.importFiles(cmd, inv, r)
	}
	return c.exportFiles(ctx, inv, r)
}

// changes reports whether the call may change something, by the kind of the tool or because of an
// argument that turns a reading call into a change. A call with files counts as a change. In doubt
// it returns true: for a call that only reads, Connect may omit the preparations that only changes
// need.
func (c *command) changes(r *request) bool {
	if c.tool.Kind.Changes() || r.path != "" {
		return true
	}
	for name := range c.tool.Raises {
		if _, given := r.args[name]; given {
			return true
		}
	}
	return false
}

// callOnce makes a call without files, after the one that a flag may request to be made first, and
// waits for its job.
func (c *command) callOnce(
	cmd *cobra.Command, inv tool.Invoker, r *request,
) (*answer, error) {
	switch planned, err := c.before(cmd, inv, r); {
	case err != nil:
		return nil, err
	case planned:
		return plannedOnly(), nil
	}
	ans, err := invoke(cmd.Context(), inv, c.tool.Name, r.args)
	if err != nil {
		return nil, err
	}
	return c.follow(cmd, inv, ans)
}

// nextPage returns the flag that requests the next page of a list, or "": "--page-token TOKEN".
func (c *command) nextPage(ans *answer) string {
	token := ans.meta.get("next_page_token")
	a, ok := c.tool.ArgFor(tool.MeansToken)
	if !ok || token.kind != textKind || token.text == "" {
		return ""
	}
	return "--" + a.Flag + " " + token.text
}

// invokeWithRetry is invoke that repeats the call after a pause, up to five times, if the fault
// says that the call may succeed within a minute. Calls that change something must have an
// idempotency key, because the first attempt may have had an effect. It is for imports and exports,
// which make many calls and are likely to exceed a rate. A single call is not repeated: the person
// sees the fault with the time to wait at once.
func (c *command) invokeWithRetry(
	ctx context.Context, inv tool.Invoker, r *request,
) (*answer, error) {
	const tries = 5
	for try := 1; ; try++ {
		ans, err := invoke(ctx, inv, c.tool.Name, r.args)
		failed := (*failure)(nil)
		if !errors.As(err, &failed) || try == tries {
			return ans, err
		}
		pause := failed.fault.RetryAfter
		if pause == 0 || pause > time.Minute {
			return ans, err
		}
		if wait := c.app.wait(ctx, pause); wait != nil {
			return nil, err
		}
	}
}

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

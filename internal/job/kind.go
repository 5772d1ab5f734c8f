package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Kind describes how jobs of one kind run. The name is stored with each job, and the number of
// completed steps, so a release must not change the order of the steps of an existing kind.
type Kind struct {
	Name  string // for example vault_erase
	Steps []Step // in order; a step may run again after a crash

	// Stops says when callers may cancel such a job.
	Stops Stops

	// Endless says that such a job never fails, but is repeated until it succeeds.
	Endless bool
}

// A Step is one part of a job. It must be idempotent: it runs again if the process dies after it
// has done its work and before that is recorded. Do returns nil when the step is complete, Later or
// Fail to say how the job continues, or any other error, which is retried if it is temporary.
type Step struct {
	Name string
	Do   func(ctx context.Context, r *Run) error
}

// A Stops says when a job can be cancelled.
type Stops int

// The values of Stops.
const (
	BeforeStart Stops = iota // before the first attempt
	Anytime                  // also while it runs or waits
	Never                    // never
)

// progress returns the progress of a job after some steps.
func (k *Kind) progress(done int) Progress {
	p := Progress{Done: done, Total: len(k.Steps)}
	if done < len(k.Steps) {
		p.Step = k.Steps[done].Name
	}
	return p
}

// A Run is an attempt, as seen by its steps.
type Run struct {
	Item Item // as of the beginning of the step

	job    *leasedJob
	result json.RawMessage
}

// Input decodes the input of the job into v.
func (r *Run) Input(v any) error {
	if err := json.Unmarshal(r.Item.Input, v); err != nil {
		return fmt.Errorf("read the input of a job: %w", err)
	}
	return nil
}

// Result decodes the result of the job so far into v. It leaves v unchanged if there is none.
func (r *Run) Result(v any) error {
	if len(r.result) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.result, v); err != nil {
		return fmt.Errorf("read the result of a job: %w", err)
	}
	return nil
}

// Set sets the result of the job. It is stored when the step is completed.
func (r *Run) Set(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the result of a job: %w", err)
	}
	r.result = data
	return nil
}

// Forget deletes the path, the item and the input of the job immediately, because they may be part
// of the data that the job erases.
func (r *Run) Forget(ctx context.Context) error {
	err := r.job.update(ctx, func(it *Item) { it.Target.forget(); it.Input = nil })
	r.Item = r.job.known()
	return err
}

// Later returns an error with which a step reports that it must continue at a later time. The job
// waits until then; this does not count as a failure.
func Later(at time.Time) error { return laterError{at} }

// A laterError is the error that Later returns.
type laterError struct{ at time.Time }

// Error implements error.
func (laterError) Error() string { return "the job is waiting" }

// IsLater reports whether an error was returned by Later, and the time.
func IsLater(err error) (at time.Time, is bool) {
	var l laterError
	is = errors.As(err, &l)
	return l.at, is
}

// Fail returns an error with which a step reports that the job can never succeed. The job fails,
// even if its kind is Endless.
func Fail(why *fault.Fault) error { return permanentError{why} }

// A permanentError is the error that Fail returns.
type permanentError struct{ error }

// Unwrap returns the fault.
func (f permanentError) Unwrap() error { return f.error }

// Limits of retries.
const (
	firstPause   = 5 * time.Second
	maxPause     = 10 * time.Minute
	maxRetryTime = 24 * time.Hour // a job that has not succeeded by then fails
)

// pause returns how long a job waits after its n-th attempt has failed.
func pause(attempts int) time.Duration {
	d := firstPause
	for range min(attempts, 10) - 1 {
		d *= 2
	}
	return min(d, maxPause)
}

// isTemporary reports whether an error is temporary, so that a retry may succeed: a store or an issuer
// does not respond, a limit is exceeded, the index is busy, the context ended, or an error that
// no one classified.
func isTemporary(err error) bool {
	if code := fault.Of(err).Code; code == fault.IndexBusy || code == fault.Internal {
		return true
	}
	switch fault.Of(err).Status() {
	case fault.StatusUnavailable, fault.StatusRateLimited:
		return true
	}
	return isContextError(err)
}

// isContextError reports whether an error is that of an ended context.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rookery/internal/fault"
)

// A Kind says how the jobs of a kind run.
type Kind struct {
	Name  string // vault_erase
	Steps []Step // in order; each begins when the one before is done, and may begin again after a crash

	// Stops says when a caller may cancel such a job.
	Stops Stops

	// Endless says that such a job never fails: it goes on until it succeeds.
	Endless bool
}

// A Step is a part of a job that does no harm twice.
type Step struct {
	Name string
	Do   func(ctx context.Context, r *Run) error
}

// Stops says when a job can be cancelled.
type Stops int

// When a job can be cancelled.
const (
	Unbegun Stops = iota // as long as no attempt has begun
	Anytime              // also while it runs, or waits
	Never                // it is decided already when the job is made
)

// progress is the progress of a job of which some steps are done.
func (k *Kind) progress(done int) Progress {
	p := Progress{Done: done, Total: len(k.Steps)}
	if done < len(k.Steps) {
		p.Step = k.Steps[done].Name
	}
	return p
}

// A Run is an attempt as its steps see it.
type Run struct {
	Item Item // as it was when the step began

	hold   *hold
	result json.RawMessage
}

// Input decodes what the job was made with.
func (r *Run) Input(v any) error {
	if err := json.Unmarshal(r.Item.Input, v); err != nil {
		return fmt.Errorf("read the input of a job: %w", err)
	}
	return nil
}

// Result decodes what the job has come to so far; v stays as it is if there is nothing yet.
func (r *Run) Result(v any) error {
	if len(r.result) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.result, v); err != nil {
		return fmt.Errorf("read the result of a job: %w", err)
	}
	return nil
}

// Set says what the job has come to. It is kept when the step is done.
func (r *Run) Set(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the result of a job: %w", err)
	}
	r.result = data
	return nil
}

// Forget drops the path, the item and the input of the job, at once: they may be what the job erases.
func (r *Run) Forget(ctx context.Context) error {
	err := r.hold.update(ctx, func(it *Item) { it.Target.forget(); it.Input = nil })
	r.Item = r.hold.known()
	return err
}

// Later is what a step returns that goes on at some time: the job waits until then, and it is no failure.
func Later(at time.Time) error { return later{at} }

type later struct{ at time.Time }

func (later) Error() string { return "the job waits" }

// IsLater reports whether an error is that of Later, and its time.
func IsLater(err error) (at time.Time, is bool) {
	var l later
	is = errors.As(err, &l)
	return l.at, is
}

// Fail is what a step returns of a job that can never succeed, of whatever kind it is.
func Fail(why *fault.Fault) error { return failed{why} }

type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// The bounds of retries.
const (
	firstPause = 5 * time.Second
	mostPause  = 10 * time.Minute
	patience   = 24 * time.Hour // after which a job that does not succeed has failed
)

// pause is how long a job waits after its n-th attempt, which failed.
func pause(attempts int) time.Duration {
	d := firstPause
	for range min(attempts, 10) - 1 {
		d *= 2
	}
	return min(d, mostPause)
}

// passing reports whether the same call may succeed later.
func passing(err error) bool {
	if code := fault.Of(err).Code; code == fault.IndexBusy || code == fault.Internal {
		return true
	}
	switch fault.Of(err).Status() {
	case fault.StatusUnavailable, fault.StatusRateLimited:
		return true
	}
	return ended(err)
}

// ended reports whether an error is the end of a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

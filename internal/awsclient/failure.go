package awsclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go"
)

// logEvery is the minimum time between two logged errors about the deployment.
const logEvery = time.Minute

// A StoreError describes a failure in its own words, because an answer of AWS or an error of the
// network may quote keys and values.
type StoreError struct {
	What  string
	Cause error // its text must not be logged
}

// Error implements error.
func (e *StoreError) Error() string { return e.What }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Cause }

// Failures creates the errors of an adapter, and logs errors in the deployment, at most once a
// minute. All fields are required except Code. It is safe for concurrent use.
type Failures struct {
	Service    string             // name of the service, such as S3
	Deployment map[string]string  // errors in the deployment, by the code of the answer
	Code       func(error) string // returns the code of the answer, empty if there was none; nil: CodeOf
	Now        func() time.Time
	Log        *slog.Logger

	logged atomic.Int64 // when an error was last logged, in Unix nanoseconds; 0: never
}

// Of returns the error of a failed call. doing is a verb and its object. If the context has ended,
// the error is that of the context; if the request was too late, it is ErrLate; otherwise it is a
// *StoreError.
func (f *Failures) Of(ctx context.Context, doing string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, ErrLate):
		return fmt.Errorf("%s: %w", doing, ErrLate)
	}
	return fmt.Errorf("%s: %w", doing, &StoreError{f.explain(ctx, err), err})
}

// explain returns a description of an error. If the deployment is at fault, it also logs that.
func (f *Failures) explain(ctx context.Context, err error) string {
	codeOf := f.Code
	if codeOf == nil {
		codeOf = CodeOf
	}
	code := codeOf(err)
	if code == "" {
		return "no answer from " + f.Service
	}
	what, ok := f.Deployment[code]
	if !ok {
		return f.Service + " answers " + code
	}
	if f.mayLog() {
		f.Log.ErrorContext(ctx, "the deployment is not complete: "+what, "code", code)
	}
	return what
}

// mayLog reports whether logEvery has passed since it last returned true.
func (f *Failures) mayLog() bool {
	now, last := f.Now().UnixNano(), f.logged.Load()
	return (last == 0 || now-last >= int64(logEvery)) && f.logged.CompareAndSwap(last, now)
}

// CodeOf returns the code of an answer of AWS, or "" if there was no answer.
func CodeOf(err error) string {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.ErrorCode()
}

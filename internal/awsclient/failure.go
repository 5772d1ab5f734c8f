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

// logEvery is how often an error about the deployment is logged.
const logEvery = time.Minute

// A StoreError says what went wrong in words of its own: an answer of AWS, and an error of the network, may quote
// keys and values.
type StoreError struct {
	What  string
	Cause error // its text is not for logs
}

// Error implements error.
func (e *StoreError) Error() string { return e.What }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Cause }

// Failures makes the errors of an adapter, and logs what is wrong with the deployment, once a minute. All fields are
// required but Code. It is safe for concurrent use.
type Failures struct {
	Service    string             // such as S3
	Deployment map[string]string  // what is wrong with the deployment, by the code of an answer
	Code       func(error) string // of the answer, empty if there was none; nil: as the SDK reads it
	Now        func() time.Time
	Log        *slog.Logger

	logged atomic.Int64 // when an error was logged last, in Unix nanoseconds
}

// Of returns the error of a call that did not succeed, with a verb and its object.
func (f *Failures) Of(ctx context.Context, doing string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, ErrLate):
		return fmt.Errorf("%s: %w", doing, ErrLate)
	}
	return fmt.Errorf("%s: %w", doing, &StoreError{f.explain(ctx, err), err})
}

// explain says what is wrong.
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

// mayLog reports whether a minute has passed since it last did.
func (f *Failures) mayLog() bool {
	now, last := f.Now().UnixNano(), f.logged.Load()
	return (last == 0 || now-last >= int64(logEvery)) && f.logged.CompareAndSwap(last, now)
}

// CodeOf returns the code of an answer of AWS, empty if there was none.
func CodeOf(err error) string {
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.ErrorCode()
}

package awsclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/rookeryhq/rookery/internal/table"
)

// ErrLate says that the time of table.SendBefore has passed. The request was not sent.
var ErrLate = errors.New("too late to send the request")

// errSilent is the end of an attempt that was not answered in time.
type errSilent struct{ after time.Duration }

// Error implements error.
func (e errSilent) Error() string { return fmt.Sprintf("no answer in %v", e.after) }

// Timeout and RetryableError say how the SDK treats it.
func (errSilent) Timeout() bool        { return true }
func (errSilent) RetryableError() bool { return true }

// NeverLate returns an option for clients, one of their APIOptions: no attempt is signed and sent after the time of
// table.SendBefore, by now. The SDK signs each attempt anew, so without it one that waited, or was frozen, would be
// honoured however late.
func NeverLate(now func() time.Time) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("NeverLate", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if before, ok := table.SentBefore(ctx); ok && !now().Before(before) {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, ErrLate
			}
			return next.HandleFinalize(ctx, in)
		}), "Signing", middleware.Before)
	}
}

// Within returns an option for clients, one of their APIOptions: an attempt is given up when it was not answered
// after d. It is not for operations whose answer is streamed to the caller: the stream would end with the attempt.
func Within(d time.Duration) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Within", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			attempt, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			out, metadata, err := next.HandleFinalize(attempt, in)
			if err != nil && attempt.Err() != nil && ctx.Err() == nil {
				err = errSilent{d} // not the caller's context: that would forbid a retry
			}
			return out, metadata, err
		}), "Retry", middleware.After)
	}
}
